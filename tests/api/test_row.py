"""The rows of the APIs: each has its handlers, keeps to its spec, and can refuse a whole request."""

from __future__ import annotations

import importlib
import inspect
from types import ModuleType
from typing import Any, NoReturn, get_type_hints

from kraft.api.authorized_operations import CLUSTER_OPERATIONS, GROUP_OPERATIONS, TOPIC_OPERATIONS, bits
from kraft.api.context import BrokerContext, ControllerContext, ZkBrokerContext
from kraft.api.index import rows
from kraft.api.row import Api, ListenerType, Operation, Quota, Resource
from kraft.messages.registry import ApiKey, listeners, request_class, response_class
from kraft.rpc.channel import Reply
from kraft.wire.codec import encode
from kraft.wire.errors import ErrorCode

ROWS = rows()
CONTEXTS = {
    ListenerType.BROKER: BrokerContext,
    ListenerType.CONTROLLER: ControllerContext,
    ListenerType.ZK_BROKER: ZkBrokerContext,
}
#: Kafka's ``AclEntry.supportedOperations``, as far as an API here needs them.
OPERATIONS = {
    Resource.TOPIC: TOPIC_OPERATIONS,
    Resource.GROUP: GROUP_OPERATIONS,
    Resource.CLUSTER: CLUSTER_OPERATIONS,
    Resource.TRANSACTIONAL_ID: bits(Operation.DESCRIBE, Operation.WRITE),
}


def module_of(row: Api) -> ModuleType:
    return importlib.import_module(f"kraft.api.{row.key.name.lower()}")


def test_each_row_keeps_to_its_spec() -> None:
    """``listeners`` in the spec has the kinds of listener that serve an API."""
    for row in ROWS:
        oldest_specified, newest_specified = request_class(row.key).VALID_VERSIONS
        assert row.versions, row.key
        for listener, (oldest, newest) in row.versions.items():
            assert oldest_specified <= oldest <= newest <= newest_specified, row.key
            assert listener in listeners(row.key), row.key


def test_each_file_has_a_card_and_a_typed_handler_for_each_listener_of_its_row() -> None:
    for row in ROWS:
        module = module_of(row)
        assert f"(key {int(row.key)})" in (module.__doc__ or ""), f"{row.key!r}: the card names the key"
        handlers = {listener for listener in ListenerType if hasattr(module, listener.handler)}
        assert handlers == set(row.versions), row.key
        for listener in handlers:
            handler = getattr(module, listener.handler)
            assert inspect.iscoroutinefunction(handler), row.key
            hints = get_type_hints(handler)
            context, _, message = [hints[name] for name in inspect.signature(handler).parameters]
            assert issubclass(CONTEXTS[listener], context), row.key  # a broker with ZooKeeper is a broker
            assert message is Any or request_class(row.key) in _members(message), row.key
            assert hints["return"] in (Reply, NoReturn), row.key


def _members(hint: Any) -> tuple[Any, ...]:
    return getattr(hint, "__args__", (hint,))


def test_each_api_has_an_error_response() -> None:
    for row in ROWS:
        message: Any = request_class(row.key)()
        if row.key is ApiKey.PRODUCE:
            message.acks = -1  # with acks=0 there is no response
        for version in sorted({each for low, high in row.versions.values() for each in range(low, high + 1)}):
            response = module_of(row).error(message, version, ErrorCode.UNKNOWN_SERVER_ERROR, "it broke")
            assert isinstance(response, response_class(row.key)), row.key
            encode(response, version)


def test_each_operation_is_one_that_its_resource_supports() -> None:
    for row in ROWS:
        for operation, resource in row.permissions:
            assert bits(operation) & OPERATIONS[resource], f"{row.key!r}: {operation!r} on {resource!r}"


def test_only_nodes_send_the_requests_of_controllers() -> None:
    """Kafka's ControllerApis wants CLUSTER_ACTION on the cluster for each of them."""
    for row in ROWS:
        if ListenerType.BROKER not in row.versions:
            assert row.permissions == ((Operation.CLUSTER_ACTION, Resource.CLUSTER),), row.key


def test_a_controller_offers_what_brokers_forward() -> None:
    """KIP-590: a controller serves each forwardable API in every version that the broker offers."""
    for row in ROWS:
        if row.forwardable:
            offered = row.versions[ListenerType.CONTROLLER]
            assert row.versions.get(ListenerType.BROKER, offered) == offered, row.key


def test_topics_are_created_and_deleted_under_the_controller_mutation_quota() -> None:
    """KIP-599 names these three."""
    mutations = {row.key for row in ROWS if row.quota is Quota.CONTROLLER_MUTATION}
    assert mutations == {ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS}
