"""Features of a newer Kafka that a start, or a follower, refuses: dynamic voters (KIP-853), unknown levels of
metadata.version (KIP-778). The message never calls them damage, and the node writes nothing.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
import trio

from kraft.messages import fetch_response as fetched
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.kraft_version_record import KRaftVersionRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.voters_record import VotersRecord
from kraft.metadata.frame import encode_record
from kraft.metadata.steps import finished
from kraft.quorum import support
from kraft.quorum.log import MetadataLog
from kraft.quorum.support import require_static_voters, require_supported_file
from kraft.raft.messages import SnapshotId
from kraft.records.batch import CHECKED_POSITION, CorruptBatch
from kraft.records.control import ControlType, control_record
from kraft.records.record import Record, encode_batch
from kraft.simulation import virtual_time
from kraft.storage.errors import UnsupportedFormat
from kraft.storage.snapshot import snapshot_batches, snapshot_name
from kraft.wire.codec import encode
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.support.metadata_logs import fill, open_log, topic
from tests.support.scripted_leader import EPOCH, Leader, answer, follower_of, opening, piece, topics

LEVEL_31 = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=31), 0)
LEVEL_21 = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=21), 0)
UNKNOWN_TYPE = b"\x01\x7f\x00\x00"
CHECKSUM_POSITION = CHECKED_POSITION - 4


def kraft_version(level: int) -> tuple[ControlType, bytes]:
    return ControlType.KRAFT_VERSION, encode(KRaftVersionRecord(kraft_version=level), 0)


VOTERS = ControlType.KRAFT_VOTERS, encode(VotersRecord(), 0)


def control(offset: int, *said: tuple[ControlType, bytes], epoch: int = 1) -> bytes:
    records = [control_record(*each, offset=at, timestamp=1000) for at, each in enumerate(said, offset)]
    return encode_batch(records, base_offset=offset, leader_epoch=epoch, control=True)


def data(offset: int, *values: bytes, epoch: int = 1) -> bytes:
    records = [Record(at, 1000, None, value) for at, value in enumerate(values, offset)]
    return encode_batch(records, base_offset=offset, leader_epoch=epoch)


def snapshot(values: list[bytes], *said: tuple[ControlType, bytes], epoch: int = EPOCH) -> bytes:
    """A snapshot of ``values``, or with the records ``said`` about the voters in their place."""
    batches = list(snapshot_batches(values or [b""] * len(said), epoch=epoch, timestamp=1000))
    if said:
        batches[1:-1] = [control(1, *said, epoch=epoch)]
    return b"".join(batches)


def written(parent: Path, *batches: bytes) -> Path:
    """A log with a batch of its own, then these; the path of its segment."""
    log = open_log(parent)
    fill(log, 1, 1)
    log.close()
    (segment,) = (parent / CLUSTER_METADATA_PARTITION).glob("*.log")
    with segment.open("ab") as file:
        file.write(b"".join(batches))
    return segment


def content(parent: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in parent.rglob("*") if path.is_file()}


def refusal(parent: Path) -> str:
    """Open the log; it must be refused with one line, and nothing may have changed."""
    before = content(parent)
    with pytest.raises(UnsupportedFormat) as refused:
        open_log(parent)
    line = str(refused.value)
    assert "\n" not in line
    assert "damaged" not in line
    assert "rejoin" not in line
    assert content(parent) == before
    return line


@pytest.mark.parametrize("said", [kraft_version(1), VOTERS], ids=["version", "voters"])
def test_a_log_with_dynamic_voters(tmp_path: Path, said: tuple[ControlType, bytes]) -> None:
    segment = written(tmp_path, data(2, LEVEL_21), control(3, said), data(4, LEVEL_21))
    line = refusal(tmp_path)
    assert line.startswith(f"{segment}: at offset 3: kraft.version 1 with dynamic voters (KIP-853) is not supported")
    assert "controller.quorum.voters" in line


def test_a_log_with_kraft_version_0(tmp_path: Path) -> None:
    written(tmp_path, control(2, kraft_version(0)), data(3, LEVEL_21))
    assert open_log(tmp_path).end_offset == 4


@pytest.mark.parametrize("end_offset", [0, 2])
def test_a_snapshot_with_dynamic_voters(tmp_path: Path, end_offset: int) -> None:
    """The one of an empty log is what ``format --standalone`` writes."""
    written(tmp_path)
    name = snapshot_name(SnapshotId(end_offset, min(end_offset, 1)))
    path = tmp_path / CLUSTER_METADATA_PARTITION / name
    path.write_bytes(snapshot([], kraft_version(1), VOTERS, epoch=min(end_offset, 1)))
    assert refusal(tmp_path).startswith(f"{path}: at offset 1: kraft.version 1")


@pytest.mark.parametrize(("oldest", "newest"), [(True, False), (False, True)], ids=["oldest", "newest"])
def test_one_of_two_snapshots_with_dynamic_voters(tmp_path: Path, oldest: bool, newest: bool) -> None:
    """The first may be the only one with voters: a newer snapshot of a Kafka before KIP-853 would have none."""
    written(tmp_path)
    paths = []
    for snapshot_id, dynamic in ((SnapshotId(0, 0), oldest), (SnapshotId(2, 1), newest)):
        paths.append(tmp_path / CLUSTER_METADATA_PARTITION / snapshot_name(snapshot_id))
        said = (kraft_version(1), VOTERS) if dynamic else ()
        paths[-1].write_bytes(snapshot([] if dynamic else [LEVEL_21], *said, epoch=snapshot_id.epoch))
    assert refusal(tmp_path).startswith(f"{paths[0] if oldest else paths[1]}: at offset 1: kraft.version 1")


@pytest.mark.parametrize("in_snapshot", [False, True])
def test_a_level_of_a_newer_kafka(tmp_path: Path, in_snapshot: bool) -> None:
    path = written(tmp_path, *([] if in_snapshot else [data(2, UNKNOWN_TYPE, LEVEL_31)]))
    if in_snapshot:
        path = tmp_path / CLUSTER_METADATA_PARTITION / snapshot_name(SnapshotId(2, 1))
        path.write_bytes(snapshot([LEVEL_31], epoch=1))
    line = refusal(tmp_path)
    assert line.startswith(f"{path}: at offset ")
    assert "metadata.version 31 needs a newer kraft" in line
    assert "up to 30 (4.3-IV0)" in line


@pytest.mark.parametrize(
    "before",
    [[data(2, LEVEL_21)], [data(2, LEVEL_21), data(3, LEVEL_21)], [data(2, LEVEL_31[:-1])]],
    ids=["a level", "two levels", "damage"],
)
def test_a_level_behind_others(tmp_path: Path, before: list[bytes]) -> None:
    offset = 2 + len(before)
    segment = written(tmp_path, *before, data(offset, LEVEL_31))
    assert refusal(tmp_path).startswith(f"{segment}: at offset {offset}: metadata.version 31")


def test_a_level_after_an_invalid_record(tmp_path: Path) -> None:
    segment = written(tmp_path, data(2, LEVEL_31[:-1], LEVEL_31))
    assert refusal(tmp_path).startswith(f"{segment}: at offset 3: metadata.version 31")


def test_the_bytes_of_a_level_in_a_batch_of_the_other_kind_open_no_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Feature levels are data records (KIP-584), voters and their version control records (KIP-853). Replicas 8 and 5
    of a partition are the bytes of a control record's length and key.
    """
    partition = encode_record(PartitionRecord(replicas=[8, ControlType.KRAFT_VERSION, 8, ControlType.KRAFT_VOTERS]), 0)
    segment = written(tmp_path, data(2, partition), control(3, (ControlType.SNAPSHOT_HEADER, b"metadata.version")))
    monkeypatch.setattr(support, "read_records", lambda *_, **__: pytest.fail("a batch was opened"))
    require_supported_file(str(segment))


