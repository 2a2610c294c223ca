"""Leaders of partitions, moved under control.

A reassignment changes the preferred leader, and an election makes it lead. A kill makes the next replica lead.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import attrs
import kafka
from kafka.errors import PreferredLeaderNotAvailableError

from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.frame import decode_record
from kraft.records.batch import iter_headers
from kraft.records.record import read_records
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.interop.traffic import Traffic
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.node_process import Kind

LIMIT_S = 60.0
PREFERRED = 0
NO_LEADER = -1
KILL_EVERY = 5
"""Odd, so that kills alternate between the kinds of :class:`Crossings`."""

Partition = tuple[str, int]


def lead(
    cluster: Cluster, traffic: Traffic, wanted: Mapping[int, Sequence[Partition]], successors: Collection[int] = ()
) -> None:
    """Make each broker lead its partitions, which have a replica on every broker. If it dies, one of ``successors``
    leads next.
    """
    orders = {}
    for broker, partitions in wanted.items():
        order = sorted(cluster.brokers, key=lambda each: (each != broker, each not in successors))
        orders |= {kafka.TopicPartition(*each): order for each in partitions}
    with contextlib.closing(kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)) as admin:
        assert not any(admin.alter_partition_reassignments(orders).values())
        topics = {topic: [each[1] for each in orders if each[0] == topic] for topic, _ in orders}

        def is_elected() -> bool:
            with contextlib.suppress(PreferredLeaderNotAvailableError):  # a busy machine may fence a broker for a while
                admin.elect_leaders(PREFERRED, topics)
                return True
            return False

        eventually(is_elected, LIMIT_S)
    for broker, partitions in wanted.items():
        eventually(lambda broker=broker, partitions=partitions: leaders(traffic, partitions) == {broker}, LIMIT_S)


def leaders(traffic: Traffic, partitions: Iterable[Partition]) -> set[int]:
    """The leaders of partitions. One that the asked broker does not know yet has none."""
    found = (traffic.describe(topic).get(index) for topic, index in partitions)
    return {NO_LEADER if each is None else each.leader for each in found}


def replace_killed(cluster: Cluster, traffic: Traffic, victim: int, partitions: Iterable[Partition]) -> None:
    """Kill a broker, wait until others lead ``partitions``, and start it again."""
    cluster.nodes[victim].kill()
    eventually(lambda: leaders(traffic, partitions).isdisjoint({victim, NO_LEADER}), LIMIT_S)
    cluster.start(victim)


def wait_for_all_in_sync(cluster: Cluster, traffic: Traffic, partitions: Iterable[Partition]) -> None:
    everyone = set(cluster.brokers)
    eventually(lambda: all(traffic.describe(topic)[index].isr == everyone for topic, index in partitions), LIMIT_S)


def changes_of_kind(cluster: Cluster, partition: Partition) -> int:
    """How often the kind of a partition's leader changed, by the metadata log on the disk of a controller."""
    name, index = partition
    directory = cluster.nodes[cluster.voters[0]].log_directory / CLUSTER_METADATA_PARTITION
    data = b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
    topic_id, kinds = None, []
    for position, header in iter_headers(data):
        for stored in () if header.is_control else read_records(data, position, header, max_bytes=len(data)):
            record = decode_record(stored.value or b"")
            if isinstance(record, TopicRecord) and record.name == name:
                topic_id = record.topic_id
            elif (
                isinstance(record, (PartitionRecord, PartitionChangeRecord))
                and (record.topic_id, record.partition_id) == (topic_id, index)
                and record.leader >= 0
            ):
                kinds.append(cluster.members[record.leader].kind)
    return sum(before != after for before, after in itertools.pairwise(kinds))


@attrs.define
class Crossings:
    """Moves of a coordinator between brokers of two kinds. Only a move that changed the kind of its leader counts.

    The leader of ``coordinated`` is of one kind, and after an election that of ``others`` is of the other kind. The
    coordinator is the leader of the first partition of ``coordinated``. Every ``KILL_EVERY``-th move kills it.
    """

    cluster: Cluster
    traffic: Traffic
    coordinated: Sequence[Partition]
    others: Sequence[Partition]
    count: int = 0
    killed: list[Kind] = attrs.Factory(list)
    _moves: int = 0
    _turns: dict[Kind, Iterator[int]] = attrs.field(init=False)
    _coordinator: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        by_kind: dict[Kind, list[int]] = {}
        for broker in self.cluster.brokers:
            by_kind.setdefault(self._kind(broker), []).append(broker)
        self._turns = {kind: itertools.cycle(brokers) for kind, brokers in by_kind.items()}
        self._coordinator = self._leader()

    def _kind(self, broker: int) -> Kind:
        return self.cluster.members[broker].kind

    def _leader(self) -> int:
        [leader] = leaders(self.traffic, self.coordinated[:1])
        return leader

    def wait_for(self, count: int) -> Iterator[int]:
        """Number the moves until ``count`` of them crossed. The caller makes one move in each round.

        Raises:
            AssertionError: one move and a half for each crossing are not enough.
        """
        while self.count < count:
            assert self._moves < count * 3 // 2, f"{self.count} of {self._moves} moves changed the kind of the leader"
            yield self._moves

    def move(self) -> None:
        """Make a broker of the other kind the coordinator: by an election, or by the kill of this one."""
        before, self._moves = self._kind(self._coordinator), self._moves + 1
        if self._moves % KILL_EVERY == 0:
            everything = [*self.coordinated, *self.others]
            wait_for_all_in_sync(self.cluster, self.traffic, everything)  # only a replica in sync may lead next
            replace_killed(self.cluster, self.traffic, self._coordinator, everything)
            wait_for_all_in_sync(self.cluster, self.traffic, everything)
            self._coordinator = self._leader()
            self.killed.append(before)
        else:
            [after] = self._turns.keys() - {before}
            self._coordinator, other = next(self._turns[after]), next(self._turns[before])
            wanted = {self._coordinator: self.coordinated, other: self.others}
            lead(self.cluster, self.traffic, wanted, successors=[other])
        self.count += self._kind(self._coordinator) != before
