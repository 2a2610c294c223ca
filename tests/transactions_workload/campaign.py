"""Three nodes, the processes of the workload, and one fault after the other; then the history of it all."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs
import confluent_kafka as ck
from confluent_kafka import admin as cka

from kraft.records.batch import iter_headers
from kraft.records.control import EndTransactionMarker
from kraft.records.record import read_records
from tests.support.cluster import BOTH, QUICK_FAILOVER, Cluster, Member, running_cluster
from tests.support.eventually import eventually
from tests.support.faults import Fault, blackout, cut_off, deaf, killed, mute, paused
from tests.support.node_process import RELEASE, Ours
from tests.support.writer import CLIENT
from tests.transactions_workload.checker import Anomaly, check
from tests.transactions_workload.history import History, Marker, Outcome, Seen, Transaction, Written
from tests.transactions_workload.worker import LIMIT_S, PARTITIONS, SOURCE, TOPIC, Worker, consumer, records

NODES = (1, 2, 3)
PROCESSES = 4
FAULT_S = (0.0, 6.0)
"""A fault lasts some of this: from a hiccup to longer than a broker's session."""
MORE = 4
"""Transactions that must end between two faults."""
FAULTS: tuple[Fault, ...] = (killed, paused, cut_off, deaf, mute, blackout)
_SETTINGS = {
    **QUICK_FAILOVER,
    "offsets_topic_replication_factor": "3",
    "offsets_topic_num_partitions": "3",
    "transaction_state_log_replication_factor": "3",
    "transaction_state_log_min_isr": "2",
    "transaction_state_log_num_partitions": "3",
    "transaction_abort_timed_out_transaction_cleanup_interval_ms": "1000",
}
_MAX_BATCH_BYTES = 2**20


@attrs.frozen
class Result:
    """The history of a run and its anomalies."""

    history: History
    anomalies: list[Anomaly]
    fenced: int
    stuck: int
    tracebacks: list[int]
    """The nodes that logged one."""

    def summary(self) -> str:
        ends = [each.outcome for each in self.history.transactions]
        counts = ", ".join(f"{ends.count(outcome)} {outcome.value}" for outcome in Outcome)
        reads = sum(len(each.reads) for each in self.history.transactions)
        return (
            f"{len(ends)} transactions: {counts}; {len(self.history.final)} values are visible; {reads} were read "
            f"meanwhile; {self.fenced} zombies were fenced; {self.stuck} producers were stuck"
        )


def faults(chance: random.Random, seconds: float) -> Iterator[Fault]:
    """Faults in an order of chance for a while, none left out before the others have come again."""
    deadline = time.monotonic() + seconds
    while True:
        for fault in chance.sample(FAULTS, len(FAULTS)):
            if time.monotonic() > deadline:
                return
            yield fault


def run(
    directory: Path,
    chance: random.Random,
    strikes: Iterable[Fault],
    *,
    longest_s: float = FAULT_S[1],
    release: str = RELEASE,
) -> Result:
    """Run the workload under these faults on nodes formatted with ``release``, and check what it saw.

    Raises:
        AssertionError: the cluster did not become whole, or no transaction ended, within LIMIT_S.
        ck.KafkaException: a client got an error that no fault explains.
    """
    with running_cluster(
        directory, {each: Member(Ours(release=release), BOTH) for each in NODES}, with_links=True, **_SETTINGS
    ) as cluster:
        admin = cka.AdminClient({"bootstrap.servers": cluster.bootstrap_servers, **CLIENT})
        _create_topics(admin)
        done = threading.Event()
        workers = [
            Worker(process, cluster.bootstrap_servers, random.Random(chance.random()), done)
            for process in range(1, PROCESSES + 1)
        ]
        for worker in workers:
            worker.start()
        try:
            _wait_for_more(workers)
            for fault in strikes:
                _strike(cluster, admin, workers, fault, chance.choice(NODES), chance.uniform(FAULT_S[0], longest_s))
        finally:
            done.set()
            for worker in workers:
                worker.join()
        history = _history(cluster, admin, workers)
        tracebacks = [node_id for node_id, node in cluster.nodes.items() if "Traceback" in "".join(node.output)]
        fenced, stuck = sum(worker.fenced for worker in workers), sum(worker.stuck for worker in workers)
        return Result(history, check(history), fenced, stuck, tracebacks)


def _create_topics(admin: cka.AdminClient) -> None:
    config = {"min.insync.replicas": "2"}
    made = [
        cka.NewTopic(TOPIC, PARTITIONS, len(NODES), config=config),
        cka.NewTopic(SOURCE, 1, len(NODES), config=config),
    ]
    for future in admin.create_topics(made).values():
        future.result(LIMIT_S)


