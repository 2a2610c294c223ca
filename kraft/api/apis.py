"""What each listener offers, and how a request finds its handler.

The two tables are the whole truth: ApiVersions answers from them, the server refuses what is not in them, the list of
what is not served (docs/apis.md) is made from them. A handler's module is imported when its API is first asked for,
which keeps a node's start short.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import attrs

from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.node")

#: The packages of the handlers. Those of brokers are given a ``Broker``, those of controllers a ``ControllerContext``.
BROKER_HANDLERS = "kraft.api"
CONTROLLER_HANDLERS = "kraft.api"


@attrs.frozen
class Api:
    """One API of a listener: the versions offered, and the module in the listener's package that answers."""

    oldest: int
    newest: int
    module: str

    def load(self, package: str) -> ModuleType:
        return importlib.import_module(f"{package}.{self.module}")


BROKER_APIS: Mapping[ApiKey, Api] = {
    ApiKey.PRODUCE: Api(0, 13, "produce"),
    ApiKey.FETCH: Api(4, 17, "fetch"),
    ApiKey.LIST_OFFSETS: Api(1, 9, "list_offsets"),
    ApiKey.METADATA: Api(0, 13, "metadata"),
    ApiKey.OFFSET_COMMIT: Api(2, 9, "offset_commit"),
    ApiKey.OFFSET_FETCH: Api(1, 9, "offset_fetch"),
    ApiKey.FIND_COORDINATOR: Api(0, 6, "find_coordinator"),
    ApiKey.JOIN_GROUP: Api(0, 9, "join_group"),
    ApiKey.HEARTBEAT: Api(0, 4, "heartbeat"),
    ApiKey.LEAVE_GROUP: Api(0, 5, "leave_group"),
    ApiKey.SYNC_GROUP: Api(0, 5, "sync_group"),
    ApiKey.DESCRIBE_GROUPS: Api(0, 6, "describe_groups"),
    ApiKey.LIST_GROUPS: Api(0, 5, "list_groups"),
    ApiKey.API_VERSIONS: Api(0, 4, "api_versions"),
    ApiKey.CREATE_TOPICS: Api(2, 7, "create_topics"),
    ApiKey.DELETE_TOPICS: Api(1, 6, "delete_topics"),
    ApiKey.DELETE_RECORDS: Api(0, 2, "delete_records"),
    ApiKey.INIT_PRODUCER_ID: Api(0, 5, "init_producer_id"),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Api(2, 4, "offset_for_leader_epoch"),
    ApiKey.DESCRIBE_CONFIGS: Api(1, 4, "describe_configs"),
    ApiKey.ALTER_CONFIGS: Api(0, 2, "alter_configs"),
    ApiKey.DESCRIBE_LOG_DIRS: Api(1, 4, "describe_log_dirs"),
    ApiKey.CREATE_PARTITIONS: Api(0, 3, "create_partitions"),
    ApiKey.DELETE_GROUPS: Api(0, 2, "delete_groups"),
    ApiKey.ELECT_LEADERS: Api(0, 2, "elect_leaders"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Api(0, 1, "incremental_alter_configs"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Api(0, 1, "alter_partition_reassignments"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Api(0, 0, "list_partition_reassignments"),
    ApiKey.OFFSET_DELETE: Api(0, 0, "offset_delete"),
    ApiKey.DESCRIBE_QUORUM: Api(0, 2, "describe_quorum"),
    ApiKey.UPDATE_FEATURES: Api(0, 2, "update_features"),
    ApiKey.DESCRIBE_CLUSTER: Api(0, 2, "describe_cluster"),
    ApiKey.DESCRIBE_PRODUCERS: Api(0, 0, "describe_producers"),
    ApiKey.UNREGISTER_BROKER: Api(0, 0, "unregister_broker"),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: Api(0, 0, "describe_topic_partitions"),
    ApiKey.ADD_RAFT_VOTER: Api(0, 1, "add_raft_voter"),
    ApiKey.REMOVE_RAFT_VOTER: Api(0, 0, "remove_raft_voter"),
}

CONTROLLER_APIS: Mapping[ApiKey, Api] = {
    ApiKey.FETCH: Api(12, 18, "controller_handlers.fetch"),
    ApiKey.API_VERSIONS: Api(0, 4, "controller_handlers.api_versions"),
    ApiKey.CREATE_TOPICS: Api(2, 7, "controller_handlers.create_topics"),
    ApiKey.DELETE_TOPICS: Api(1, 6, "controller_handlers.delete_topics"),
    ApiKey.DESCRIBE_CONFIGS: Api(1, 4, "controller_handlers.describe_configs"),
    ApiKey.ALTER_CONFIGS: Api(0, 2, "controller_handlers.alter_configs"),
    ApiKey.CREATE_PARTITIONS: Api(0, 3, "controller_handlers.create_partitions"),
    ApiKey.ELECT_LEADERS: Api(0, 2, "controller_handlers.elect_leaders"),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: Api(0, 1, "controller_handlers.incremental_alter_configs"),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Api(0, 1, "controller_handlers.alter_partition_reassignments"),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Api(0, 0, "controller_handlers.list_partition_reassignments"),
    ApiKey.VOTE: Api(0, 2, "vote"),
    ApiKey.BEGIN_QUORUM_EPOCH: Api(0, 1, "begin_quorum_epoch"),
    ApiKey.END_QUORUM_EPOCH: Api(0, 1, "end_quorum_epoch"),
    ApiKey.DESCRIBE_QUORUM: Api(0, 2, "controller_handlers.describe_quorum"),
    ApiKey.ALTER_PARTITION: Api(2, 3, "alter_partition"),
    ApiKey.UPDATE_FEATURES: Api(0, 2, "controller_handlers.update_features"),
    ApiKey.ENVELOPE: Api(0, 0, "controller_handlers.envelope"),
    ApiKey.FETCH_SNAPSHOT: Api(0, 1, "fetch_snapshot"),
    ApiKey.DESCRIBE_CLUSTER: Api(0, 2, "controller_handlers.describe_cluster"),
    ApiKey.BROKER_REGISTRATION: Api(0, 4, "broker_registration"),
    ApiKey.BROKER_HEARTBEAT: Api(0, 1, "broker_heartbeat"),
    ApiKey.UNREGISTER_BROKER: Api(0, 0, "controller_handlers.unregister_broker"),
    ApiKey.ALLOCATE_PRODUCER_IDS: Api(0, 0, "allocate_producer_ids"),
    ApiKey.CONTROLLER_REGISTRATION: Api(0, 0, "controller_registration"),
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: Api(0, 0, "assign_replicas_to_dirs"),
    ApiKey.ADD_RAFT_VOTER: Api(0, 1, "controller_handlers.add_raft_voter"),
    ApiKey.REMOVE_RAFT_VOTER: Api(0, 0, "controller_handlers.remove_raft_voter"),
    ApiKey.UPDATE_RAFT_VOTER: Api(0, 0, "update_raft_voter"),
}


def versions(apis: Mapping[ApiKey, Api]) -> dict[int, tuple[int, int]]:
    """API key to lowest and highest version, as the server wants it."""
    return {int(key): (api.oldest, api.newest) for key, api in apis.items()}


@attrs.frozen(eq=False)
class Dispatcher:
    """Takes requests off a plane's queue to their handlers, and turns what goes wrong into the API's own error.

    The handlers are in ``package``, and are given ``context``.
    """

    context: Any
    apis: Mapping[ApiKey, Api]
    package: str
    _modules: dict[int, tuple[Callable[..., Any], Callable[..., Any]]] = attrs.Factory(dict)

    async def handle(self, request: Request) -> Reply:
        try:
            answer, error = self._modules[request.api_key]
        except KeyError:
            answer, error = self._load(request.api_key)
        message = request.message() if request.supported else None
        try:
            reply: Reply = await answer(self.context, request, message)
        except KafkaError as refused:
            reply = error(message, request.response_version, refused.code, refused.message)
        return reply

    def error_response(self, request: Request, failure: Exception) -> Any:
        """What the peer hears of a failure: its Kafka error, or UNKNOWN_SERVER_ERROR if it has none."""
        _, error = self._modules[request.api_key]
        refused = failure if isinstance(failure, KafkaError) else KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return error(request.message(), request.response_version, refused.code, refused.message)

    def _load(self, api_key: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
        module = self.apis[ApiKey(api_key)].load(self.package)
        self._modules[api_key] = functions = (module.handle, module.error)
        return functions
