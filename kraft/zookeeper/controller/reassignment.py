"""Reassignments (KIP-455), through the API and through /admin/reassign_partitions.

ORS are the original replicas of a partition, TRS the target. While it is reassigned, its replicas are ORS + TRS in
ZooKeeper. It is complete once all of TRS are in sync. The assignment becomes TRS last, so that a new controller can
finish the work of another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kraft.messages.alter_partition_reassignments_request import AlterPartitionReassignmentsRequest
from kraft.messages.alter_partition_reassignments_response import (
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kraft.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from kraft.messages.list_partition_reassignments_response import (
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.zookeeper.controller import elections
from kraft.zookeeper.controller.active import MAX_ATTEMPTS, ActiveController, shown
from kraft.zookeeper.controller.deletion import resume_deletions
from kraft.zookeeper.controller.effects import PAUSE, Steps
from kraft.zookeeper.controller.partitions import allowing_unclean, bring_online, elect
from kraft.zookeeper.controller.topics import fits, topic_changed, write_topic
from kraft.zookeeper.operations import Delete, Set, Znode
from kraft.zookeeper.znodes.admin import REASSIGN_PARTITIONS, TopicPartition, decode_reassignment, encode_reassignment
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.topics import ReplicaAssignment

_COMPARED_US = 20
"""The work to see that a partition is on its way to its target already."""


def reassign_partitions(active: ActiveController) -> Steps[None]:
    """Do what a tool of that era wrote to /admin/reassign_partitions. The znode stays until all of it is complete.

    A partition that is on its way to its target stays so, also if a new replica's broker is down.
    """
    (node,) = yield from active.read((REASSIGN_PARTITIONS,), watch=True)
    if node is None:
        return
    try:
        targets = decode_reassignment(node.data)
    except MalformedZnode as error:
        active.note(f"{error}; it is deleted")
        targets = {}
    open_targets = {}
    for partition, target in targets.items():
        if active.spent(_COMPARED_US):
            yield PAUSE
        assignment = active.cluster.assignment(partition)
        try:
            if assignment is None or assignment.reassigned_to(target) != assignment:
                _check_target(active, partition, target)
            yield from _check_in_sync(active, partition, target)
            yield from _reassign(active, partition, target)
        except KafkaError as error:
            active.note(f"{shown(partition)} is not reassigned to {target}: {error.message}")
            continue
        assignment = active.cluster.assignment(partition)
        if assignment is not None and assignment.is_reassigned:
            open_targets[partition] = target
    if open_targets != targets or not targets:
        yield from _keep(active, node, open_targets)
    yield from resume_deletions(active)


def alter_reassignments(
    active: ActiveController, request: AlterPartitionReassignmentsRequest, version: int
) -> Steps[AlterPartitionReassignmentsResponse]:
    """Begin, replace or (without replicas) cancel the reassignment of each partition, or refuse it by itself."""
    wanted = {
        (topic.name, each.partition_index): each.replicas for topic in request.topics for each in topic.partitions
    }
    targets: dict[TopicPartition, tuple[int, ...]] = {}
    refused: dict[TopicPartition, KafkaError] = {}
    for partition, replicas in wanted.items():
        try:
            target = _target(active, partition, replicas)
            yield from _check_in_sync(active, partition, target)
            targets[partition] = target
        except KafkaError as error:
            refused[partition] = error.anew()
    yield from _remove(active, targets)
    for partition, target in targets.items():
        try:
            yield from _reassign(active, partition, target)
        except KafkaError as error:
            refused[partition] = error.anew()
    yield from resume_deletions(active)  # A deletion waits for the end of reassignments.
    topics: dict[str, ReassignableTopicResponse] = {}
    for name, index in wanted:
        failure = refused.get((name, index))
        topics.setdefault(name, ReassignableTopicResponse(name=name)).partitions.append(
            ReassignablePartitionResponse(index, ErrorCode.NONE, None)
            if failure is None
            else ReassignablePartitionResponse(index, failure.code, failure.message)
        )
    return AlterPartitionReassignmentsResponse(
        error_code=ErrorCode.NONE, error_message=None, responses=list(topics.values())
    )


def list_reassignments(
    active: ActiveController, request: ListPartitionReassignmentsRequest, version: int
) -> Steps[ListPartitionReassignmentsResponse]:
    """The reassignments under way, of all topics or of the named partitions."""
    named = None
    if request.topics is not None:
        named = {(topic.name, index) for topic in request.topics for index in topic.partition_indexes}
    topics: dict[str, OngoingTopicReassignment] = {}
    reassigned = yield from active.partitions(
        lambda partition, each: each.is_reassigned and (named is None or partition in named)
    )
    for name, index in reassigned:
        each = active.cluster.topics[name].partitions[index]
        ongoing = OngoingPartitionReassignment(
            partition_index=index,
            replicas=list(each.replicas),
            adding_replicas=list(each.adding),
            removing_replicas=list(each.removing),
        )
        topics.setdefault(name, OngoingTopicReassignment(name=name)).partitions.append(ongoing)
    return ListPartitionReassignmentsResponse(
        error_code=ErrorCode.NONE, error_message=None, topics=list(topics.values())
    )


def complete_reassignments(active: ActiveController, partitions: Iterable[TopicPartition]) -> Steps[None]:
    """Complete the reassignment of each of these partitions whose target replicas are all in sync."""
    completed = set()
    for partition in partitions:
        assignment = active.cluster.assignment(partition)
        if assignment is None or not assignment.is_reassigned or not _is_complete(active, partition, assignment):
            continue
        if (yield from _complete(active, partition, assignment)):
            completed.add(partition)
    if completed:
        yield from _remove(active, completed)
        yield from resume_deletions(active)


def resume_reassignments(active: ActiveController) -> Steps[None]:
    """Go on with reassignments that a former controller, or an earlier incarnation of a broker, left open."""
    reassigned = yield from active.partitions(lambda _, each: each.is_reassigned)
    for partition in reassigned:
        assignment = active.cluster.assignment(partition)
        if assignment is not None and not _is_complete(active, partition, assignment):
            yield from _send_assignment(active, partition, assignment)
    yield from complete_reassignments(active, reassigned)


def _remove(active: ActiveController, partitions: Collection[TopicPartition]) -> Steps[None]:
    """Remove these partitions from the znode: they are complete, or the API has newer targets for them."""
    (node,) = yield from active.read((REASSIGN_PARTITIONS,), watch=True)
    try:
        targets = {} if node is None else decode_reassignment(node.data)
    except MalformedZnode:
        return  # It is deleted when its change is reported.
    kept = {partition: target for partition, target in targets.items() if partition not in partitions}
    if node is not None and kept != targets:
        yield from _keep(active, node, kept)


def _keep(active: ActiveController, node: Znode, targets: Mapping[TopicPartition, tuple[int, ...]]) -> Steps[None]:
    """Leave only these reassignments in the znode, and without any delete it. If it has changed, it is read again."""
    write = Set(REASSIGN_PARTITIONS, encode_reassignment(targets), node.version) if targets else None
    yield from active.write([write or Delete(REASSIGN_PARTITIONS, node.version)])


def _target(active: ActiveController, partition: TopicPartition, replicas: Sequence[int] | None) -> tuple[int, ...]:
    if replicas is not None:
        _check_target(active, partition, tuple(replicas))
        return tuple(replicas)
    assignment = active.cluster.assignment(partition)
    if assignment is None or not assignment.is_reassigned:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    return assignment.origin


def _check_target(active: ActiveController, partition: TopicPartition, target: tuple[int, ...]) -> None:
    """KafkaController.validateReplicas and maybeTriggerPartitionReassignment. Raises KafkaError."""
    if not target:
        _refuse("Empty replica list specified in partition reassignment.")
    if len(set(target)) != len(target):
        _refuse(f"Duplicate replica ids in partition reassignment replica list: {list(target)}")
    if min(target) < 0:
        _refuse(f"Invalid broker id in replica list: {list(target)}")
    assignment = active.cluster.assignment(partition)
    adding = (assignment or ReplicaAssignment(())).reassigned_to(target).adding
    dead = [each for each in adding if not active.cluster.is_live(each)]
    if dead:
        _refuse(f"Replica assignment has brokers that are not alive: {dead}")
    if assignment is None or partition not in active.cluster.states or partition[0] in active.cluster.deletions:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")


def _check_in_sync(active: ActiveController, partition: TopicPartition, target: tuple[int, ...]) -> Steps[None]:
    """Refuse to delete all replicas that are in sync, unless the topic allows unclean leaders. Raises KafkaError.

    A cancellation, or another target, deletes the replicas that only the former target added. KRaft's
    ReplicationControlManager.cancelPartitionReassignment refuses the same. Kafka's KafkaController loses the records.
    """
    assignment, state = active.cluster.assignment(partition), active.cluster.states.get(partition)
    if assignment is None or state is None:
        return
    in_sync = set(state.isr) & set(assignment.replicas)
    if not in_sync or in_sync & set(assignment.reassigned_to(target).replicas):
        return
    if not (yield from allowing_unclean(active, partition[:1])):
        _refuse(
            f"Unable to revert partition assignment for {partition[0]}:{partition[1]} because it would require an "
            "unclean leader election."
        )


def _refuse(message: str) -> None:
    raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def _reassign(active: ActiveController, partition: TopicPartition, target: tuple[int, ...]) -> Steps[None]:
    """Write the new assignment, stop replicas that a replaced one had added, and begin or complete it.

    Raises KafkaError if the assignment cannot be written.
    """
    current, wanted = yield from _written(active, partition, target)
    if wanted != current:
        unneeded = [each for each in current.replicas if each not in wanted.replicas]
        yield from _stop_replicas(active, partition, unneeded)
    if wanted.is_reassigned and _is_complete(active, partition, wanted):
        yield from _complete(active, partition, wanted)
    elif wanted != current:
        yield from _send_assignment(active, partition, wanted)
    if not active.cluster.is_led(partition):
        yield from bring_online(active, partition[:1])  # An unclean leader, if all replicas in sync were stopped.


def _written(
    active: ActiveController, partition: TopicPartition, target: tuple[int, ...]
) -> Steps[tuple[ReplicaAssignment, ReplicaAssignment]]:
    """Return the assignment before, and the one that was written. Raises KafkaError."""
    name, index = partition
    for _ in range(MAX_ATTEMPTS):
        topic, current = active.cluster.topics.get(name), active.cluster.assignment(partition)
        if topic is None or current is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        wanted = current.reassigned_to(target)
        if wanted == current:
            return current, wanted
        if not fits(topic.topic_id, {**topic.partitions, index: wanted}):
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "The topic is larger than ZooKeeper accepts.")
        topic.partitions[index] = wanted
        if (yield from write_topic(active, name)):
            return current, wanted
        topic.partitions[index] = current
        yield from topic_changed(active, name)  # Another process has changed it at the same time.
    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _is_complete(active: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment) -> bool:
    state = active.cluster.states.get(partition)
    return state is not None and set(assignment.target) <= set(state.isr)


def _send_assignment(active: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment) -> Steps[None]:
    """A higher leader epoch makes every replica take the assignment, and new replicas fetch.

    The leader may be a replica that a former target had added, and that is stopped now. No replica learns of it while
    the state is not known.
    """
    yield from active.change((partition,), elections.assigned)
    if partition in active.cluster.states:
        yield from active.send_leader_and_isr(assignment.origin, partition)
        yield from active.send_leader_and_isr(assignment.adding, partition, is_new=True)


def _complete(active: ActiveController, partition: TopicPartition, assignment: ReplicaAssignment) -> Steps[bool]:
    """Lead with a target replica, stop the others, and only then write the target as the assignment.

    The leader epoch rises for the leader, and for each replica that leaves the ISR. Return False if the reassignment
    stays open.
    """
    changed = yield from active.change((partition,), elections.reassigned)
    if not changed:
        active.note(f"no target replica of {shown(partition)} can lead, so its reassignment stays open")
        return False
    topic = active.cluster.topics[partition[0]]
    topic.partitions[partition[1]] = ReplicaAssignment(assignment.target)
    yield from active.send_leader_and_isr(assignment.target, partition)
    yield from _stop_replicas(active, partition, assignment.removing)
    if (yield from write_topic(active, partition[0])):
        return True
    # The znode still has ORS + TRS. The change is reported, and completed again then.
    topic.partitions[partition[1]] = assignment
    return False


def _stop_replicas(active: ActiveController, partition: TopicPartition, replicas: Sequence[int]) -> Steps[None]:
    for broker_id in replicas:
        yield from elect(active, (partition,), elections.without(broker_id), excluded=(broker_id,))
        active.send_stop((broker_id,), partition, deletes=True)
