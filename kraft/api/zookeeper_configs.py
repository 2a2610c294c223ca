"""AlterConfigs and IncrementalAlterConfigs at a broker with ZooKeeper, which any broker serves (ZkAdminManager).

Topics may be changed at every broker, a broker's own settings only at that broker, and the default of all brokers at
every one. The response to a change waits for ZooKeeper, and not for the brokers that apply it.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import trio

from kraft.api.context import ZkBrokerContext
from kraft.config.setting import ConfigError
from kraft.metadata.config_changes import NewValues, Values, check_keys, check_values
from kraft.metadata.image import ResourceType
from kraft.metadata.topic_name import topic_name_fault
from kraft.rpc.channel import Parked, Reply
from kraft.wire.errors import ErrorCode, KafkaError, shortened
from kraft.wire.schema import Message
from kraft.world.slices import Slices
from kraft.zookeeper.znodes.cluster import BROKER_ENTITIES, DEFAULT_ENTITY, TOPIC_ENTITIES, Entity

LIMIT_S: Final = 30.0
"""Not a Kafka setting. So long a request waits for ZooKeeper: as long as Kafka's clients wait for a response."""
DESCRIBE_LIMIT_S: Final = 2.0
"""Not a Kafka setting. So long a description waits, because the broker has the settings, too."""
_SLICE_SETTINGS = 150


def alter(
    broker: ZkBrokerContext, message: Any, new_values: NewValues, result: type[Any], response: Callable[..., Message]
) -> Reply:
    """Change each resource of ``message`` to its ``new_values``. A resource succeeds or fails as a whole."""

    async def answer() -> Message:
        times = Counter((each.resource_type, each.resource_name) for each in message.resources)
        slices, results = Slices(_SLICE_SETTINGS), []
        deadline = trio.current_time() + LIMIT_S
        for each in message.resources:
            await slices.spend(1 + len(each.configs))
            code, text = ErrorCode.NONE, None
            try:
                if times[each.resource_type, each.resource_name] > 1:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
                with trio.fail_at(deadline):
                    await _alter_one(broker, each, new_values, message.validate_only)
            except trio.TooSlowError:
                code, text = ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper did not answer within {LIMIT_S:g} s."
            except KafkaError as error:
                code, text = error.code, error.message
            except ConfigError as error:
                code, text = ErrorCode.INVALID_CONFIG, shortened(str(error))
            results.append(result(code, text, each.resource_type, each.resource_name))
        return response(responses=results)

    return Parked(answer)


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Let the block wait for ZooKeeper as long as a request may. Raises KafkaError REQUEST_TIMED_OUT after that."""
    try:
        with trio.fail_after(LIMIT_S):
            yield
    except trio.TooSlowError:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"ZooKeeper did not answer within {LIMIT_S:g} s.") from None


async def topic_settings(broker: ZkBrokerContext, topics: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the settings of topics in ZooKeeper. None if it does not answer: the broker then shows what it applied."""
    found: dict[Entity, dict[str, str]] = {}
    with trio.move_on_after(DESCRIBE_LIMIT_S):
        found = await broker.configs.read((TOPIC_ENTITIES, topic) for topic in topics)
    return {topic: settings for (_, topic), settings in found.items()}


async def _alter_one(broker: ZkBrokerContext, resource: Any, new_values: NewValues, validate_only: bool) -> None:
    check_keys(resource)
    kind, name = resource.resource_type, resource.resource_name
    entity = _entity(broker, kind, name)

    def change(before: Mapping[str, str]) -> Values:
        after = new_values(resource, before)
        check_values(kind, before, after, {config.name for config in resource.configs}, _broker_values(broker))
        return after

    await broker.configs.change(entity, change, validate_only=validate_only)


def _entity(broker: ZkBrokerContext, kind: int, name: str) -> Entity:
    """Return where a resource has its settings in ZooKeeper, or raise KafkaError in the words of ConfigAdminManager."""
    refuse = partial(KafkaError, ErrorCode.INVALID_REQUEST)
    if kind == ResourceType.TOPIC:
        if not name:
            raise refuse("Default topic resources are not allowed.")
        if broker.image.topic(name) is None:
            fault = topic_name_fault(name)
            if fault is not None:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, fault)
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        return TOPIC_ENTITIES, name
    if kind != ResourceType.BROKER:
        raise refuse(f"AlterConfigs is only supported for topics and brokers, but resource type is {kind}")
    if not name:
        return BROKER_ENTITIES, DEFAULT_ENTITY
    if not name.isascii() or not name.isdigit():
        raise refuse(f"Node id must be an integer, but it is: {shortened(name)}")
    if name != str(broker.node_id):
        raise refuse(f"Unexpected broker id, expected {broker.node_id}, but received {shortened(name)}")
    return BROKER_ENTITIES, name


def _broker_values(broker: ZkBrokerContext) -> dict[str, str]:
    """The broker settings that topic defaults come from: dynamic values over static ones."""
    image = broker.image
    own = image.config(ResourceType.BROKER, str(broker.node_id))
    return {**broker.config.values, **image.config(ResourceType.BROKER, ""), **own}
