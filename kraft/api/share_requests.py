"""The parts that ShareFetch and ShareAcknowledge share: who may send them, and acknowledgements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final
from uuid import UUID

import attrs
import trio

from kraft.api.context import BrokerContext
from kraft.broker.share.partition import RENEW, Acknowledgement
from kraft.broker.share.session import SessionKey, SharedPartition
from kraft.config.features import SHARE_VERSION
from kraft.config.group import group_value
from kraft.coordination.share_partitions import PendingWrite
from kraft.coordinator.groups.share.group import MAX_MEMBER_ID
from kraft.coordinator.share.state import SharePartitionKey
from kraft.rpc.channel import Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

RENEWALS_VERSION: Final = 2
_SLICE_BATCHES = 500
_STALE: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)


def member_of(broker: BrokerContext, request: Request, message: Any) -> SessionKey:
    """Return the group and the member that sent a request.

    Raises KafkaError UNSUPPORTED_VERSION while ``share.version`` allows no share groups, or INVALID_REQUEST.
    """
    if not broker.image.features.get(SHARE_VERSION, 0):
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    if message.group_id is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid group id in the request.")
    if not message.member_id or len(message.member_id) > MAX_MEMBER_ID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid member id in the request.")
    return message.group_id, message.member_id


def lock_timeout_ms(broker: BrokerContext, group_id: str) -> int:
    """Return how long records stay locked, for the response."""
    return round(broker.coordinators.shares.settings(group_id).lock_duration_s * 1000)


@attrs.define(eq=False)
class Acknowledgements:
    """The acknowledgements of one request, by partition: begun at once, and written while the request waits."""

    pending: dict[SharedPartition, PendingWrite] = attrs.Factory(dict)
    results: dict[SharedPartition, KafkaError | None] = attrs.Factory(dict)

    async def begin(
        self, broker: BrokerContext, member: SessionKey, version: int, message: Any, topics: Iterable[Any]
    ) -> None:
        """Begin the acknowledgements of a ShareFetch or a ShareAcknowledge. The last entry of a partition counts."""
        slices = Slices(_SLICE_BATCHES)
        entries = {
            (topic.topic_id, partition.partition_index): partition.acknowledgement_batches
            for topic in topics
            for partition in topic.partitions
            if partition.acknowledgement_batches
        }
        for where, entry in entries.items():
            batches = [Acknowledgement(each.first_offset, each.last_offset, each.acknowledge_types) for each in entry]
            await slices.spend(1 + len(batches))
            try:
                _check_batches(batches, renews=version >= RENEWALS_VERSION and message.is_renew_ack)
                self._begin(broker, member, where, batches)
            except KafkaError as refused:
                self.results[where] = refused.anew()

    def _begin(
        self, broker: BrokerContext, member: SessionKey, where: SharedPartition, batches: Sequence[Acknowledgement]
    ) -> None:
        group_id, member_id = member
        name = broker.replicas.name_of(where[0])
        if where[1] not in broker.image.topics[where[0]].partitions:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.results[where] = None
        if any(RENEW in each.types for each in batches) and not _allows_renewals(broker, group_id):
            raise KafkaError(ErrorCode.INVALID_RECORD_STATE, f"Group {group_id} does not renew locks, topic {name}.")
        led, core = broker.coordinators.shares.find(SharePartitionKey(group_id, *where))
        transition = core.acknowledge(trio.current_time(), member_id, batches)
        broker.coordinators.shares.metrics.acknowledged(batches)
        self.pending[where] = broker.coordinators.shares.write(led, transition.changes, transition)

    async def wait(self) -> dict[SharedPartition, KafkaError | None]:
        """Return the error of each partition, or None, once all outcomes are written or refused."""
        for where, write in self.pending.items():
            try:
                await write.wait()
            except KafkaError as refused:
                self.results[where] = refused.anew()
        return self.results


def _allows_renewals(broker: BrokerContext, group_id: str) -> bool:
    config = broker.coordinators.shares.group_config(group_id)
    return group_value(config, "share.renew.acknowledge.enable") is not False


def _check_batches(batches: Sequence[Acknowledgement], *, renews: bool) -> None:
    """Raises KafkaError INVALID_REQUEST, as Apache's ``KafkaApis.validateAcknowledgementBatches``."""
    highest = RENEW if renews else RENEW - 1
    end = -1
    for first, last, types in batches:
        is_sized = len(types) == 1 or (types and last - first == len(types) - 1)
        if not is_sized or not end <= first <= last or not all(0 <= each <= highest for each in types):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        end = last


def note_leader(broker: BrokerContext, data: Any, where: tuple[UUID, int], leaders: dict[int, None]) -> None:
    """Name the leader in the data of a partition that is led elsewhere, and add it to ``leaders``."""
    topic = broker.image.topics.get(where[0])
    if data.error_code in _STALE and topic is not None:
        leader, epoch = broker.replicas.known_leader(topic.name, where[1])
        data.current_leader.leader_id, data.current_leader.leader_epoch = leader, epoch
        leaders[leader] = None
