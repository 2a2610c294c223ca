"""A broker that leads the partitions of a topic and of ``__share_group_state``, for members of share groups."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import attrs
import trio

from kraft.api import initialize_share_group_state, read_share_group_state, share_acknowledge, share_fetch
from kraft.api.context import BrokerContext
from kraft.config.properties import from_mapping
from kraft.coordination.share_channel import ShareStateChannel
from kraft.coordination.share_metrics import ShareMetrics
from kraft.coordination.share_partitions import SharePartitions
from kraft.coordination.share_states import ShareStates
from kraft.messages.config_record import ConfigRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.initialize_share_group_state_request import (
    InitializeShareGroupStateRequest,
    InitializeStateData,
)
from kraft.messages.initialize_share_group_state_request import (
    PartitionData as InitializedPartition,
)
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.read_share_group_state_request import (
    PartitionData as ReadPartition,
)
from kraft.messages.read_share_group_state_request import (
    ReadShareGroupStateRequest,
    ReadStateData,
)
from kraft.messages.share_acknowledge_request import (
    AcknowledgementBatch as AcknowledgedBatch,
)
from kraft.messages.share_acknowledge_request import (
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from kraft.messages.share_fetch_request import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareFetchRequest,
)
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.image import ResourceType
from kraft.metrics import Registry
from kraft.records.control import EndTransactionMarker
from kraft.rpc.channel import ConnectionInfo, Request, response_of
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import KafkaError
from kraft.wire.internal_topics import SHARE_STATE_TOPIC
from tests.support.held import (
    TOPIC,
    TOPIC_ID,
    WITHOUT_THREADS,
    Broker,
    broker_in,
    registration,
    serving,
    topic,
    with_coordinators,
)
from tests.support.talk import batch

STATE_ID = UUID(int=78)
GROUP = "g"
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4

Batches = Sequence[tuple[int, int, Sequence[int]]]
"""Acknowledgements: first offset, last offset and types."""


@attrs.define(eq=False)
class Member:
    """A member of a share group, with a connection of its own. ``epoch`` is that of its next request."""

    desk: ShareBroker
    member_id: str
    epoch: int = 0
    connection: ConnectionInfo = attrs.Factory(lambda: ConnectionInfo("PLAINTEXT", "PLAINTEXT", "h", 1, "h:1"))

    async def fetch(
        self,
        *partitions: int,
        acknowledge: Mapping[int, Batches] | None = None,
        forget: Sequence[int] = (),
        epoch: int | None = None,
        topic_id: UUID = TOPIC_ID,
        **fields: Any,
    ) -> Any:
        """Fetch, and continue the session."""
        acknowledge = acknowledge or {}
        indexes = dict.fromkeys((*(partitions or ((0,) if self.epoch == 0 else ())), *acknowledge))
        named = [
            FetchPartition(
                partition_index=index,
                acknowledgement_batches=[AcknowledgementBatch(*each) for each in acknowledge.get(index, ())],
            )
            for index in indexes
        ]
        limits = {"max_records": 500, "batch_size": 500, "max_wait_ms": 0, "min_bytes": 1} | fields
        message = ShareFetchRequest(
            group_id=GROUP,
            member_id=self.member_id,
            share_session_epoch=self.epoch if epoch is None else epoch,
            topics=[FetchTopic(topic_id, named)] if named else [],
            forgotten_topics_data=[ForgottenTopic(topic_id, list(forget))] if forget else [],
            **limits,
        )
        response = await self.desk.call(share_fetch, message, self.connection)
        self.epoch += epoch is None and not response.error_code
        return response

    async def acknowledge(self, batches: Batches, epoch: int | None = None, **fields: Any) -> Any:
        """Acknowledge records of partition 0, and return its part of the response, or the response if it is refused."""
        each = AcknowledgePartition(0, [AcknowledgedBatch(*batch) for batch in batches])
        message = ShareAcknowledgeRequest(
            GROUP, self.member_id, self.epoch if epoch is None else epoch, topics=[AcknowledgeTopic(TOPIC_ID, [each])]
        )
        message = message.evolve(**fields)
        response = await self.desk.call(share_acknowledge, message, self.connection)
        self.epoch += epoch is None and not response.error_code
        return response if response.error_code else response.responses[0].partitions[0]

    async def close(self) -> Any:
        return await self.fetch(epoch=-1)

    async def acquired(self, *partitions: int, **fields: Any) -> list[tuple[int, int, int]]:
        """Fetch, and return the acquired offsets of partition 0 with their delivery counts."""
        return acquired_in(await self.fetch(*partitions, **fields))


def partition_in(response: Any, index: int = 0) -> Any:
    found = [each for topic in response.responses for each in topic.partitions if each.partition_index == index]
    return found[0] if found else None


def acquired_in(response: Any, index: int = 0) -> list[tuple[int, int, int]]:
    data = partition_in(response, index)
    if data is None:
        return []
    assert data.error_code == 0
    return [(each.first_offset, each.last_offset, each.delivery_count) for each in data.acquired_records]


@attrs.define(eq=False)
class ShareBroker:
    """Broker 1. The test plays the controller."""

    broker: Broker
    context: BrokerContext

    async def hear(self, *records: Any) -> None:
        led = await self.broker.hear(*records)
        self.context.coordinators.share_states.apply(led)
        self.context.coordinators.shares.apply(led)

    async def call(self, api: Any, message: Any, connection: ConnectionInfo | None = None) -> Any:
        connection = connection or ConnectionInfo("PLAINTEXT", "PLAINTEXT", "h", 1, "h:1")
        version = type(message).VALID_VERSIONS[1]
        request = Request(0, version, 0, "test", b"", 0, connection)
        try:
            return await response_of(await api.at_broker(self.context, request, message))
        except KafkaError as refused:
            return api.error(message, version, refused.code, refused.message)

    def member(self, member_id: str) -> Member:
        return Member(self, member_id)

    def produce(self, *values: bytes, index: int = 0, timestamp: int | None = None) -> None:
        """Append one batch, with a timestamp in ms, or with that of the wall clock."""
        self.broker.replicas.partitions[TOPIC][index].append(bytearray(batch(*values, timestamp=timestamp)), 0)

    async def abort(self, batches: int = 1, records: int = 1) -> None:
        """Append the batches of a transaction to partition 0, and the marker of its abort."""
        partition = self.broker.partition
        for number in range(batches):
            fields: dict[str, Any] = {"producer_id": 5, "producer_epoch": 0, "base_sequence": number * records}
            partition.append(bytearray(batch(*[b"aborted"] * records, transactional=True, **fields)), 0)
        await partition.append_marker(5, 0, EndTransactionMarker(committed=False, coordinator_epoch=0))

    async def configure(self, **settings: str) -> None:
        """Set configs of the group, with underscores for dots."""
        await self.hear(
            *(
                ConfigRecord(
                    resource_type=ResourceType.GROUP, resource_name=GROUP, name=name.replace("_", "."), value=value
                )
                for name, value in settings.items()
            )
        )

    async def initialize(self, start_offset: int = 0, state_epoch: int = 1, partitions: int = 1) -> Any:
        data = [InitializedPartition(index, state_epoch, start_offset) for index in range(partitions)]
        request = InitializeShareGroupStateRequest(GROUP, [InitializeStateData(TOPIC_ID, data)])
        return await self.call(initialize_share_group_state, request)

    async def state(self, leader_epoch: int = -1) -> Any:
        request = ReadShareGroupStateRequest(GROUP, [ReadStateData(TOPIC_ID, [ReadPartition(0, leader_epoch)])])
        return (await self.call(read_share_group_state, request)).results[0].partitions[0]

    async def lose_the_coordinator(self) -> None:
        """Leave the partition of the group's states without a leader."""
        await self.hear(PartitionChangeRecord(partition_id=0, topic_id=STATE_ID, leader=-1))

    async def change_leader(self, *leaders: int) -> None:
        """Make another broker the leader of partition 0, or this one again. The broker sees the last one only."""
        await self.hear(*(PartitionChangeRecord(partition_id=0, topic_id=TOPIC_ID, leader=each) for each in leaders))


