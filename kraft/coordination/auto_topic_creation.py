"""Topics that a broker creates through the controller because a client needs them.

The response to that client does not wait for the controller: it has an error that the client retries until the topic
exists, as with Apache Kafka's DefaultAutoTopicCreationManager. So a controller that is slow, or gone, delays no other
request of the client's connection.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.log_settings import TransactionSettings
from kraft.config.share_settings import ShareSettings
from kraft.control.controller_channel import ControllerChannel
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.create_topics_response import CreateTopicsResponse
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC

logger = logging.getLogger("kraft.topics")

MAX_TOPICS = 1_000
"""Not a Kafka setting. The maximum number of topics that a broker creates at the same time."""
_RETRY_AFTER_S = 1.0
"""Not a Kafka setting. The pause between a refusal by the controller and the next attempt: clients retry more often."""
_CREATED: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
"""The topic exists: either this request or an earlier one created it."""
_OF_THE_CONTROLLER = -1
"""In place of a number: the controller's default (KIP-464)."""
_TIMEOUT_MS = 30_000


@attrs.frozen(eq=False)
class Creation:
    """One request. ``answered`` is set once the broker has applied what it could, or the controller did not answer.

    ``refused`` has the errors of the controller then. ``begun_s`` is the time of the event loop's clock.
    """

    names: list[str] = attrs.Factory(list)
    begun_s: float = attrs.Factory(trio.current_time)
    refused: dict[str, ErrorCode] = attrs.Factory(dict)
    answered: trio.Event = attrs.Factory(trio.Event)


@attrs.define(eq=False)
class AutoTopicCreation:
    """Creates each topic with one request at a time. ``catch_up`` is that of the broker's context."""

    config: NodeConfig
    channel: ControllerChannel
    catch_up: Callable[[], Awaitable[None]]
    _in_flight: dict[str, Creation] = attrs.Factory(dict)
    _requests: trio.MemorySendChannel[Creation] = attrs.field(init=False)
    _inbox: trio.MemoryReceiveChannel[Creation] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._requests, self._inbox = trio.open_memory_channel[Creation](MAX_TOPICS)

    def create(self, names: Iterable[str]) -> Creation | None:
        """Begin to create topics that have valid names, with one request; return it.

        Topics in flight are left out, and so are those beyond MAX_TOPICS: their clients retry. Returns None if no
        other topic is wanted.
        """
        creation = Creation()
        for name in names:
            if len(self._in_flight) >= MAX_TOPICS:
                break
            if name not in self._in_flight:
                self._in_flight[name] = creation
                creation.names.append(name)
        if not creation.names:
            return None
        self._requests.send_nowait(creation)  # has room, because each queued request has a topic in flight
        return creation

    def under_way(self, name: str) -> Creation | None:
        """Return the creation of a topic that is not answered yet, if there is one."""
        creation = self._in_flight.get(name)
        return None if creation is None or creation.answered.is_set() else creation

    async def run(self) -> None:
        """Send the requests, for as long as the node lives. No answer of a controller raises here."""
        async with trio.open_nursery() as nursery:
            async for creation in self._inbox:
                nursery.start_soon(self._create, creation, name=f"creates {creation.names[0]}")

    async def _create(self, creation: Creation) -> None:
        names = creation.names
        creation.refused.update(await self._request(names))
        creation.answered.set()
        if creation.refused:
            await trio.sleep(_RETRY_AFTER_S)
        for name in names:
            del self._in_flight[name]

    async def _request(self, names: list[str]) -> dict[str, ErrorCode]:
        """Return the errors of the topics that the controller refused."""
        request = CreateTopicsRequest(topics=[_creatable(self.config, name) for name in names], timeout_ms=_TIMEOUT_MS)
        try:
            response: CreateTopicsResponse = await self.channel.request(request)
        except KafkaError as failure:
            logger.warning("cannot create %s: %s; a client that needs the topic retries", _listed(names), failure)
            return {}
        await self.catch_up()
        refused = [each for each in response.topics if each.error_code not in _CREATED]
        for topic in refused:
            text = topic.error_message or ErrorCode(topic.error_code).name
            logger.warning("the controller does not create topic %s, which a client needs: %s", topic.name, text)
        return {topic.name: ErrorCode(topic.error_code) for topic in refused}


def _listed(names: list[str]) -> str:
    return f"topic {names[0]}" if len(names) == 1 else f"topic {names[0]} and {len(names) - 1} more"


def _creatable(config: NodeConfig, name: str) -> CreatableTopic:
    """Describe a topic: an internal one by its own settings, others by the defaults that this broker sets, if any."""
    if name == TRANSACTION_TOPIC:
        return _transaction_topic(config.transactions)
    if name == SHARE_STATE_TOPIC:
        return _share_state_topic(config.share)
    if name != OFFSETS_TOPIC:
        topics, given = config.topics, config.values
        partitions = topics.num_partitions if "num.partitions" in given else _OF_THE_CONTROLLER
        replicas = topics.default_replication_factor if "default.replication.factor" in given else _OF_THE_CONTROLLER
        return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas)
    settings = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(config.groups.offsets_topic_segment_bytes),
    }
    return CreatableTopic(
        name=name,
        num_partitions=config.groups.offsets_topic_num_partitions,
        replication_factor=config.groups.offsets_topic_replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings.items()],
    )


def _transaction_topic(settings: TransactionSettings) -> CreatableTopic:
    """Describe ``__transaction_state``, with the settings of Apache's ``TransactionStateManager``."""
    configs = {
        "cleanup.policy": "compact",
        "compression.type": "uncompressed",
        "unclean.leader.election.enable": "false",
        "min.insync.replicas": str(settings.transaction_state_log_min_isr),
        "segment.bytes": str(settings.transaction_state_log_segment_bytes),
    }
    return CreatableTopic(
        name=TRANSACTION_TOPIC,
        num_partitions=settings.transaction_state_log_num_partitions,
        replication_factor=settings.transaction_state_log_replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


def _share_state_topic(settings: ShareSettings) -> CreatableTopic:
    """Describe ``__share_group_state``, with the settings of Apache's ``ShareCoordinatorService``.

    The topic is not compacted: the coordinator deletes the records before the oldest snapshot.
    """
    configs = {
        "cleanup.policy": "delete",
        "compression.type": "producer",
        "segment.bytes": str(settings.share_coordinator_state_topic_segment_bytes),
        "min.insync.replicas": str(settings.share_coordinator_state_topic_min_isr),
        "retention.ms": "-1",
    }
    return CreatableTopic(
        name=SHARE_STATE_TOPIC,
        num_partitions=settings.share_coordinator_state_topic_num_partitions,
        replication_factor=settings.share_coordinator_state_topic_replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