def test_a_level_where_a_snapshot_ends(tmp_path: Path) -> None:
    segment = written(tmp_path, data(2, LEVEL_31))
    (tmp_path / CLUSTER_METADATA_PARTITION / snapshot_name(SnapshotId(2, 1))).write_bytes(snapshot([LEVEL_21], epoch=1))
    assert refusal(tmp_path).startswith(f"{segment}: at offset 2: metadata.version 31")


def test_a_malformed_kraft_version_is_damage() -> None:
    record = control_record(ControlType.KRAFT_VERSION, b"\0", offset=3, timestamp=5)
    with pytest.raises(CorruptBatch, match=r"malformed kraft\.version"):
        require_static_voters(record, "here")


def test_a_level_that_a_snapshot_has_overtaken(tmp_path: Path) -> None:
    written(tmp_path, data(2, LEVEL_31))
    (tmp_path / CLUSTER_METADATA_PARTITION / snapshot_name(SnapshotId(3, 1))).write_bytes(snapshot([LEVEL_21], epoch=1))
    log = open_log(tmp_path)
    assert log.snapshot == SnapshotId(3, 1)


def test_damage_is_reported_as_damage(tmp_path: Path) -> None:
    """A level in a batch whose checksum does not fit is none."""
    batch = bytearray(data(2, LEVEL_31))
    batch[CHECKSUM_POSITION] ^= 1
    segment = written(tmp_path, bytes(batch), data(3, LEVEL_21))
    with pytest.raises(Exception, match="damaged") as refused:
        open_log(tmp_path)
    assert not isinstance(refused.value, UnsupportedFormat)
    assert str(segment) in str(refused.value)


