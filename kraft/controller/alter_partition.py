"""AlterPartition (56, KIP-497): a leader proposes the next ISR of the partitions that it leads.

v0 and v1 name topics by name, v2+ by id; v1+ carry the leader recovery state (KIP-704). v3 carries the broker epoch of
each member, so that a broker that restarted meanwhile does not pass for the one that had caught up (KIP-903). Each
partition is accepted or refused by itself.

A new ISR may complete a reassignment, which may take the leadership from the proposer. The controller then carries out
the proposal and answers with an error.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraft.controller.context import Context, Decision
from kraft.controller.partition_change import Election, Target, partition_change
from kraft.controller.registration import registered
from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.alter_partition_request import PartitionData as Proposal
from kraft.messages.alter_partition_request import TopicData as ProposedTopic
from kraft.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.metadata.delta import changed_partition
from kraft.metadata.image import Topic
from kraft.metadata.partitions import RECOVERED, RECOVERING, Partition
from kraft.metadata.steps import Steps
from kraft.wire.errors import ErrorCode, KafkaError

_ANY_EPOCH = -1
_COST_OF_PROPOSAL = 2
_IDS_FROM = 2  # the first version that names topics by id, and has errors of its own


def alter_partition(context: Context, request: AlterPartitionRequest) -> Steps[Decision]:
    """Settle the ISR of each partition; the response carries the state after it."""
    try:
        registered(context, request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Decision((), AlterPartitionResponse(error_code=error.code))
    records: dict[tuple[str, int], PartitionChangeRecord | None] = {}
    topics: list[TopicData] = []
    for proposed in request.topics:
        yield 1
        partitions: list[PartitionData] = []
        for proposal in proposed.partitions:
            yield _COST_OF_PROPOSAL
            answer = PartitionData(partition_index=proposal.partition_index, error_code=ErrorCode.NONE)
            partitions.append(answer)
            try:
                topic = _topic(context, proposed)
                if (topic.name, proposal.partition_index) in records:
                    raise KafkaError(ErrorCode.INVALID_REQUEST)
                record, after = _settle(context, request.broker_id, topic, proposal)
                records[topic.name, proposal.partition_index] = record
                _report(context, request.broker_id, after, answer)
            except KafkaError as error:
                answer.error_code = error.code
        topics.append(TopicData(topic_name=proposed.topic_name, topic_id=proposed.topic_id, partitions=partitions))
    decided = tuple(record for record in records.values() if record is not None)
    return Decision(decided, AlterPartitionResponse(error_code=ErrorCode.NONE, topics=topics))


def _topic(context: Context, proposed: ProposedTopic) -> Topic:
    if context.version < _IDS_FROM:
        topic, code = context.image.topic(proposed.topic_name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    else:
        topic, code = context.image.topics.get(proposed.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
    if topic is None:
        raise KafkaError(code)
    return topic


def _settle(
    context: Context, broker_id: int, topic: Topic, proposal: Proposal
) -> tuple[PartitionChangeRecord | None, Partition]:
    """Return the record, if anything changes, and the partition after it."""
    partition = topic.partitions.get(proposal.partition_index)
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
            by_id = context.version >= _IDS_FROM
            raise KafkaError(ErrorCode.INELIGIBLE_REPLICA if by_id else ErrorCode.OPERATION_NOT_ATTEMPTED)
    target = Target.of(partition, isr=isr, recovery_state=proposal.leader_recovery_state)
    record = partition_change(context, topic, proposal.partition_index, target, Election.CONFIGURED)
    return record, partition if record is None else changed_partition(partition, record)


def _check_epochs(broker_id: int, partition: Partition, proposal: Proposal) -> None:
    """Check that the proposal comes from the present leader and is based on the present state."""
    if proposal.leader_epoch > partition.leader_epoch or proposal.partition_epoch > partition.partition_epoch:
        # The proposer has replayed more than this controller: this controller is behind.
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


def _report(context: Context, broker_id: int, partition: Partition, answer: PartitionData) -> None:
    """Fill the response with the partition's state. Raises KafkaError if the proposer is no longer the leader."""
    if partition.leader != broker_id:
        by_id = context.version >= _IDS_FROM
        raise KafkaError(ErrorCode.NEW_LEADER_ELECTED if by_id else ErrorCode.FENCED_LEADER_EPOCH)
    answer.leader_id = partition.leader
    answer.leader_epoch = partition.leader_epoch
    answer.isr = list(partition.isr)
    answer.leader_recovery_state = partition.leader_recovery_state
    answer.partition_epoch = partition.partition_epoch
