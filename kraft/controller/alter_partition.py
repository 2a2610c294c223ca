"""AlterPartition (56, KIP-497): a leader proposes the next ISR of the partitions that it leads.

v2+ names topics by id; v3 gives the epoch of each member, so that a broker that was restarted meanwhile is not taken
for the one that had caught up (KIP-903). Every partition is accepted or refused on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from kraft.controller.brokers import registered
from kraft.controller.context import Context, Decision
from kraft.controller.elections import Election, partition_change
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.alter_partition_request import PartitionData as Proposal
from kraft.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.delta import changed_partition
from kraft.metadata.image import RECOVERED, RECOVERING, Partition
from kraft.wire.errors import ErrorCode, KafkaError

_ANY_EPOCH = -1


def alter_partition(context: Context, request: AlterPartitionRequest) -> Decision:
    """Settle the ISR of each partition; the answer says what is then true."""
    try:
        registered(context, request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Decision((), AlterPartitionResponse(error_code=error.code))
    records: list[PartitionChangeRecord] = []
    topics: list[TopicData] = []
    for topic in request.topics:
        partitions: list[PartitionData] = []
        for proposal in topic.partitions:
            try:
                record, partition = _settle(context, request.broker_id, topic.topic_id, proposal)
            except KafkaError as error:
                partitions.append(PartitionData(partition_index=proposal.partition_index, error_code=error.code))
                continue
            if record is not None:
                records.append(record)
            partitions.append(
                PartitionData(
                    partition_index=proposal.partition_index,
                    error_code=ErrorCode.NONE,
                    leader_id=partition.leader,
                    leader_epoch=partition.leader_epoch,
                    isr=list(partition.isr),
                    leader_recovery_state=partition.leader_recovery_state,
                    partition_epoch=partition.partition_epoch,
                )
            )
        topics.append(TopicData(topic_id=topic.topic_id, partitions=partitions))
    return Decision(tuple(records), AlterPartitionResponse(error_code=ErrorCode.NONE, topics=topics))


def _settle(
    context: Context, broker_id: int, topic_id: UUID, proposal: Proposal
) -> tuple[PartitionChangeRecord | None, Partition]:
    if topic_id not in context.image.topics:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
    partition = context.image.partition(topic_id, proposal.partition_index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    epochs = {member.broker_id: member.broker_epoch for member in proposal.new_isr_with_epochs}
    isr = [member.broker_id for member in proposal.new_isr_with_epochs] or list(proposal.new_isr)
    _check_epochs(broker_id, partition, proposal)
    _check_isr(partition, isr, proposal.leader_recovery_state)
    for member in isr:
        broker = context.image.brokers.get(member)
        epoch = epochs.get(member, _ANY_EPOCH)
        if broker is None or not broker.active or epoch not in (_ANY_EPOCH, broker.epoch):
            raise KafkaError(ErrorCode.INELIGIBLE_REPLICA)
    index = proposal.partition_index
    # The members are active as of now, the leader among them: it stays.
    record = partition_change(topic_id, index, partition, tuple(isr), Election.ONLINE, lambda replica: True)
    if proposal.leader_recovery_state != partition.leader_recovery_state:
        record = record or PartitionChangeRecord(topic_id=topic_id, partition_id=index)
        record.leader_recovery_state = proposal.leader_recovery_state
    return record, partition if record is None else changed_partition(partition, record)


def _check_epochs(broker_id: int, partition: Partition, proposal: Proposal) -> None:
    """The proposal must come from the present leader, and be about the present state."""
    if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch:
        # The proposer has replayed more than this controller, so it is this one that is behind.
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    if proposal.leader_epoch < partition.leader_epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
    if broker_id != partition.leader:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if proposal.partition_epoch < partition.partition_epoch:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION)


def _check_isr(partition: Partition, isr: Sequence[int], recovery_state: int) -> None:
    if len(set(isr)) != len(isr) or not set(isr) <= set(partition.replicas) or partition.leader not in isr:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if recovery_state not in (RECOVERED, RECOVERING):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if recovery_state == RECOVERING and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
