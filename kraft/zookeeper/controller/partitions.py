"""First states of new partitions, and leaders for partitions without one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kraft.config.setting import ConfigError
from kraft.config.topic import TOPIC_CONFIGS
from kraft.zookeeper.controller.active import OPERATIONS_AT_ONCE, ActiveController, chunks, shown, znode_of
from kraft.zookeeper.controller.effects import PAUSE, ReadRefused, Steps
from kraft.zookeeper.controller.elections import Choice, offline
from kraft.zookeeper.operations import Create, Failure, Get, Result, Write, ZnodeChanged
from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.cluster import BROKER_ENTITIES, DEFAULT_ENTITY, TOPIC_ENTITIES, config_path, decode_config
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.topics import (
    NO_LEADER,
    PartitionState,
    encode_state,
    partition_path,
    partitions_path,
    state_path,
)

_UNCLEAN = "unclean.leader.election.enable"


def bring_online(active: ActiveController, topics: Iterable[str] | None = None) -> Steps[None]:
    """Give each new partition its first state, and each partition without a leader one, if a replica can lead.

    They are those of ``topics``, or of all topics.
    """
    cluster = active.cluster
    waiting = yield from active.partitions(
        lambda partition, _: partition[0] not in cluster.deletions and not cluster.is_led(partition),
        None if topics is None else set(topics),
    )
    yield from _create_states(active, [each for each in waiting if each not in cluster.states])
    leaderless = [each for each in waiting if each in cluster.states and not cluster.is_led(each)]
    unclean = yield from _unclean_topics(active, leaderless)
    yield from elect(active, leaderless, offline(unclean))


def elect(
    active: ActiveController, partitions: Iterable[TopicPartition], choose: Choice, excluded: Collection[int] = ()
) -> Steps[dict[TopicPartition, PartitionState]]:
    """Elect leaders, and send the changed states to all replicas but the excluded ones.

    Brokers learn of the first elections while the others are decided.
    """
    elected: dict[TopicPartition, PartitionState] = {}
    for chunk in chunks(list(partitions), OPERATIONS_AT_ONCE):
        elected.update((yield from _elect(active, chunk, choose, excluded)))
    return elected


def _elect(
    active: ActiveController, partitions: Sequence[TopicPartition], choose: Choice, excluded: Collection[int]
) -> Steps[dict[TopicPartition, PartitionState]]:
    before = {each: active.cluster.states[each].isr for each in partitions if each in active.cluster.states}
    changed = yield from active.change(partitions, choose)
    for partition, state in changed.items():
        is_unclean = state.leader != NO_LEADER and state.leader not in before[partition]
        active.effects.unclean_elections += is_unclean
        assignment = active.cluster.assignment(partition)
        assert assignment is not None
        brokers = [each for each in assignment.replicas if each not in excluded]
        yield from active.send_leader_and_isr(brokers, partition)
    return changed


def _create_states(active: ActiveController, partitions: Sequence[TopicPartition]) -> Steps[None]:
    """The first online replica leads, and all online replicas are in sync."""
    for chunk in chunks(partitions, OPERATIONS_AT_ONCE):
        yield from _create_some(active, chunk)


def _create_some(active: ActiveController, partitions: Sequence[TopicPartition]) -> Steps[None]:
    states = {
        partition: PartitionState(leader=online[0], leader_epoch=0, isr=online, controller_epoch=active.epoch)
        for partition in partitions
        if (online := active.cluster.online(partition))
    }
    topics = list(dict.fromkeys(topic for topic, _ in states))
    parents = yield from active.write([Create(partitions_path(topic)) for topic in topics])
    without = {topic for topic, result in zip(topics, parents, strict=True) if result is Failure.REFUSED}
    refused = [partition for partition in states if partition[0] in without]
    able = [partition for partition in states if partition[0] not in without]
    writes: list[Write | tuple[Write, ...]] = []
    for partition in able:
        state = Create(state_path(*partition), encode_state(states[partition]))
        writes.append((Create(partition_path(*partition)), state))
    results = yield from active.write(writes)
    existing = []
    for partition, result in zip(able, results, strict=True):
        if result is Failure.NODE_EXISTS:  # A controller that has died since created the znode, or both.
            existing.append(partition)
        elif result is Failure.REFUSED:
            refused.append(partition)
        elif isinstance(result, Failure):
            active.note(f"cannot create the state of {shown(partition)}: {result.value}")
        else:
            yield from _created(active, partition, states[partition])
    active.retry_refused(refused)
    if existing:
        yield from _complete_states(active, existing, states)


def _complete_states(
    active: ActiveController, partitions: Sequence[TopicPartition], states: dict[TopicPartition, PartitionState]
) -> Steps[None]:
    results = yield from active.write([Create(state_path(*each), encode_state(states[each])) for each in partitions])
    for partition, result in zip(partitions, results, strict=True):
        if not isinstance(result, Failure):
            yield from _created(active, partition, states[partition])
    active.retry_refused([each for each, result in zip(partitions, results, strict=True) if result is Failure.REFUSED])
    yield from active.read_states([each for each in partitions if each not in active.cluster.states])
    found = [each for each in partitions if each in active.cluster.states]
    yield from elect(active, found, offline(()))


def _created(active: ActiveController, partition: TopicPartition, state: PartitionState) -> Steps[None]:
    active.cluster.states[partition] = state
    yield from active.send_leader_and_isr(state.isr, partition, is_new=True)


def _unclean_topics(active: ActiveController, partitions: Iterable[TopicPartition]) -> Steps[set[str]]:
    """The topics that allow an unclean leader, of the partitions whose in-sync replicas are all offline."""
    needed = []
    for partition in partitions:
        isr = active.cluster.states[partition].isr
        if not any(each in isr for each in active.cluster.online(partition)):
            needed.append(partition[0])
        if active.spent():
            yield PAUSE
    return (yield from allowing_unclean(active, list(dict.fromkeys(needed)))) if needed else set()


def allowing_unclean(active: ActiveController, topics: Sequence[str]) -> Steps[set[str]]:
    """The topics that allow an unclean leader.

    Settings that ZooKeeper refuses to read allow none, as in KafkaZkClient.getLogConfigs. They are read again after a
    pause.
    """
    brokers = DEFAULT_ENTITY, str(active.config.broker_id)
    paths = [config_path(BROKER_ENTITIES, each) for each in brokers]
    paths += [config_path(TOPIC_ENTITIES, each) for each in topics]
    nodes: dict[str, Result] = {}
    for chunk in chunks(paths, OPERATIONS_AT_ONCE):
        nodes.update(zip(chunk, (yield tuple(map(Get, chunk))), strict=True))
    by_default = active.config.allows_unclean_elections
    for each in brokers:
        by_default = _allows_unclean(active, config_path(BROKER_ENTITIES, each), nodes, by_default)
    return {each for each in topics if _allows_unclean(active, config_path(TOPIC_ENTITIES, each), nodes, by_default)}


def _allows_unclean(active: ActiveController, path: str, nodes: Mapping[str, Result], default: bool) -> bool:
    try:
        node = znode_of(path, nodes[path])
        values = {} if node is None else decode_config(path, node.data)
        return bool(TOPIC_CONFIGS[_UNCLEAN].parse(values[_UNCLEAN])) if _UNCLEAN in values else default
    except (MalformedZnode, ConfigError, ReadRefused) as error:
        if isinstance(error, ReadRefused):
            active.effects.repeated.append(ZnodeChanged(path))
        active.note(f"{error}; no unclean leader is elected by it")
        return False
