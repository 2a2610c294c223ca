"""A registered broker of the ZooKeeper era, and the requests that its controller sends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

import attrs
import trio

from kraft.messages.leader_and_isr_request import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kraft.messages.stop_replica_request import StopReplicaPartitionState, StopReplicaRequest, StopReplicaTopicState
from kraft.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kraft.metadata.image import Image
from kraft.replication.commands import ControllerCommands
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.wire.errors import ErrorCode
from tests.support.held import TOPIC, TOPIC_ID

US, OTHER, CONTROLLER = 1, 2, 3
BROKER_EPOCH, CONTROLLER_EPOCH = 40, 5


@attrs.define
class Coordinators:
    """Notes what the group coordinator would take over, give up and forget."""

    gained: list[str] = attrs.Factory(list)
    lost: list[str] = attrs.Factory(list)
    deleted: list[str] = attrs.Factory(list)
    failure: Exception | None = None

    async def offsets_deleted(self, image: Image) -> None:
        await trio.lowlevel.checkpoint()
        if self.failure is not None:
            raise self.failure

    def apply(self, led: LeaderChanges, deleted: Iterable[str] = ()) -> None:
        self.gained += [each.name for each in led.gained]
        self.lost += [each.name for each in led.lost]
        self.deleted += deleted


@attrs.define
class Broker:
    """A registered broker with an empty disk, and ZooKeeper's settings of topics."""

    replicas: Replicas
    configs: dict[str, dict[str, str]] = attrs.Factory(dict)
    config_reads: int = 0
    coordinators: Coordinators = attrs.Factory(Coordinators)
    commands: ControllerCommands = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.commands = ControllerCommands(self.replicas, self.coordinators, self.topic_configs)
        self.commands.registered(BROKER_EPOCH)

    async def topic_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        await trio.lowlevel.checkpoint()
        self.config_reads += 1
        return {name: self.configs.get(name, {}) for name in names}

    @property
    def partition(self) -> HostedPartition:
        return self.replicas.partitions[TOPIC][0]

    async def lead(self, leader: int = US, epoch: int = 0, **changed: object) -> ErrorCode:
        """Give partition 0 a leader; return the error of the partition."""
        response = await self.commands.lead_and_follow(leader_and_isr(leader, epoch, **changed))
        assert response.error_code == 0
        return ErrorCode(response.topics[0].partition_errors[0].error_code)

    async def stop(self, epoch: int, *, delete: bool) -> ErrorCode:
        response = await self.commands.stop_replicas(stop_replica(epoch, delete=delete))
        assert response.error_code == 0
        return ErrorCode(response.partition_errors[0].error_code)


def leader_and_isr(
    leader: int = US,
    epoch: int = 0,
    *,
    replicas: tuple[int, ...] = (US, OTHER),
    topic_id: UUID = TOPIC_ID,
    broker_epoch: int = BROKER_EPOCH,
    controller_epoch: int = CONTROLLER_EPOCH,
) -> LeaderAndIsrRequest:
    state = LeaderAndIsrPartitionState(
        leader=leader, leader_epoch=epoch, isr=list(replicas), partition_epoch=9, replicas=list(replicas)
    )
    return LeaderAndIsrRequest(
        controller_id=CONTROLLER,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=[LeaderAndIsrTopicState(TOPIC, topic_id, [state])],
    )


def update_metadata(
    *brokers: int,
    leader: int = US,
    topic_id: UUID = TOPIC_ID,
    broker_epoch: int = BROKER_EPOCH,
    controller_epoch: int = CONTROLLER_EPOCH,
) -> UpdateMetadataRequest:
    state = UpdateMetadataPartitionState(leader=leader, leader_epoch=0, isr=[US], zk_version=0, replicas=[US])
    alive = [
        UpdateMetadataBroker(id=each, endpoints=[UpdateMetadataEndpoint(port=9092, host="h", listener="PLAINTEXT")])
        for each in brokers
    ]
    return UpdateMetadataRequest(
        controller_id=CONTROLLER,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=[UpdateMetadataTopicState(TOPIC, topic_id, [state])],
        live_brokers=alive,
    )


def stop_replica(
    epoch: int, *, delete: bool, broker_epoch: int = BROKER_EPOCH, controller_epoch: int = CONTROLLER_EPOCH
) -> StopReplicaRequest:
    states = [StopReplicaPartitionState(0, epoch, delete)]
    return StopReplicaRequest(
        controller_id=CONTROLLER,
        controller_epoch=controller_epoch,
        broker_epoch=broker_epoch,
        topic_states=[StopReplicaTopicState(TOPIC, states)],
    )
