"""The group coordinator of a broker on real files in virtual time. The test plays the controller and the followers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast
from uuid import UUID

import attrs
import trio
import trio.testing

from kraft.api import join_group, offset_commit, offset_fetch, sync_group
from kraft.api.context import BrokerContext
from kraft.broker.leadership import FollowerFetched
from kraft.control.metadata import Metadata, Subscription
from kraft.coordination.groups import Groups
from kraft.coordinator.groups.rebalance import CoordinatorSettings
from kraft.coordinator.share.core import ShareStateRequest
from kraft.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from kraft.messages.leader_and_isr_request import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kraft.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kraft.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.sync_group_request import SyncGroupRequest, SyncGroupRequestAssignment
from kraft.messages.topic_record import TopicRecord
from kraft.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kraft.metadata.loader import Loader
from kraft.node.publisher import Publisher
from kraft.replication.commands import ControllerCommands
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import Replicas
from kraft.rpc.channel import Parked, Request
from kraft.storage.directory import LastStop, LogDirectory
from kraft.storage.meta_properties import MetaProperties
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.world.clock import Clock
from tests.support.held import WITHOUT_THREADS, registration

LEADER, FOLLOWER = 1, 2
LEADER_EPOCH, FOLLOWER_EPOCH = 11, 12
GROUP = "g"
OFFSETS_ID = UUID(int=50)
TOPIC_IDS = {"t": UUID(int=51), "u": UUID(int=52)}

settle = trio.testing.wait_all_tasks_blocked


class VirtualClock(Clock):
    def now_ms(self) -> int:
        return int(trio.current_time() * 1000)

    def now_s(self) -> float:
        return trio.current_time()


WORLD = attrs.evolve(WITHOUT_THREADS, clock=VirtualClock())
SETTINGS = CoordinatorSettings(group_initial_rebalance_delay_s=0)


@attrs.frozen
class Connection:
    host: str = "127.0.0.1"


@attrs.frozen
class Context:
    """The fields of a broker that the handlers of groups use."""

    replicas: Replicas
    coordinators: Any


@attrs.define
class Feed:
    """The committed metadata, to which a publisher subscribes."""

    loader: Loader
    _subscription: Subscription = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._subscription = Subscription(self.loader.image)

    def subscribe(self) -> Subscription:
        return self._subscription

    def commit(self, *records: Any) -> None:
        published = self.loader.load(records, self.loader.image.offset + len(records), 0, 0)
        assert published is not None
        self._subscription.publish(*published)


def topic_records(name: str, topic_id: UUID, *replicas: int) -> tuple[TopicRecord, PartitionRecord]:
    """Records of a topic with one partition. The first of ``replicas`` leads, and all are in sync."""
    partition = PartitionRecord(
        partition_id=0,
        topic_id=topic_id,
        replicas=list(replicas),
        isr=list(replicas),
        leader=replicas[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=[UUID(int=100)] * len(replicas),
    )
    return TopicRecord(name=name, topic_id=topic_id), partition


@attrs.define
class Coordinator:
    """The requests of clients to the group coordinator."""

    replicas: Replicas
    groups: Groups

    @property
    def partition(self) -> HostedPartition:
        return self.replicas.partitions[OFFSETS_TOPIC][0]

    async def send(self, handler: ModuleType, message: Any, version: int) -> Any:
        """Send a request and return its response."""
        request = Request(0, version, 0, "c", b"", 0, cast(Any, Connection()))
        try:
            reply = await handler.at_broker(
                cast(BrokerContext, Context(self.replicas, SimpleNamespace(groups=self.groups))), request, message
            )
            return await reply.wait() if isinstance(reply, Parked) else reply
        except KafkaError as refused:
            return handler.error(message, version, refused.code)

    async def commit(self, offset: int, topic: str = "t", group_id: str = GROUP) -> ErrorCode:
        partitions = [OffsetCommitRequestPartition(0, offset)]
        message = OffsetCommitRequest(group_id, topics=[OffsetCommitRequestTopic(topic, partitions=partitions)])
        answer = await self.send(offset_commit, message, 8)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    async def committed(self) -> dict[str, int] | ErrorCode:
        """Return all committed offsets of the group by OffsetFetch, by topic."""
        message = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=None)])
        [group] = (await self.send(offset_fetch, message, 9)).groups
        if group.error_code:
            return ErrorCode(group.error_code)
        return {each.name: each.partitions[0].committed_offset for each in group.topics}

    async def join(self, instance: str = "i") -> Any:
        message = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            group_instance_id=instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", b"\0")],
        )
        return await self.send(join_group, message, 9)

    async def sync(self, joined: Any, *assignments: tuple[str, bytes], instance: str = "i") -> Any:
        message = SyncGroupRequest(
            group_id=GROUP,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=instance,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(*each) for each in assignments],
        )
        return await self.send(sync_group, message, 5)


@attrs.define
class Desk(Coordinator):
    """A coordinator with a quorum."""

    feed: Feed
    publisher: Publisher

    async def publish(self, *records: Any) -> None:
        """Commit metadata and return once the broker has applied it."""
        self.feed.commit(*records)
        await self.publisher.until(lambda image: image.offset == self.feed.loader.image.offset)

    async def change(self, **what: Any) -> None:
        """Change the partition of ``__consumer_offsets``."""
        await self.publish(PartitionChangeRecord(partition_id=0, topic_id=OFFSETS_ID, **what))

    async def lead(self) -> None:
        """Make the broker lead the partition, and let followers fetch until all of it is committed."""
        await self.publisher.registered(LEADER_EPOCH)
        if len(self.partition.state.replicas) > 1:
            self.follower_fetches()
        await settle()

    def follower_fetches(self, end_offset: int | None = None) -> None:
        """Let the follower fetch from ``end_offset``, by default from the log end."""
        end = self.partition.log.log_end_offset if end_offset is None else end_offset
        self.partition.fetched(trio.current_time(), FollowerFetched(FOLLOWER, FOLLOWER_EPOCH, end, 0))


@attrs.define
class CommandedDesk(Coordinator):
    """A coordinator with ZooKeeper."""

    commands: ControllerCommands

    async def lead(self, leader: int, epoch: int) -> None:
        """Give ``__consumer_offsets-0`` a leader, by LeaderAndIsr."""
        state = LeaderAndIsrPartitionState(leader=leader, leader_epoch=epoch, isr=[leader], replicas=[LEADER, FOLLOWER])
        topic = LeaderAndIsrTopicState(OFFSETS_TOPIC, OFFSETS_ID, [state])
        response = await self.commands.lead_and_follow(
            LeaderAndIsrRequest(broker_epoch=LEADER_EPOCH, topic_states=[topic])
        )
        assert response.topics[0].partition_errors[0].error_code == 0

    async def show(self, leaders: Mapping[str, int]) -> None:
        """Name the leader of partition 0 of each topic, by UpdateMetadata."""
        ids = {**TOPIC_IDS, OFFSETS_TOPIC: OFFSETS_ID}
        topics = [
            UpdateMetadataTopicState(
                name, ids[name], [UpdateMetadataPartitionState(leader=leader, isr=[leader], replicas=[leader])]
            )
            for name, leader in leaders.items()
        ]
        endpoints = [UpdateMetadataEndpoint(port=9092, host="h", listener="PLAINTEXT")]
        alive = [UpdateMetadataBroker(id=each, endpoints=endpoints) for each in (LEADER, FOLLOWER)]
        request = UpdateMetadataRequest(broker_epoch=LEADER_EPOCH, topic_states=topics, live_brokers=alive)
        await self.commands.update_metadata(request)


class Later:
    """The result of a call in a task beside the test."""

    def __init__(self, nursery: trio.Nursery, call: Any, *args: Any) -> None:
        self.result: Any = None
        self._done = trio.Event()
        nursery.start_soon(self._run, call, args)

    async def _run(self, call: Any, args: Any) -> None:
        self.result = await call(*args)
        self._done.set()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    async def wait(self) -> Any:
        await self._done.wait()
        return self.result


async def no_share_coordinator(request: ShareStateRequest) -> Any:
    """Refuse each request, as a broker does without ``__share_group_state``."""
    await trio.lowlevel.checkpoint()
    raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)


@asynccontextmanager
async def desk_in(
    path: Path,
    *,
    replicas: tuple[int, ...] = (LEADER, FOLLOWER),
    coordinator: Callable[[Replicas], Any] = lambda held: Groups(held, WORLD, SETTINGS, 600_000, no_share_coordinator),
    **static: str,
) -> AsyncIterator[Desk]:
    """A broker that leads ``__consumer_offsets-0`` from when the test calls ``registered``; topics ``t`` and ``u``."""
    directory = LogDirectory(str(path), -1, MetaProperties("cluster", LEADER), LastStop.CLEAN)
    held = Replicas(LEADER, WORLD, [directory], {each.replace("_", "."): static[each] for each in static})
    groups = coordinator(held)
    loader = Loader()
    records = (
        registration(LEADER, LEADER_EPOCH),
        registration(FOLLOWER, FOLLOWER_EPOCH),
        *topic_records(OFFSETS_TOPIC, OFFSETS_ID, *replicas),
        *(each for name, topic_id in TOPIC_IDS.items() for each in topic_records(name, topic_id, FOLLOWER)),
    )
    loader.load(records, len(records), 0, 0)
    feed = Feed(loader)
    publisher = Publisher(cast(Metadata, feed), held, groups)
    await publisher.load()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(groups.run)
        nursery.start_soon(publisher.run)
        yield Desk(held, groups, feed, publisher)
        nursery.cancel_scope.cancel()
    await held.close()


@asynccontextmanager
async def commanded_desk_in(path: Path) -> AsyncIterator[CommandedDesk]:
    """A registered broker with ZooKeeper, whose controller is the test."""
    directory = LogDirectory(str(path), -1, MetaProperties("cluster", LEADER), LastStop.CLEAN)
    held = Replicas(LEADER, WORLD, [directory], {})
    await held.load(None)
    groups = Groups(held, WORLD, SETTINGS, 600_000, no_share_coordinator)

    async def topic_configs(names: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        await trio.lowlevel.checkpoint()
        return {}

    commands = ControllerCommands(held, groups, topic_configs)
    commands.registered(LEADER_EPOCH)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(groups.run)
        nursery.start_soon(commands.run)
        yield CommandedDesk(held, groups, commands)
        nursery.cancel_scope.cancel()
    await held.close()
