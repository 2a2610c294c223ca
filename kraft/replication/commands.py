"""The requests of a ZooKeeper-era controller: LeaderAndIsr and StopReplica give this broker's partitions their roles,
UpdateMetadata gives it an image of the cluster.

Each request names the epoch of the controller and of the broker's registration. A request of an earlier controller, or
for an earlier registration, is refused (KIP-380). One request is applied at a time
(``ReplicaManager.replicaStateChangeLock``), by a task of the broker. So a request that has begun is applied as a whole,
although the controller's connection closes meanwhile. Kafka's handler threads finish it, too.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import Context, copy_context
from functools import partial
from itertools import chain
from typing import Protocol, TypeVar
from uuid import UUID

import attrs
import trio

from kraft.broker.leadership import ANY_BROKER_EPOCH
from kraft.messages.leader_and_isr_request import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kraft.messages.leader_and_isr_response import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.stop_replica_request import StopReplicaPartitionState, StopReplicaRequest
from kraft.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse
from kraft.messages.update_metadata_request import UpdateMetadataRequest, UpdateMetadataTopicState
from kraft.messages.update_metadata_response import UpdateMetadataResponse
from kraft.metadata.delta import Changes, Delta, MetadataError
from kraft.metadata.image import DIRECTORY_MIGRATING, Image, ResourceType, Topic
from kraft.metadata.partitions import MAX_PARTITIONS, NO_LEADER, Partition, Partitions, shared_partition
from kraft.metadata.topic_name import is_valid_topic_name
from kraft.metadata.update_metadata import config_records, new_topics, records_of
from kraft.replication.opener import CREATED_AT_ONCE
from kraft.replication.partition import HostedPartition
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.storage.errors import StorageError
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message
from kraft.wire.uuids import ZERO_UUID
from kraft.world.slices import Slices, in_slices

logger = logging.getLogger("kraft.commands")

NO_CONTROLLER = -1
NO_EPOCH = -1
UNKNOWN_FEATURES_EPOCH = -1
EPOCH_DURING_DELETE = -2
"""The leader epoch of a StopReplica that deletes a topic: a deletion has no epoch of its own."""
_PARTITIONS_IN_A_ROW = 10
_RECORDS_IN_A_ROW = 500

ControllerRequest = LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest
Config = Mapping[str, str]
Q = TypeVar("Q", bound=ControllerRequest)
R = TypeVar("R")


@attrs.frozen
class _Queued:
    """A request that waits for ``run``, with the context of the task that waits for its response."""

    name: str
    apply: Callable[[], Awaitable[None]]
    context: Context = attrs.Factory(copy_context)


class Coordinators(Protocol):
    """The coordinators, as far as they follow the roles of partitions; ``LazyCoordinators`` is one."""

    async def offsets_deleted(self, image: Image) -> None: ...
    def apply(self, led: LeaderChanges, deleted: Iterable[str] = ()) -> None: ...


@attrs.define(eq=False)
class ControllerCommands:
    """Applies the requests of the controller while ``run`` runs, and knows which broker is the controller.

    ``topic_configs`` reads the settings of topics, which no request has.
    """

    replicas: Replicas
    coordinators: Coordinators
    topic_configs: Callable[[Sequence[str]], Awaitable[Mapping[str, Config]]]
    controller_id: int = NO_CONTROLLER
    controller_epoch: int = 0
    features_epoch: int = UNKNOWN_FEATURES_EPOCH
    """The version of /feature in ZooKeeper, while features are enabled (KIP-584)."""
    _configured: dict[str, UUID] = attrs.Factory(dict)
    """The topics whose settings were read in this registration, with their ids. Announcements bring later changes."""
    _applying: trio.Lock = attrs.Factory(trio.Lock)
    _requests: tuple[trio.MemorySendChannel[_Queued], trio.MemoryReceiveChannel[_Queued]] = attrs.Factory(
        lambda: trio.open_memory_channel[_Queued](0)
    )
    _registered: trio.Event = attrs.Factory(trio.Event)
    _updated: trio.Event = attrs.Factory(trio.Event)

    async def run(self) -> None:
        """Apply the requests until cancelled, each in a task with the context of its connection's task."""
        async for each in self._requests[1]:
            async with trio.open_nursery() as task:
                each.context.run(partial(task.start_soon, each.apply, name=each.name))

    def registered(self, broker_epoch: int) -> None:
        """Take the epoch of the broker's new registration. Requests are applied from now on."""
        self.replicas.broker_epoch = broker_epoch
        self._configured.clear()
        self._registered.set()

    @property
    def topics(self) -> Mapping[str, UUID]:
        """The names of all topics, with their ids."""
        return self.replicas.image.topic_ids

    async def until(self, condition: Callable[[Image], bool]) -> None:
        """Return once ``condition`` holds for the broker's image. The caller limits the wait."""
        while not condition(self.replicas.image):
            await self._updated.wait()

    # The broker's view of the active controller, for the channel to it.

    @property
    def node_id(self) -> int:
        return self.replicas.node_id

    @property
    def leader_id(self) -> int | None:
        """The controller that sent the last UpdateMetadata; None before the first."""
        return None if self.controller_id == NO_CONTROLLER else self.controller_id

    @property
    def epoch(self) -> int:
        return self.controller_epoch

    async def change(self, leader_id: int | None, epoch: int) -> None:
        """Return once another controller, or one of another epoch, is known."""
        while (self.leader_id, self.epoch) == (leader_id, epoch):
            await self._updated.wait()

    # The requests.

    async def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        """Bring the image to the state of the request. Roles do not change.

        Raises KafkaError STALE_BROKER_EPOCH, STALE_CONTROLLER_EPOCH, or INVALID_REQUEST for a state that no cluster
        has.
        """
        return await self._finished(self._update_metadata, request)

    async def _update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        await self._admit(request)
        image = self.replicas.image
        configs = await self._configs(new_topics(image, request))
        try:
            image, changes = await self._next(chain(records_of(image, request), configs))
        except MetadataError as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, str(error)) from error
        await self._show(image, changes)
        if self.controller_id != request.controller_id:
            logger.info("broker %d is the controller, in epoch %d", request.controller_id, request.controller_epoch)
        self.controller_id = request.controller_id
        self._announce()
        return UpdateMetadataResponse()

    async def lead_and_follow(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        """Give partitions their leaders. A partition whose leader epoch is not newer than the known one keeps its role.

        Raises KafkaError STALE_BROKER_EPOCH or STALE_CONTROLLER_EPOCH.
        """
        return await self._finished(self._lead_and_follow, request)

    async def _lead_and_follow(self, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        led, topics = LeaderChanges([], []), []
        await self._admit(request)
        image = self.replicas.image
        new = [topic for topic in request.topic_states if image.topic_ids.get(topic.topic_name) != topic.topic_id]
        await self.replicas.show(*await self._next(await self._configs(new)))
        slices = Slices(_PARTITIONS_IN_A_ROW)
        for topic in request.topic_states:
            errors, states = [], topic.partition_states
            for position, state in enumerate(states):
                if position % CREATED_AT_ONCE == 0:
                    await self._create_logs(topic, states[position : position + CREATED_AT_ONCE])
                await slices.spend()
                code = self._assign(topic, state, led)
                errors.append(LeaderAndIsrPartitionError(partition_index=state.partition_index, error_code=code))
            topics.append(LeaderAndIsrTopicError(topic.topic_id, errors))
        self.replicas.announce()
        await self.replicas.coordinating(led)
        self.coordinators.apply(led)
        return LeaderAndIsrResponse(topics=topics)

    async def stop_replicas(self, request: StopReplicaRequest) -> StopReplicaResponse:
        """Stop partitions, and delete those that the request deletes. One whose log cannot be deleted has
        KAFKA_STORAGE_ERROR (``ReplicaManager.stopReplicas``), also when the controller asks again.

        Raises KafkaError STALE_BROKER_EPOCH or STALE_CONTROLLER_EPOCH.
        """
        return await self._finished(self._stop_replicas, request)

    async def _stop_replicas(self, request: StopReplicaRequest) -> StopReplicaResponse:
        led, errors = LeaderChanges([], []), []
        await self._admit(request)
        deleted: list[HostedPartition] = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                partition = self.replicas.partitions.get(topic.topic_name, {}).get(state.partition_index)
                code = self._stop(partition, state, led)
                if code is ErrorCode.NONE and partition is not None and state.delete_partition:
                    deleted.append(partition)
                errors.append(StopReplicaPartitionError(topic.topic_name, state.partition_index, code))
        failures = await self.replicas.remove(deleted, led)
        for (name, index), failure in failures.items():
            logger.error("%s-%d: the log cannot be deleted: %s", name, index, failure)
        for each in errors:
            if (each.topic_name, each.partition_index) in failures:
                each.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        self.replicas.announce()
        self.coordinators.apply(led)
        await led.forget()
        return StopReplicaResponse(partition_errors=errors)

    async def set_config(self, resource_type: ResourceType, name: str, values: Config) -> None:
        """Take the settings of a topic or a broker, which changed in ZooKeeper."""
        async with self._applying:
            image = self.replicas.image
            if values != image.config(resource_type, name):
                await self.replicas.show(*await self._next(config_records(image, resource_type, name, values)))

    async def forget_topics(self, topics: Mapping[str, UUID]) -> None:
        """Remove topics, with these ids, that were deleted before this registration: no request names them any more."""
        async with self._applying:
            known = self.replicas.image.topic_ids
            records = [RemoveTopicRecord(each) for name, each in topics.items() if known.get(name) == each]
            if records:
                await self._show(*await self._next(records))
                self._announce()

    # Parts of them.

    async def _finished(self, apply: Callable[[Q], Awaitable[R]], request: Q) -> R:
        """Return the response of ``apply``, or raise its error. A caller that is cancelled ends a request only before
        it has begun. So at most one request is applied without a caller.
        """
        send, receive = trio.open_memory_channel[R | Exception](1)
        await self._requests[0].send(_Queued(type(request).__name__, partial(self._apply, apply, request, send)))
        with receive:
            result = await receive.receive()
        if isinstance(result, Exception):
            try:
                raise result
            finally:
                del result  # it has this frame, which would have it: a cycle
        return result

    async def _apply(
        self, apply: Callable[[Q], Awaitable[R]], request: Q, send: trio.MemorySendChannel[R | Exception]
    ) -> None:
        result: R | Exception
        with send:
            try:
                async with self._applying:
                    result = await apply(request)
            except Exception as error:
                result = error
            try:
                send.send_nowait(result)
            except trio.BrokenResourceError:
                _finished_alone(request, result)
            finally:
                del result  # an error has this frame

    async def _admit(self, request: ControllerRequest) -> None:
        """Compare the epochs of the request. A request may arrive before the broker knows that it is registered."""
        await self._registered.wait()
        if request.broker_epoch != ANY_BROKER_EPOCH and request.broker_epoch < self.replicas.broker_epoch:
            what = f"broker epoch {request.broker_epoch}, and this broker's is {self.replicas.broker_epoch}"
            raise _refused(request, ErrorCode.STALE_BROKER_EPOCH, what)
        if request.controller_epoch < self.controller_epoch:
            what = f"controller epoch {request.controller_epoch}, and the latest known one is {self.controller_epoch}"
            raise _refused(request, ErrorCode.STALE_CONTROLLER_EPOCH, what)
        self.controller_epoch = request.controller_epoch

    async def _configs(self, topics: Iterable[LeaderAndIsrTopicState | UpdateMetadataTopicState]) -> Sequence[Message]:
        """Return the settings of topics that the image does not have, as records.

        Those that are known are not read. ZooKeeper may be gone, and most requests need nothing of it: the
        UpdateMetadata of a hosted topic follows its LeaderAndIsr. If it removes an earlier topic of the name, it
        removes the settings, too, and they are set again.
        """
        image, found, unread = self.replicas.image, dict[str, Config](), dict[str, UUID]()
        for topic in topics:
            if self._configured.get(topic.topic_name) != topic.topic_id:
                unread[topic.topic_name] = topic.topic_id
            elif topic.topic_name in image.topic_ids:
                found[topic.topic_name] = image.config(ResourceType.TOPIC, topic.topic_name)
        if unread:
            found |= await self.topic_configs(list(unread))
            self._configured |= unread
        return [
            record
            for name, values in found.items()
            for record in config_records(image, ResourceType.TOPIC, name, values)
        ]

    async def _next(self, records: Iterable[Message]) -> tuple[Image, Changes]:
        """Return the next image, and its changes; let other tasks run meanwhile. Raises MetadataError."""
        image, slices = self.replicas.image, Slices(_RECORDS_IN_A_ROW)
        delta = Delta(image)
        for record in records:
            delta.replay(record)
            await slices.spend()
        return await in_slices(delta.finish_in_steps(image.offset + 1, self.controller_epoch, -1), slices)

    async def _show(self, image: Image, changes: Changes) -> None:
        """Take the next image, perhaps without some topics."""
        deleted = [each.name for each in changes.topics_deleted.values()]
        await self.coordinators.offsets_deleted(image)
        await self.replicas.show(image, changes)
        for name in deleted:
            self._configured.pop(name, None)
        self.coordinators.apply(LeaderChanges([], []), deleted)

    def _announce(self) -> None:
        self._updated.set()
        self._updated = trio.Event()

    def _assign(
        self, topic: LeaderAndIsrTopicState, state: LeaderAndIsrPartitionState, led: LeaderChanges
    ) -> ErrorCode:
        """Give one partition its role, and return the error of its place in the response."""
        name, index = topic.topic_name, state.partition_index
        refused = self._refusal(topic, state)
        if refused:
            return refused
        try:
            self.replicas.assign(_named(topic), index, _partition(state), led)
        except (OSError, StorageError) as error:
            logger.error("%s-%d: the log cannot be opened: %s", name, index, error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.NONE

    async def _create_logs(self, topic: LeaderAndIsrTopicState, states: Sequence[LeaderAndIsrPartitionState]) -> None:
        hosted = self.replicas.partitions.get(topic.topic_name, {})
        new = (state for state in states if state.partition_index not in hosted and not self._refusal(topic, state))
        await self.replicas.create_logs((_named(topic), state.partition_index) for state in new)

    def _refusal(self, topic: LeaderAndIsrTopicState, state: LeaderAndIsrPartitionState) -> ErrorCode:
        name, index = topic.topic_name, state.partition_index
        hosted = self.replicas.partitions.get(name, {}).get(index)
        if topic.topic_id == ZERO_UUID or not is_valid_topic_name(name) or not 0 <= index < MAX_PARTITIONS:
            return ErrorCode.INVALID_REQUEST
        if hosted is not None:
            if hosted.topic_id not in (ZERO_UUID, topic.topic_id):
                logger.error("%s: its log has topic id %s, not %s", hosted.name, hosted.topic_id, topic.topic_id)
                return ErrorCode.INCONSISTENT_TOPIC_ID
            if state.leader_epoch <= hosted.state.leader_epoch:
                return ErrorCode.STALE_CONTROLLER_EPOCH
        if self.replicas.node_id not in state.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return ErrorCode.NONE

    def _stop(
        self, partition: HostedPartition | None, state: StopReplicaPartitionState, led: LeaderChanges
    ) -> ErrorCode:
        if partition is None:
            return ErrorCode.NONE  # a start opens all logs, and ``remove`` knows those that it could not delete
        is_newer = state.leader_epoch >= partition.state.leader_epoch
        if not is_newer and state.leader_epoch not in (NO_EPOCH, EPOCH_DURING_DELETE):
            return ErrorCode.FENCED_LEADER_EPOCH
        if not state.delete_partition:
            self.replicas.stop(partition, led)
        return ErrorCode.NONE


def _named(topic: LeaderAndIsrTopicState) -> Topic:
    return Topic(topic.topic_id, topic.topic_name, Partitions())


def _finished_alone(request: ControllerRequest, result: object) -> None:
    what = f"{type(request).__name__} of controller {request.controller_id}"
    if isinstance(result, Exception) and not isinstance(result, KafkaError):
        logger.error("%s failed after its connection had closed", what, exc_info=result)
    else:
        logger.info("%s ended after its connection had closed", what)


def _refused(request: ControllerRequest, code: ErrorCode, what: str) -> KafkaError:
    logger.warning("%s of controller %d is refused: %s", type(request).__name__, request.controller_id, what)
    return KafkaError(code)


def _partition(state: LeaderAndIsrPartitionState) -> Partition:
    replicas = tuple(state.replicas)
    return shared_partition(
        replicas,
        tuple(state.isr),
        max(state.leader, NO_LEADER),  # LeaderDuringDelete is another name for no leader
        state.leader_epoch,
        state.partition_epoch,
        (DIRECTORY_MIGRATING,) * len(replicas),
        state.leader_recovery_state,
        tuple(state.removing_replicas),
        tuple(state.adding_replicas),
    )
