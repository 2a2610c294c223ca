"""Brokers that register, leave, return or change their endpoints."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kraft.zookeeper.controller import elections
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.broker_queue import BrokerQueue
from kraft.zookeeper.controller.cluster import LiveBroker
from kraft.zookeeper.controller.deletion import forget_requests
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.controller.partitions import bring_online, elect
from kraft.zookeeper.znodes.brokers import BROKER_IDS, broker_path, decode_broker
from kraft.zookeeper.znodes.fields import MAX_DIGITS, MAX_INTEGER, MalformedZnode


def read_brokers(active: ActiveController) -> Steps[dict[int, LiveBroker]]:
    """Read all registrations. A malformed one is left out, with a note: its broker gets no request."""
    names = yield from active.children(BROKER_IDS)
    numbers = (int(each) for each in names if each.isdecimal() and len(each) <= MAX_DIGITS)
    ids = [each for each in numbers if each <= MAX_INTEGER]
    nodes = yield from active.read(map(broker_path, ids), watch=True)
    brokers = {}
    for broker_id, node in zip(ids, nodes, strict=True):
        if node is None:
            continue
        try:
            brokers[broker_id] = LiveBroker(decode_broker(broker_id, node.data), node.created_zxid)
        except MalformedZnode as error:
            active.note(f"{error}; broker {broker_id} is ignored until it registers again")
    return brokers


def brokers_changed(active: ActiveController) -> Steps[list[int]]:
    """Compare the registrations with those known, and act on each difference; return the brokers that started.

    A broker with a higher epoch was restarted: it first fails, and then starts.
    """
    registered = yield from read_brokers(active)
    known = active.cluster.brokers
    failed = [each for each in known if each not in registered or registered[each].epoch != known[each].epoch]
    started = [each for each in registered if each not in known or each in failed]
    updated = [each for each in registered if each in known and each not in failed and registered[each] != known[each]]
    for broker_id in updated:
        known[broker_id] = registered[broker_id]
    if updated:
        active.send_live_brokers(active.queues)
    if failed:
        yield from _failed(active, failed)
    if started:
        for broker_id in started:
            add_broker(active, broker_id, registered[broker_id])
        yield from _started(active, started)
    return started


def add_broker(active: ActiveController, broker_id: int, broker: LiveBroker) -> None:
    active.cluster.brokers[broker_id] = broker
    active.queues[broker_id] = BrokerQueue(broker.epoch)


def _started(active: ActiveController, started: Sequence[int]) -> Steps[None]:
    """Kafka's onBrokerStartup."""
    cluster = active.cluster
    active.send_live_brokers(active.queues)
    for broker_id in started:
        for partition in (yield from active.hosted(broker_id)):
            if partition in cluster.states and partition[0] not in cluster.deletions:
                yield from active.send_leader_and_isr((broker_id,), partition)
    yield from active.send_metadata(started, cluster.states)
    yield from bring_online(active)


def _failed(active: ActiveController, failed: Collection[int]) -> Steps[None]:
    """Kafka's onBrokerFailure: new leaders first, then smaller ISRs."""
    cluster = active.cluster
    for broker_id in failed:
        del cluster.brokers[broker_id]
        active.queues.pop(broker_id, None)
        cluster.shutting_down.discard(broker_id)
        cluster.offline_replicas.pop(broker_id, None)
    forget_requests(active, failed)
    yield from bring_online(active)
    for broker_id in failed:
        hosted = yield from active.hosted(broker_id)
        kept = [each for each in hosted if each[0] not in cluster.deletions]
        yield from elect(active, kept, elections.without(broker_id))
        yield from active.send_metadata(active.queues, hosted)
