"""Notifications by znodes: changed ISRs (of brokers older than 2.7), failed log directories."""

from __future__ import annotations

from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.leader_and_isr_response import LeaderAndIsrResponse
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller import elections
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.effects import PAUSE, Steps
from kraft.zookeeper.controller.partitions import bring_online, elect
from kraft.zookeeper.controller.reassignment import complete_reassignments
from kraft.zookeeper.operations import Delete
from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.notifications import (
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    decode_isr_change,
    decode_log_dir_event,
)


def isr_changes(active: ActiveController) -> Steps[None]:
    """Read the states that leaders wrote themselves, and send their metadata to every broker."""
    paths = [f"{ISR_CHANGES}/{name}" for name in (yield from active.children(ISR_CHANGES))]
    nodes = yield from active.read(paths)
    changed: dict[TopicPartition, None] = {}
    for path, node in zip(paths, nodes, strict=True):
        try:
            changed.update(dict.fromkeys(() if node is None else decode_isr_change(path, node.data)))
        except MalformedZnode as error:
            active.note(f"{error}; the notification is dropped")
    known = [each for each in changed if active.cluster.assignment(each) is not None]
    yield from active.read_states(known)
    if known:
        yield from active.send_metadata(active.queues, known)
    yield from complete_reassignments(active, known)
    yield from active.write([Delete(path) for path in paths])


def log_dir_events(active: ActiveController) -> Steps[None]:
    """Send a broker that lost a log directory all its states: its response says which replicas are offline."""
    paths = [f"{LOG_DIR_EVENTS}/{name}" for name in (yield from active.children(LOG_DIR_EVENTS))]
    nodes = yield from active.read(paths)
    for path, node in zip(paths, nodes, strict=True):
        try:
            broker_id = None if node is None else decode_log_dir_event(path, node.data)
        except MalformedZnode as error:
            active.note(f"{error}; the notification is dropped")
            continue
        if broker_id is None:
            continue
        for partition in (yield from active.hosted(broker_id)):
            # A broker that has deleted its replica of a topic in deletion would create it again.
            if partition in active.cluster.states and partition[0] not in active.cluster.deletions:
                yield from active.send_leader_and_isr((broker_id,), partition)
    yield from active.write([Delete(path) for path in paths])


def replicas_reported(
    active: ActiveController, broker_id: int, request: LeaderAndIsrRequest, response: LeaderAndIsrResponse
) -> Steps[None]:
    """Elect other leaders for the replicas whose log directory has failed (KIP-112)."""
    if response.error_code:
        active.note(f"broker {broker_id} refused a LeaderAndIsr: {ErrorCode(response.error_code).name}")
        return
    failed = set()
    for each in response.topics:
        for error in each.partition_errors:
            if error.error_code == ErrorCode.KAFKA_STORAGE_ERROR:
                failed.add((each.topic_id, error.partition_index))
            if active.spent():
                yield PAUSE
    offline = active.cluster.offline_replicas.setdefault(broker_id, set())
    before = set(offline)
    for topic in request.topic_states:
        for state in topic.partition_states:
            has_failed = (topic.topic_id, state.partition_index) in failed
            (offline.add if has_failed else offline.discard)((topic.topic_name, state.partition_index))
            if active.spent():
                yield PAUSE
    lost = sorted(offline - before)
    if lost:
        yield from bring_online(active)
        kept = [each for each in lost if each[0] not in active.cluster.deletions]
        yield from elect(active, kept, elections.without(broker_id))
        yield from active.send_metadata(active.queues, lost)