@asynccontextmanager
async def share_broker(path: Path, partitions: int = 1, **settings: str) -> AsyncIterator[ShareBroker]:
    """A broker whose group may share a topic, from its first record on."""
    broker = broker_in(path, 1, WITHOUT_THREADS)
    values = {**SETTINGS, **{name.replace("_", "."): value for name, value in settings.items()}}
    config = from_mapping(values).config
    replicas = broker.replicas
    states = ShareStates(config, replicas, replicas.world)
    channel = ShareStateChannel(config, replicas, states, cast(Any, None), lambda: None)
    shares = SharePartitions(config, replicas, replicas.world, channel, ShareMetrics(Registry()))
    context = with_coordinators(serving(replicas), share_states=states, shares=shares)
    context = attrs.evolve(context, config=config)
    desk = ShareBroker(broker, context)
    await replicas.registered(5)
    state = PartitionRecord(
        partition_id=0,
        topic_id=STATE_ID,
        replicas=[1],
        isr=[1],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[UUID(int=100)],
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(states.run)
        nursery.start_soon(shares.run)
        await desk.hear(
            registration(1, 5),
            registration(2, 6),
            FeatureLevelRecord(name="share.version", feature_level=1),
            *topic(1, leader=1, partitions=partitions),
            TopicRecord(name=SHARE_STATE_TOPIC, topic_id=STATE_ID),
            state,
        )
        yield desk
        nursery.cancel_scope.cancel()
    for partition in replicas.all():
        partition.log.abandon()
