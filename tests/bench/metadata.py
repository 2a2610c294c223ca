"""The metadata of large clusters: replayed, kept, written as a snapshot, loaded, changed. No node is started.

Apache Kafka's own classes do the same with the same snapshot, in a JVM of their own.
"""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

from kraft.controller.context import ControllerConfig
from kraft.controller.core import ControllerCore, ControllerRequest, DeadlineReached, Event
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.delta import Delta, replay
from kraft.metadata.frame import decode_record, encode_record
from kraft.metadata.image import Image
from kraft.metadata.levels import record_version
from kraft.metadata.loader import Loader
from kraft.quorum.snapshots import MetadataSnapshots
from tests.bench.figures import Section, Table
from tests.bench.peers import APACHE, KRAFT
from tests.support.fetchers import APACHE_KAFKA, apache_kafka, require

PARTITIONS = (10_000, 100_000, 1_000_000)
PARTITIONS_PER_TOPIC = 1000
REPLICAS = 3
BROKERS = 10
EPOCH = 1
CHANGES = 1000
SESSION_S = 9.0
PROGRAM = Path(__file__).parent / "java" / "Images.java"
JAVA = ("-Xmx4G", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")
LIMIT_S = 900


def measure(names: Sequence[str], rounds: int) -> Section:
    """Clusters whose partitions are as they were made, and clusters in which every partition has a past of its own."""
    tables = []
    for title, aged in (("New partitions", False), ("Partitions with a past: other leaders, ISRs and epochs", True)):
        subjects = [KRAFT, APACHE] if APACHE in names else [KRAFT]
        table = Table(f"{title}; {BROKERS} brokers, {REPLICAS} replicas", subjects, base=APACHE)
        for count in PARTITIONS:
            print(f"  {count} partitions", file=sys.stderr, flush=True)
            _images(table, count, aged, rounds, APACHE in names)
        tables.append(table)
    changes = Table("What one change costs the active controller", [f"{count:,} partitions" for count in PARTITIONS])
    for count in PARTITIONS:
        _changes(changes, f"{count:,} partitions", count, rounds)
    return Section("metadata", [*tables, changes])


def cluster(partitions: int, *, aged: bool) -> Iterator[Any]:
    """The records of a cluster, the same in every run."""
    chance = random.Random(partitions)
    directories = [UUID(int=chance.getrandbits(128)) for _ in range(BROKERS)]
    yield FeatureLevelRecord(name="metadata.version", feature_level=21)
    for broker_id, directory in enumerate(directories):
        yield RegisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_id, fenced=False, log_dirs=[directory])
    for number in range(partitions // PARTITIONS_PER_TOPIC):
        topic_id = UUID(int=chance.getrandbits(128))
        yield TopicRecord(name=f"topic-{number}", topic_id=topic_id)
        for index in range(PARTITIONS_PER_TOPIC):
            replicas = chance.sample(range(BROKERS), REPLICAS)
            yield PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=replicas,
                isr=chance.sample(replicas, REPLICAS) if aged else replicas,
                leader=chance.choice(replicas) if aged else replicas[0],
                leader_epoch=chance.randrange(50) if aged else 0,
                partition_epoch=chance.randrange(500) if aged else 0,
                directories=[directories[replica] for replica in replicas],
            )


def image_of(frames: Sequence[bytes]) -> Image:
    delta = Delta(Image())
    for frame in frames:
        delta.replay(decode_record(frame))
    return delta.finish(len(frames) - 1, EPOCH, 0)[0]


def _images(table: Table, count: int, aged: bool, rounds: int, with_apache: bool) -> None:
    def add(subject: str, label: str, unit: str, value: float) -> None:
        table.row(f"{count:,} partitions: {label}", unit).add(subject, value)

    frames = [encode_record(record, record_version(record)) for record in cluster(count, aged=aged)]
    with tempfile.TemporaryDirectory(prefix="kraft-bench-") as directory:
        for _ in range(rounds):
            gc.collect()
            started = time.perf_counter()
            image = image_of(frames)
            add(KRAFT, "replay", "records/s", len(frames) / (time.perf_counter() - started))
            snapshots = MetadataSnapshots(directory)
            started = time.perf_counter()
            snapshot = snapshots.write(image)
            add(KRAFT, "snapshot written", "s", time.perf_counter() - started)
            del image
            gc.collect()
            started = time.perf_counter()
            snapshots.load(snapshot)
            add(KRAFT, "snapshot loaded", "s", time.perf_counter() - started)
            snapshot_file = Path(snapshots.path(snapshot))
            kept = snapshot_file.rename(snapshot_file.with_suffix(".kept"))
        add(KRAFT, "memory", "bytes/partition", _bytes_of_image(count, aged) / count)
        if with_apache:
            kept.rename(snapshot_file)
            for name, value in _apache(directory, snapshot.end_offset, rounds):
                label, unit, scale = _APACHE_ROWS[name]
                add(APACHE, label, unit, value / (count if scale else 1))


