"""The requests of a broker to the share coordinators, which are brokers, too: this one or others.

Elements of one kind for one group share a request, as in Apache's ``PersisterStateManager``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.coordination.broker_senders import BrokerSenders
from kraft.coordination.share_states import ShareStates
from kraft.coordinator.partitions import coordinator_partition
from kraft.coordinator.share.core import ShareStateRequest
from kraft.messages import (
    delete_share_group_state_request as delete_request,
)
from kraft.messages import (
    initialize_share_group_state_request as initialize_request,
)
from kraft.messages import (
    read_share_group_state_request as read_request,
)
from kraft.messages import (
    read_share_group_state_summary_request as summary_request,
)
from kraft.messages import (
    write_share_group_state_request as write_request,
)
from kraft.metadata.partitions import NO_LEADER
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connect, Connection
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import SHARE_STATE_TOPIC

_RETRIED: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
)
_RETRY_AFTER_S = 0.1
"""Not a Kafka setting. The pause before an element is sent again, doubled each time, up to a second."""
_MAX_PAUSE_S = 1.0
_APIS: Final[dict[type[Any], tuple[type[Any], type[Any]]]] = {
    initialize_request.PartitionData: (
        initialize_request.InitializeShareGroupStateRequest,
        initialize_request.InitializeStateData,
    ),
    read_request.PartitionData: (read_request.ReadShareGroupStateRequest, read_request.ReadStateData),
    write_request.PartitionData: (write_request.WriteShareGroupStateRequest, write_request.WriteStateData),
    delete_request.PartitionData: (delete_request.DeleteShareGroupStateRequest, delete_request.DeleteStateData),
    summary_request.PartitionData: (
        summary_request.ReadShareGroupStateSummaryRequest,
        summary_request.ReadStateSummaryData,
    ),
}


@attrs.define(eq=False)
class _Sent:
    """One element, and its result or the reason why there is none."""

    request: ShareStateRequest
    result: Any = None
    failure: KafkaError | None = None
    arrived: trio.Event = attrs.Factory(trio.Event)

    def put(self, result: Any) -> None:
        self.result = result
        self.arrived.set()

    def fail(self, code: ErrorCode) -> None:
        if not self.arrived.is_set():
            self.failure = KafkaError(code)
            self.arrived.set()


@attrs.define(eq=False)
class ShareStateChannel:
    """``create_topic`` begins to create ``__share_group_state``."""

    config: NodeConfig
    replicas: Replicas
    states: ShareStates
    connect: Connect
    create_topic: Callable[[], object]
    _senders: BrokerSenders[_Sent] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._senders = BrokerSenders(self.config, self.replicas, self.connect, "share", _choose, _send)

    async def run(self) -> None:
        """Run the senders until cancelled."""
        await self._senders.run()

    async def request(self, request: ShareStateRequest) -> Any:
        """Return the PartitionResult of one element. Retries for ``request.timeout.ms`` while there is no coordinator.

        Raises KafkaError with the error of the result, or COORDINATOR_NOT_AVAILABLE.
        """
        pause_s = _RETRY_AFTER_S
        with trio.move_on_after(self.config.network.request_timeout_ms / 1000):
            while True:
                try:
                    result = await self._attempt(request)
                    code = ErrorCode(result.error_code)
                    if code is ErrorCode.NONE:
                        return result
                    if code not in _RETRIED:
                        raise KafkaError(code, result.error_message)
                except KafkaError as failure:
                    if failure.code not in _RETRIED:
                        raise
                await trio.sleep(pause_s)
                pause_s = min(2 * pause_s, _MAX_PAUSE_S)
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    async def _attempt(self, request: ShareStateRequest) -> Any:
        count = self.replicas.partition_count(SHARE_STATE_TOPIC)
        if not count:
            self.create_topic()
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        index = coordinator_partition(request.share_partition.coordinator_key, count)
        leader, _ = self.replicas.known_leader(SHARE_STATE_TOPIC, index)
        if leader == self.config.node_id:
            return await self.states.request(request).wait()
        if leader == NO_LEADER:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        sent = _Sent(request)
        self._senders.add(leader, sent)
        await sent.arrived.wait()
        if sent.failure is not None:
            raise sent.failure.anew()
        return sent.result


def _choose(waiting: Sequence[_Sent]) -> list[_Sent]:
    """Return the elements of the next request: of one kind and one group, and each share partition once."""
    head = waiting[0].request
    chosen: dict[Any, _Sent] = {}
    for sent in waiting:
        key = sent.request.share_partition
        if type(sent.request.data) is type(head.data) and key.group_id == head.share_partition.group_id:
            chosen.setdefault(key, sent)
    return list(chosen.values())


async def _send(connection: Connection, elements: list[_Sent]) -> None:
    """Send one request, and pass the results on. Raises Disconnected, trio.TooSlowError, KafkaError."""
    head = elements[0].request
    kind, topic = _APIS[type(head.data)]
    by_topic: dict[Any, list[Any]] = {}
    for sent in elements:
        by_topic.setdefault(sent.request.share_partition.topic_id, []).append(sent.request.data)
    message = kind(head.share_partition.group_id, [topic(*each) for each in by_topic.items()])
    response: Any = await connection.request(message, connection.highest_common_version(message))
    results = {(result.topic_id, each.partition): each for result in response.results for each in result.partitions}
    for sent in elements:
        key = sent.request.share_partition
        if (key.topic_id, key.partition) in results:
            sent.put(results[key.topic_id, key.partition])