def test_a_record_of_a_newer_kafka_is_no_damage(tmp_path: Path) -> None:
    written(tmp_path, data(2, UNKNOWN_TYPE))
    log = open_log(tmp_path)
    with pytest.raises(UnsupportedFormat, match=r"at offset 2: .*unknown type 127 needs a newer kraft") as refused:
        finished(log.batches(2, 3))
    assert "rejoin" not in str(refused.value)


# Records from a leader.


async def _stops(directory: Path, leader: Leader) -> None:
    with trio.fail_after(20):
        async with follower_of(leader, directory):
            await trio.sleep_forever()


def unsupported(directory: Path, leader: Leader) -> str:
    """Follow; it must end with one line, which is returned."""
    with pytest.RaisesGroup(UnsupportedFormat, allow_unwrapped=True, flatten_subgroups=True) as refused:
        virtual_time.run(_stops, directory, leader)
    error: BaseException = refused.value
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    return str(error)


def test_a_leader_that_makes_its_voters_dynamic(tmp_path: Path) -> None:
    """KIP-853: such a record counts from the moment that it is in the log, so it is not appended."""
    upgrade = control(2, kraft_version(1), VOTERS, epoch=EPOCH)
    line = unsupported(tmp_path, Leader([answer(), answer(opening() + topics(1)), answer(upgrade)]))
    assert "at offset 2: kraft.version 1" in line
    log = open_log(tmp_path)
    assert log.end_offset == 2
    assert finished(log.batches(1, 2))[0].records == (topic(1),)


@pytest.mark.parametrize(
    ("fetched_bytes", "says"),
    [
        (snapshot([], kraft_version(1), VOTERS), "kraft.version 1 with dynamic voters"),
        (snapshot([LEVEL_31]), "metadata.version 31 needs a newer kraft"),
        (snapshot([UNKNOWN_TYPE]), "unknown type 127 needs a newer kraft"),
    ],
    ids=["dynamic voters", "level", "type"],
)
def test_a_snapshot_of_a_leader(tmp_path: Path, fetched_bytes: bytes, says: str) -> None:
    offered = answer(snapshot_id=fetched.SnapshotId(10, EPOCH), high_watermark=10)
    assert says in unsupported(tmp_path, Leader([answer(), offered, piece(fetched_bytes, 10)]))
    assert list((tmp_path / CLUSTER_METADATA_PARTITION).glob("*.checkpoint*")) == []
    assert isinstance(open_log(tmp_path), MetadataLog)


def test_a_file_full_of_the_wanted_bytes_takes_little_memory(tmp_path: Path) -> None:
    """The name of the feature may stand in a file as often as it fits."""
    path = tmp_path / "00000000000000000000.log"
    count = 100_000
    path.write_bytes(data(0, LEVEL_21) + b"metadata.version" * count)
    require_supported_file(str(path))
    tracemalloc.start()
    try:
        require_supported_file(str(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < count