#: Output name of the program to: our label, the unit, and whether to divide the value by the partitions.
_APACHE_ROWS = {
    "replay": ("replay", "records/s", False),
    "write": ("snapshot written", "s", False),
    "load": ("snapshot loaded", "s", False),
    "bytes": ("memory", "bytes/partition", True),
}


def _apache(directory: str, end_offset: int, rounds: int) -> Iterator[tuple[str, float]]:
    class_path = f"{apache_kafka(APACHE_KAFKA)}/*"
    arguments = [directory, str(end_offset), str(EPOCH), str(rounds)]
    command = [require("java"), *JAVA, "-cp", class_path, str(PROGRAM), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    for line in done.stdout.splitlines():
        name, value = line.split()
        yield name, float(value)


def _bytes_of_image(count: int, aged: bool) -> int:
    """Return the memory of an image, in a process that had no other image to share objects with."""
    arguments = [str(count), str(int(aged))]
    command = [sys.executable, "-m", "tests.bench.metadata", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    return int(done.stdout)


def print_bytes_of_image(count: int, aged: bool) -> None:
    """Run the other process: it reports the memory that only the image still uses, and the intermediate values."""
    frames = [encode_record(record, record_version(record)) for record in cluster(count, aged=aged)]
    gc.collect()
    tracemalloc.start()
    image = image_of(frames)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    assert image.topics
    print(size)


def _changes(table: Table, subject: str, count: int, rounds: int) -> None:
    image, _ = replay(Image(), cluster(count, aged=False), count, EPOCH, 0)
    topic = image.topic("topic-0")
    assert topic is not None
    isr = topic.partitions[0].isr
    for _ in range(rounds):
        gc.collect()
        changed = image
        started = time.perf_counter()
        for number in range(CHANGES):
            record = PartitionChangeRecord(partition_id=0, topic_id=topic.id, isr=list(isr[: 2 + number % 2]))
            changed, _ = replay(changed, [record], count, EPOCH, 0)
        spent = time.perf_counter() - started
        table.row("an ISR changes: the next image", "µs").add(subject, spent / CHANGES * 1e6)
        started = time.perf_counter()
        config = ControllerConfig("bench", broker_session_timeout_s=SESSION_S)
        core = ControllerCore(config, Loader(image), count + 1, UUID, random.Random(1), 0.0)
        table.row("takeover: a controller from an image", "ms").add(subject, (time.perf_counter() - started) * 1e3)
        decisions = _fence(core, count + 1)
        label = "a broker is fenced"
        table.row(f"{label}: each partition in whose ISR it was", "µs").add(
            subject, sum(spent for spent, _ in decisions) / sum(records for _, records in decisions) * 1e6
        )
        table.row(f"{label}: all of it", "s").add(subject, sum(spent for spent, _ in decisions))
        table.row(f"{label}: the longest of its decisions", "ms").add(subject, max(decisions)[0] * 1e3)


def _fence(core: ControllerCore, offset: int) -> list[tuple[float, int]]:
    """Fence broker 0: how long each decision took with its replay, in seconds, and how many records it had."""
    wish = BrokerHeartbeatRequest(broker_id=0, broker_epoch=0, current_metadata_offset=offset, want_fence=True)
    event: Event = ControllerRequest(wish, 1)
    decisions = []
    while not core.image.brokers[0].fenced:
        started = time.perf_counter()
        records = core.step(0.0, event).records
        offset += len(records)
        core.replay(records, offset, EPOCH, 0)
        decisions.append((time.perf_counter() - started, len(records)))
        event = DeadlineReached()
    return decisions


if __name__ == "__main__":
    print_bytes_of_image(int(sys.argv[1]), bool(int(sys.argv[2])))