def _strike(
    cluster: Cluster, admin: cka.AdminClient, workers: list[Worker], fault: Fault, victim: int, lasts_s: float
) -> None:
    struck = time.monotonic()
    with fault(cluster, victim):
        eventually(lambda: time.monotonic() >= struck + lasts_s, lasts_s + 1)
    eventually(lambda: _is_whole(admin), LIMIT_S)
    whole_s = time.monotonic() - struck
    count = _wait_for_more(workers)
    print(
        f"{fault.__name__} {victim} for {lasts_s:.1f} s: whole after {whole_s:.1f} s; {count} transactions", flush=True
    )


def _wait_for_more(workers: list[Worker]) -> int:
    target = sum(len(worker.transactions) for worker in workers) + MORE

    def are_there() -> bool:
        for worker in workers:
            if worker.failure is not None:
                raise worker.failure
        return sum(len(worker.transactions) for worker in workers) >= target

    eventually(are_there, LIMIT_S)
    return target


def _is_whole(admin: cka.AdminClient) -> bool:
    """All nodes are in sync in all partitions of the lists."""
    try:
        partitions = admin.list_topics(TOPIC, timeout=LIMIT_S).topics[TOPIC].partitions.values()
    except ck.KafkaException:
        return False
    return all(set(each.isrs) == set(NODES) for each in partitions)


def _history(cluster: Cluster, admin: cka.AdminClient, workers: list[Worker]) -> History:
    transactions = [each for worker in workers for each in worker.transactions]
    eventually(lambda: _is_whole(admin), LIMIT_S)
    _wait_for_markers(admin)
    eventually(lambda: all(len(_logs(cluster, partition)) == 1 for partition in range(PARTITIONS)), LIMIT_S)
    logs = {partition: _entries(*_logs(cluster, partition)) for partition in range(PARTITIONS)}
    offsets = {worker.process: _group_offset(cluster.bootstrap_servers, worker.group) for worker in workers}
    return History(transactions, logs, _final_reads(cluster.bootstrap_servers), offsets)


def _wait_for_markers(admin: cka.AdminClient) -> None:
    """Wait until no transaction is open, or the time is over: then the checker finds a hanging transaction."""
    latest = {ck.TopicPartition(TOPIC, partition): cka.OffsetSpec.latest() for partition in range(PARTITIONS)}

    def ends(isolation: ck.IsolationLevel) -> list[int]:
        found = admin.list_offsets(latest, isolation_level=isolation, request_timeout=LIMIT_S)
        return [future.result(LIMIT_S).offset for future in found.values()]

    deadline = time.monotonic() + LIMIT_S
    eventually(
        lambda: (
            time.monotonic() > deadline
            or ends(ck.IsolationLevel.READ_COMMITTED) == ends(ck.IsolationLevel.READ_UNCOMMITTED)
        ),
        2 * LIMIT_S,
    )


def _logs(cluster: Cluster, partition: int) -> set[bytes]:
    """The different logs that the replicas of a partition have."""
    directories = [node.log_directory / f"{TOPIC}-{partition}" for node in cluster.nodes.values()]
    return {b"".join(path.read_bytes() for path in sorted(each.glob("*.log"))) for each in directories}


def _entries(log: bytes) -> list[Written | Marker]:
    found: list[Written | Marker] = []
    for position, header in iter_headers(log):
        for record in read_records(log, position, header, max_bytes=_MAX_BATCH_BYTES):
            if not header.is_control:
                assert record.value is not None
                found.append(Written(record.offset, header.producer_id, bytes(record.value).decode()))
            elif (marker := EndTransactionMarker.from_record(record)) is not None:
                found.append(Marker(record.offset, header.producer_id, marker.committed))
    return found


def _final_reads(bootstrap_servers: str) -> list[Seen]:
    reader = consumer(bootstrap_servers, "last reader")
    found: list[Seen] = []
    ended: set[int] = set()

    def is_over() -> bool:
        found.extend(records(reader.consume(1000, 0.1), ended))
        return len(ended) == PARTITIONS

    eventually(is_over, LIMIT_S)
    reader.close()
    return found


def _group_offset(bootstrap_servers: str, group: str) -> int | None:
    reader = consumer(bootstrap_servers, group)
    (found,) = reader.committed([ck.TopicPartition(SOURCE, 0)], timeout=LIMIT_S)
    reader.close()
    return None if found.offset < 0 else found.offset


def longest(transactions: Iterable[Transaction]) -> float:
    """The seconds of the longest transaction that ended."""
    return max((each.ended_s - each.begun_s for each in transactions if each.ended_s is not None), default=0.0)
