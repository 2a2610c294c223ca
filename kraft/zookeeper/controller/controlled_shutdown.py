"""ControlledShutdown: the leadership of a broker that is about to stop moves to in-sync replicas."""

from __future__ import annotations

from kraft.messages.controlled_shutdown_request import ControlledShutdownRequest
from kraft.messages.controlled_shutdown_response import ControlledShutdownResponse, RemainingPartition
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller import elections
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.controller.partitions import elect

_UNKNOWN_EPOCH = -1


def controlled_shutdown(
    active: ActiveController, request: ControlledShutdownRequest, version: int
) -> Steps[ControlledShutdownResponse]:
    """Move the leaderships, take the broker out of the ISRs, and return the partitions that it still leads.

    The broker asks again until none remains. Brokers older than KIP-380 send no epoch, which is accepted.
    """
    cluster, broker_id = active.cluster, request.broker_id
    broker = cluster.brokers.get(broker_id)
    if broker is None:
        return ControlledShutdownResponse(error_code=ErrorCode.BROKER_NOT_AVAILABLE)
    if request.broker_epoch != _UNKNOWN_EPOCH and request.broker_epoch < broker.epoch:
        return ControlledShutdownResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
    cluster.shutting_down.add(broker_id)
    hosted = [
        partition
        for partition in (yield from active.hosted(broker_id))
        if partition in cluster.states and partition[0] not in cluster.deletions and _has_other(active, partition)
    ]
    led = [each for each in hosted if cluster.states[each].leader == broker_id]
    followed = [each for each in hosted if cluster.states[each].leader != broker_id]
    yield from elect(active, led, elections.controlled_shutdown)
    yield from elect(active, followed, elections.without(broker_id), excluded=(broker_id,))
    for partition in followed:
        active.send_stop((broker_id,), partition, deletes=False)
    remaining = [each for each in hosted if cluster.states[each].leader == broker_id]
    return ControlledShutdownResponse(
        error_code=ErrorCode.NONE,
        remaining_partitions=[RemainingPartition(topic_name=name, partition_index=index) for name, index in remaining],
    )


def _has_other(active: ActiveController, partition: tuple[str, int]) -> bool:
    assignment = active.cluster.assignment(partition)
    return assignment is not None and len(assignment.replicas) > 1
