"""Elections that a person or the balance of the cluster asks for: preferred and unclean leaders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller import elections
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.effects import PAUSE, Steps
from kraft.zookeeper.controller.partitions import elect
from kraft.zookeeper.operations import Delete
from kraft.zookeeper.znodes.admin import PREFERRED_REPLICA_ELECTION, TopicPartition, decode_preferred_election
from kraft.zookeeper.znodes.fields import MalformedZnode

_PREFERRED, _UNCLEAN = 0, 1


def preferred_election(active: ActiveController) -> Steps[None]:
    """Do what a tool of that era wrote to /admin/preferred_replica_election, and delete the znode."""
    (node,) = yield from active.read((PREFERRED_REPLICA_ELECTION,), watch=True)
    if node is None:
        return
    try:
        partitions: Iterable[TopicPartition] = decode_preferred_election(node.data)
    except MalformedZnode as error:
        active.note(f"{error}; it is deleted")
        partitions = ()
    yield from elect(active, [each for each in partitions if _is_elsewhere(active, each)], elections.preferred)
    yield from active.write([Delete(PREFERRED_REPLICA_ELECTION)])


def rebalance(active: ActiveController) -> Steps[None]:
    """Elect preferred leaders for each broker that lacks more than leader.imbalance.per.broker.percentage of them."""
    preferred: Counter[int] = Counter()
    elsewhere_of: dict[int, list[TopicPartition]] = {}
    for partition, assignment in active.cluster.partitions():
        if assignment.replicas and partition[0] not in active.cluster.deletions:
            first = assignment.replicas[0]
            preferred[first] += 1
            if _is_elsewhere(active, partition):
                elsewhere_of.setdefault(first, []).append(partition)
        if active.spent():
            yield PAUSE
    for first, elsewhere in elsewhere_of.items():
        if len(elsewhere) * 100 > preferred[first] * active.config.leader_imbalance_percentage:
            yield from elect(active, elsewhere, elections.preferred)


def elect_leaders(active: ActiveController, request: ElectLeadersRequest, version: int) -> Steps[ElectLeadersResponse]:
    """KIP-183 and KIP-460: preferred leaders, or unclean ones where no in-sync replica is online.

    For all partitions, the response has only those that needed an election.
    """
    cluster, for_all = active.cluster, request.topic_partitions is None
    named = list(cluster.states) if for_all else _named(request)
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        response = elected_response(dict.fromkeys(named, ErrorCode.INVALID_REQUEST))
        response.error_code = ErrorCode.INVALID_REQUEST
        return response
    codes: dict[TopicPartition, ErrorCode] = {}
    wanted = []
    for partition in dict.fromkeys(named):
        codes[partition] = _electable(active, partition, request.election_type)
        if codes[partition] is ErrorCode.NONE:
            wanted.append(partition)
        if active.spent():
            yield PAUSE
    is_preferred = request.election_type == _PREFERRED
    choose = elections.preferred if is_preferred else elections.offline({topic for topic, _ in wanted})
    changed = yield from elect(active, wanted, choose)
    failed = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if is_preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    codes |= {partition: failed for partition in wanted if partition not in changed}
    if for_all:
        codes = {partition: code for partition, code in codes.items() if code is not ErrorCode.ELECTION_NOT_NEEDED}
    return elected_response(codes)


def election_error(request: ElectLeadersRequest, version: int, code: ErrorCode) -> ElectLeadersResponse:
    """Each partition has the error, as in Kafka. For all partitions, which this broker does not know, the response has.

    The handler of the request replaces that: version 0 has no error of the whole response.
    """
    if request.topic_partitions is None:
        return ElectLeadersResponse(error_code=code)
    return elected_response(dict.fromkeys(_named(request), code))


def _named(request: ElectLeadersRequest) -> list[TopicPartition]:
    return [(topic.topic, index) for topic in request.topic_partitions or () for index in topic.partitions]


def _electable(active: ActiveController, partition: TopicPartition, election_type: int) -> ErrorCode:
    cluster = active.cluster
    if cluster.assignment(partition) is None or partition not in cluster.states:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition[0] in cluster.deletions:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    needed = _is_elsewhere if election_type == _PREFERRED else _is_leaderless
    return ErrorCode.NONE if needed(active, partition) else ErrorCode.ELECTION_NOT_NEEDED


def elected_response(codes: dict[TopicPartition, ErrorCode]) -> ElectLeadersResponse:
    topics: dict[str, ReplicaElectionResult] = {}
    for (topic, index), code in codes.items():
        result = topics.setdefault(topic, ReplicaElectionResult(topic=topic))
        message = None if code is ErrorCode.NONE else code.message
        result.partition_result.append(PartitionResult(partition_id=index, error_code=code, error_message=message))
    return ElectLeadersResponse(error_code=ErrorCode.NONE, replica_election_results=list(topics.values()))


def _is_elsewhere(active: ActiveController, partition: TopicPartition) -> bool:
    assignment, state = active.cluster.assignment(partition), active.cluster.states.get(partition)
    if assignment is None or state is None or partition[0] in active.cluster.deletions:
        return False
    if not assignment.replicas:
        return False  # A topic znode may have a partition without replicas.
    return state.leader != assignment.replicas[0]


def _is_leaderless(active: ActiveController, partition: TopicPartition) -> bool:
    return not active.cluster.is_online(active.cluster.states[partition].leader, partition)
