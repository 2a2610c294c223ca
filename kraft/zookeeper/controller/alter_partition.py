"""AlterPartition: a leader proposes the ISR of its partitions, and the controller writes it (KIP-497).

The write is conditional on the partition epoch of the proposal, which is the version of the znode.
"""

from __future__ import annotations

import attrs

from kraft.messages.alter_partition_request import AlterPartitionRequest
from kraft.messages.alter_partition_request import PartitionData as Proposal
from kraft.messages.alter_partition_request import TopicData as ProposedTopic
from kraft.messages.alter_partition_response import AlterPartitionResponse, PartitionData, TopicData
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.cluster import LegacyCluster
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.controller.reassignment import complete_reassignments
from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.topics import RECOVERED, RECOVERING, PartitionState

_IDS_FROM = 2
_UNKNOWN_EPOCH = -1


def alter_partition(
    active: ActiveController, request: AlterPartitionRequest, version: int
) -> Steps[AlterPartitionResponse]:
    """Write the ISR of each partition, or refuse it by itself; the response has the state after it."""
    broker = active.cluster.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        return AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    proposals: dict[TopicPartition, Proposal] = {}
    refused: dict[TopicPartition, ErrorCode] = {}
    topics = [(each, _name(active.cluster, each, version)) for each in request.topics]
    for topic, name in topics:
        for proposal in topic.partitions if name is not None else ():
            assert name is not None
            partition = name, proposal.partition_index
            try:
                if _settle(active.cluster, request.broker_id, partition, proposal, version) is not None:
                    proposals[partition] = proposal
            except KafkaError as error:
                refused[partition] = error.code

    unwritten: set[TopicPartition] = set()

    def choose(cluster: LegacyCluster, partition: TopicPartition, state: PartitionState) -> PartitionState | None:
        unwritten.discard(partition)
        try:
            chosen = _settle(cluster, request.broker_id, partition, proposals[partition], version)
        except KafkaError as error:
            refused[partition] = error.code
            return None
        if chosen is not None:
            unwritten.add(partition)
        return chosen

    changed = yield from active.change(proposals, choose)
    for partition in proposals:  # With no error, the leader would take its proposal for settled, and repeat it at once.
        if partition in unwritten and partition not in changed and partition in active.cluster.states:
            refused[partition] = ErrorCode.UNKNOWN_SERVER_ERROR
    yield from active.send_metadata(active.queues, changed)
    yield from complete_reassignments(active, changed)
    return AlterPartitionResponse(
        error_code=ErrorCode.NONE,
        topics=[
            TopicData(
                topic_name=topic.topic_name,
                topic_id=topic.topic_id,
                partitions=[_answer(active.cluster, name, each, refused) for each in topic.partitions],
            )
            for topic, name in topics
        ],
    )


def _name(cluster: LegacyCluster, topic: ProposedTopic, version: int) -> str | None:
    if version < _IDS_FROM:
        return topic.topic_name
    return cluster.names.get(topic.topic_id)


def _settle(
    cluster: LegacyCluster, broker_id: int, partition: TopicPartition, proposal: Proposal, version: int
) -> PartitionState | None:
    """The state after the proposal; None if it is that already. Raises KafkaError."""
    state = cluster.states.get(partition)
    if state is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if proposal.leader_epoch > state.leader_epoch or proposal.partition_epoch > state.partition_epoch:
        # The leader knows more than this controller: another one was elected.
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    if proposal.leader_epoch < state.leader_epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
    epochs = {each.broker_id: each.broker_epoch for each in proposal.new_isr_with_epochs}
    isr = tuple(epochs) or tuple(proposal.new_isr)
    wanted = attrs.evolve(state, isr=isr, recovery_state=proposal.leader_recovery_state)
    if wanted == state:
        return None  # Before the partition epoch is compared, so that a repeated request succeeds.
    if proposal.partition_epoch < state.partition_epoch:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION)
    _check_isr(cluster, broker_id, partition, state, wanted)
    for member in isr:
        broker = cluster.brokers.get(member)
        known_epoch = _UNKNOWN_EPOCH if broker is None else broker.epoch
        if not cluster.is_live(member) or epochs.get(member, _UNKNOWN_EPOCH) not in (_UNKNOWN_EPOCH, known_epoch):
            by_id = version >= _IDS_FROM
            raise KafkaError(ErrorCode.INELIGIBLE_REPLICA if by_id else ErrorCode.OPERATION_NOT_ATTEMPTED)
    return wanted


def _check_isr(
    cluster: LegacyCluster, broker_id: int, partition: TopicPartition, state: PartitionState, wanted: PartitionState
) -> None:
    assignment = cluster.assignment(partition)
    replicas = set() if assignment is None else set(assignment.replicas)
    if broker_id != state.leader or broker_id not in wanted.isr or not set(wanted.isr) <= replicas:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if wanted.recovery_state not in (RECOVERED, RECOVERING):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if wanted.recovery_state == RECOVERING and (len(wanted.isr) > 1 or state.recovery_state == RECOVERED):
        raise KafkaError(ErrorCode.INVALID_REQUEST)


def _answer(
    cluster: LegacyCluster, name: str | None, proposal: Proposal, refused: dict[TopicPartition, ErrorCode]
) -> PartitionData:
    if name is None:
        return PartitionData(partition_index=proposal.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    partition = name, proposal.partition_index
    state = cluster.states.get(partition)
    if partition in refused or state is None:
        code = refused.get(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return PartitionData(partition_index=proposal.partition_index, error_code=code)
    return PartitionData(
        partition_index=proposal.partition_index,
        error_code=ErrorCode.NONE,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        isr=list(state.isr),
        leader_recovery_state=state.recovery_state,
        partition_epoch=state.partition_epoch,
    )
