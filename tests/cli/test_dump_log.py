"""``kraft dump-log``: on sound files, on damaged ones, and beside Apache Kafka's own tool on files that it wrote."""

from __future__ import annotations

import json
import os
import struct
import tempfile
import tracemalloc
from pathlib import Path
from uuid import UUID

import click
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from kraft.broker.producer_snapshot import encode_snapshot
from kraft.broker.producer_state import BatchMetadata, ProducerEntry
from kraft.cli import dump_batches
from kraft.cli.dump_batches import MAX_BATCH_BYTES
from kraft.cli.main import cli
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.kraft_version_record import KRaftVersionRecord
from kraft.messages.leader_change_message import LeaderChangeMessage, Voter
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.offset_commit_key import OffsetCommitKey
from kraft.messages.offset_commit_value import OffsetCommitValue
from kraft.messages.share_group_metadata_key import ShareGroupMetadataKey
from kraft.messages.share_group_metadata_value import ShareGroupMetadataValue
from kraft.messages.share_update_key import ShareUpdateKey
from kraft.messages.transaction_log_key import TransactionLogKey
from kraft.metadata.bootstrap import bootstrap_checkpoint
from kraft.metadata.frame import encode_record
from kraft.raft.messages import SnapshotId
from kraft.records.batch import CHECKED_POSITION, HEADER_SIZE, LOG_OVERHEAD, TimestampType, checksum
from kraft.records.compression import Compression
from kraft.records.control import ControlType, control_record
from kraft.records.record import Record, encode_batch
from kraft.storage.snapshot import snapshot_name, write_snapshot
from kraft.wire.codec import encode
from tests.cli.conftest import Directories
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.apache_tool import DUMP_LOG, apache_tool

LOG = "00000000000000000000.log"


def run(*arguments: object) -> Result:
    return CliRunner(catch_exceptions=False).invoke(cli, ["dump-log", *map(str, arguments)], standalone_mode=False)


def dumped(path: Path, *options: str) -> list[str]:
    """Return the output for a sound file, without the line with its name."""
    result = run("--files", path, *options)
    assert (result.return_value, result.stderr) == (0, "")
    first, *lines = result.stdout.splitlines()
    assert first == f"Dumping {path}"
    return lines


def complaint(path: Path, *options: str) -> tuple[list[str], str]:
    """Return the output for a damaged file, and the one line about the damage."""
    result = run("--files", path, *options)
    assert result.return_value == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return result.stdout.splitlines()[1:], line.removeprefix("Error: ")


def batch(base_offset: int, count: int = 2, **options: object) -> bytes:
    records = [
        Record(base_offset + n, 1000 + n, b"k%d" % n, b"v%d" % n, (("h", b"x"), ("g", None))) for n in range(count)
    ]
    return encode_batch(records, base_offset=base_offset, **options)  # type: ignore[arg-type]


def log(directory: Path, *batches: bytes) -> Path:
    path = directory / LOG
    path.write_bytes(b"".join(batches))
    return path


def control(offset: int, kind: ControlType, value: bytes) -> bytes:
    record = control_record(kind, value, offset=offset, timestamp=5)
    return encode_batch([record], base_offset=offset, control=True)


def metadata(offset: int, *values: bytes) -> bytes:
    records = [Record(offset + number, 5, None, value) for number, value in enumerate(values)]
    return encode_batch(records, base_offset=offset)


def test_batches(tmp_path: Path) -> None:
    path = log(tmp_path, batch(0), batch(2, timestamp_type=TimestampType.LOG_APPEND_TIME, compression=Compression.GZIP))
    heading, first, second = dumped(path)
    assert heading == "Log starting offset: 0"
    assert first == (
        "baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 "
        "partitionLeaderEpoch: 0 isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty "
        "position: 0 CreateTime: 1001 size: 97 magic: 2 compresscodec: none crc: 517156228 isvalid: true"
    )
    assert "position: 97 LogAppendTime: 1001" in second
    assert "compresscodec: gzip" in second


def test_records_with_and_without_their_data(tmp_path: Path) -> None:
    path = log(tmp_path, batch(0, producer_id=5, producer_epoch=1, base_sequence=2**31 - 1))
    line = "| offset: 1 CreateTime: 1001 keySize: 2 valueSize: 2 sequence: 0 headerKeys: [h,g]"
    assert dumped(path, "--deep-iteration")[-1] == line
    assert dumped(path, "--print-data-log")[-1] == f"{line} key: k1 payload: v1"
    assert dumped(path, "--print-data-log", "--skip-record-metadata")[-1] == "| key: k1 payload: v1"


def test_decoder_classes(tmp_path: Path) -> None:
    records = [Record(0, 5, (7).to_bytes(4, "big"), (-2).to_bytes(8, "big", signed=True)), Record(1, 5, b"k", None)]
    path = log(tmp_path, encode_batch(records))
    classes = ("--key-decoder-class", "org.apache.kafka.tools.api.IntegerDecoder", "--value-decoder-class")
    first, second = dumped(path, "--print-data-log", *classes, "LongDecoder")[-2:]
    assert first.endswith("headerKeys: [] key: 7 payload: -2")
    assert second.endswith("headerKeys: [] key: Error: 1 bytes are not a number of 4 bytes")
    assert dumped(path, "--print-data-log", *classes, "DefaultDecoder")[-2].endswith("payload: fffffffffffffffe")
    assert dumped(path, *classes, "LongDecoder")[-2] == first, "DumpLogSegments: a decoder class implies the printing"
    for printing in ("--print-data-log", "--deep-iteration", "--cluster-metadata-decoder"):
        with pytest.raises(Exception, match=r"Unknown decoder 'x\.FooDecoder'"):
            run("--files", path, printing, "--value-decoder-class", "x.FooDecoder")


def test_metadata_records_are_json(tmp_path: Path) -> None:
    feature = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=21), 0)
    path = log(tmp_path, metadata(0, feature, encode_record(NoOpRecord(), 0), b"\x01\x7f\x00", b""))
    payloads = [line.partition(" payload: ")[2] for line in dumped(path, "--cluster-metadata-decoder")[2:]]
    newer = "needs a newer kraft; this one knows metadata.version up to 30 (4.3-IV0)"
    assert payloads == [
        '{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":21}}',
        '{"type":"NO_OP_RECORD","version":0,"data":{}}',
        f"Error at 2, skipping. a metadata record of unknown type 127 {newer}",
        "Error at 3, skipping. malformed metadata record: the bytes end inside a variable-length integer",
    ]


def test_control_records(tmp_path: Path) -> None:
    change = LeaderChangeMessage(leader_id=1, voters=[Voter(voter_id=1)], granting_voters=[Voter(voter_id=1)])
    unknown = Record(3, 5, struct.pack(">hh", 0, 77), b"abc")
    path = log(
        tmp_path,
        control(0, ControlType.LEADER_CHANGE, encode(change, 0)),
        control(1, ControlType.KRAFT_VERSION, encode(KRaftVersionRecord(kraft_version=1), 0)),
        control(2, ControlType.ABORT, struct.pack(">hi", 0, 3)),
        encode_batch([unknown], base_offset=3, control=True),
    )
    told = [line.partition("headerKeys: [] ")[2] for line in dumped(path, "--deep-iteration") if line.startswith("|")]
    assert told == [
        'LeaderChange: {"version":0,"leaderId":1,"voters":[{"voterId":1}],"grantingVoters":[{"voterId":1}]}',
        'KRaftVersion {"version":0,"kRaftVersion":1}',
        "endTxnMarker: ABORT coordinatorEpoch: 3",
        "controlType: UNKNOWN(77)",
    ]


def test_records_of_share_groups(tmp_path: Path) -> None:
    """Apache Kafka 4.3: the group coordinator writes types 10 to 15, the share coordinator snapshots and updates."""
    key = struct.pack(">h", 11) + encode(ShareGroupMetadataKey(group_id="g"), 11)
    value = struct.pack(">h", 0) + encode(ShareGroupMetadataValue(epoch=4, metadata_hash=5), 0)
    update = struct.pack(">h", 1) + encode(ShareUpdateKey("g", UUID(int=1), 2), 0)
    path = log(tmp_path, encode_batch([Record(0, 5, key, value), Record(1, 5, update, None)]))

    def told(option: str) -> list[str]:
        return [line.partition("headerKeys: [] ")[2] for line in dumped(path, option)[2:]]

    group = 'key: {"type":"11","data":{"groupId":"g"}} payload: {"version":"0","data":{"epoch":4,"metadataHash":5}}'
    assert told("--offsets-decoder")[0] == group
    state = '{"type":"1","data":{"groupId":"g","topicId":"AAAAAAAAAAAAAAAAAAAAAQ","partition":2}}'
    assert told("--share-group-state-decoder") == [
        "key: Unknown record type 11 at offset 0, skipping.",
        f"key: {state} payload: <DELETE>",
    ]


def test_records_of_the_coordinators(tmp_path: Path) -> None:
    key = struct.pack(">h", 1) + encode(OffsetCommitKey(group="g", topic="t", partition=1), 1)
    value = struct.pack(">h", 3) + encode(OffsetCommitValue(offset=4), 3)
    transaction = struct.pack(">h", 0) + encode(TransactionLogKey(transactional_id="x"), 0)
    records = [
        Record(0, 5, key, value),
        Record(1, 5, key, None),
        Record(2, 5, transaction, None),
        Record(3, 5, None, b""),
    ]
    path = log(tmp_path, encode_batch(records))

    def told(option: str) -> list[str]:
        return [line.partition("headerKeys: [] ")[2] for line in dumped(path, option)[2:]]

    offset = 'key: {"type":"1","data":{"group":"g","topic":"t","partition":1}}'
    committed = '{"version":"3","data":{"offset":4,"leaderEpoch":-1,"metadata":"","commitTimestamp":0}}'
    assert told("--offsets-decoder")[:2] == [f"{offset} payload: {committed}", f"{offset} payload: <DELETE>"]
    assert told("--transaction-log-decoder") == [
        "key: Unknown record type 1 at offset 0, skipping.",
        "key: Unknown record type 1 at offset 1, skipping.",
        'key: {"type":"0","data":{"transactionalId":"x"}} payload: <DELETE>',
        "key: Error at offset 3, skipping. The record has no key.",
    ]


def test_a_snapshot_has_its_header_and_footer(tmp_path: Path) -> None:
    snapshot = SnapshotId(41, 2)
    write_snapshot(tmp_path, snapshot, [encode_record(NoOpRecord(), 0)], timestamp=7)
    lines = dumped(tmp_path / snapshot_name(snapshot), "--cluster-metadata-decoder")
    assert lines[0] == "Snapshot end offset: 41, epoch: 2"
    assert lines[2].endswith('SnapshotHeader {"version":0,"lastContainedLogTimestamp":7}')
    assert lines[-1].endswith('SnapshotFooter {"version":0}')
    bootstrap = tmp_path / "bootstrap.checkpoint"
    bootstrap.write_bytes(bootstrap_checkpoint(21))
    assert dumped(bootstrap)[0] == "KRaft bootstrap snapshot"


def test_max_bytes_ends_at_a_batch(tmp_path: Path) -> None:
    path = log(tmp_path, batch(0), batch(2), batch(4))
    size = len(batch(0))
    for max_bytes, batches in (
        (0, 0),
        (1, 0),
        (size - 1, 0),
        (size, 1),
        (2 * size - 1, 1),
        (2 * size, 2),
        (2**31 - 1, 3),
    ):
        assert len(dumped(path, "--max-bytes", str(max_bytes))) == 1 + batches


@pytest.mark.parametrize("left", [40, 90])
def test_a_batch_cut_off_after_the_limit_is_not_read(tmp_path: Path, left: int) -> None:
    path = log(tmp_path, batch(0), batch(2)[:left])
    assert len(dumped(path, "--max-bytes", str(path.stat().st_size - 1))) == 2
    assert "invalid bytes" in complaint(path, "--max-bytes", str(path.stat().st_size))[0][-1]


@pytest.mark.parametrize("max_bytes", ["-1", str(2**31), "x"])
def test_an_invalid_limit(tmp_path: Path, max_bytes: str) -> None:
    with pytest.raises(click.BadParameter):
        run("--files", log(tmp_path, batch(0)), "--max-bytes", max_bytes)


def test_files_are_separated_by_commas(tmp_path: Path) -> None:
    """As in Java's ``String.split``: commas at the end separate nothing."""
    path = log(tmp_path, batch(0))
    assert run("--files", f"{path},,").stdout == run("--files", path).stdout


@pytest.mark.parametrize(
    ("tail", "why"),
    [
        (batch(4)[:40], "invalid batch header at position 194: 40 bytes left, a batch header needs 61"),
        (batch(4)[:90], "invalid batch header at position 194: 90 bytes left of a batch of 97"),
        (b"\xff" * 100, "invalid batch header at position 194: unknown magic 255"),
        (bytes(100), "invalid batch header at position 194: message format 0 is not supported"),
    ],
)
def test_an_invalid_tail_is_damage(tmp_path: Path, tail: bytes, why: str) -> None:
    path = log(tmp_path, batch(0), batch(2), tail)
    lines, said = complaint(path, "--deep-iteration")
    assert lines[-1] == f"Found {len(tail)} invalid bytes at the end of {LOG}"
    assert sum(line.startswith("|") for line in lines) == 4
    assert said == f"{path}: {why}"


def test_a_damaged_batch_does_not_hide_the_others(tmp_path: Path) -> None:
    data = bytearray(batch(0) + batch(2) + batch(4))
    data[97 + 70] ^= 0xFF
    data[194 + 70] ^= 0xFF
    path = log(tmp_path, bytes(data))
    lines, said = complaint(path, "--deep-iteration")
    assert [line.rpartition(" ")[2] for line in lines if "isvalid" in line] == ["true", "false", "false"]
    assert said.startswith(f"{path}: damaged batch at position 97, offset 2: checksum ")
    assert said.endswith(" (and 1 more)")


def test_records_that_cannot_be_read_behind_a_checksum_that_is_right(tmp_path: Path) -> None:
    lying = bytearray(encode_batch([Record(0, 5, b"k", b"v")], last_offset=9))
    lying[57:61] = struct.pack(">i", 3)  # the count of its records
    lying[17:21] = struct.pack(">I", checksum(bytes(lying[CHECKED_POSITION:])))
    _, said = complaint(log(tmp_path, bytes(lying)), "--deep-iteration")
    assert "damaged batch at position 0, offset 0: " in said


def test_a_batch_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    """The length of a batch is the file's word; a sparse file of 300 MiB costs its author nothing."""
    head = bytearray(batch(2)[:HEADER_SIZE])
    head[8:12] = struct.pack(">i", 2 * MAX_BATCH_BYTES - LOG_OVERHEAD)
    path = log(tmp_path, batch(0), bytes(head))
    os.truncate(path, 3 * MAX_BATCH_BYTES)
    complaint(path)  # imports
    tracemalloc.start()
    try:
        lines, said = complaint(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MAX_BATCH_BYTES / 100
    assert sum("isvalid" in line for line in lines) == 1
    assert said == (
        f"{path}: invalid batch header at position 97: "
        f"a batch of {2 * MAX_BATCH_BYTES} bytes; no more than {MAX_BATCH_BYTES} are read"
    )


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
def test_a_decompression_bomb_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, codec: Compression) -> None:
    """Its checksum is right. The records of the batches around it are printed."""
    limit = 2**20
    monkeypatch.setattr(dump_batches, "MAX_BATCH_BYTES", limit)
    bomb = encode_batch([Record(2, 5, None, bytes(limit))], base_offset=2, compression=codec)
    assert len(bomb) < limit / 10
    path = log(tmp_path, batch(0), bomb, batch(3))
    lines, said = complaint(path, "--deep-iteration")
    assert [line.split()[2] for line in lines if line.startswith("|")] == ["0", "1", "3", "4"]
    assert said.startswith(f"{path}: damaged batch at position 97, offset 2: ")
    assert "larger than the limit of" in said or f"the limit is {limit} bytes" in said


def test_gaps_are_reported_and_descending_offsets_are_damage(tmp_path: Path) -> None:
    path = log(tmp_path, batch(0), batch(5))
    assert dumped(path, "--deep-iteration")[-2:] == [f"Non-consecutive offsets in {path}", "  1 is followed by 5"]
    assert "Non-consecutive" not in dumped(path)[-1]
    _, said = complaint(log(tmp_path, batch(5), batch(3)))
    assert said == f"{path}: damaged batch at position 97, offset 3: offset 6 is followed by 3"


def test_an_offset_index(tmp_path: Path) -> None:
    log(tmp_path, batch(0), batch(2), batch(4))
    path = tmp_path / "00000000000000000000.index"
    path.write_bytes(struct.pack(">iiii", 3, 97, 5, 194) + bytes(80))  # a live one ends with zeros
    assert dumped(path) == ["offset: 3 position: 97", "offset: 5 position: 194"]
    assert dumped(path, "--verify-index-only") == []
    assert dumped(path, "--index-sanity-check") == [f"{path} passed sanity check."]
    path.write_bytes(struct.pack(">iiii", 4, 97, 5, 195))
    lines, said = complaint(path)
    assert lines[2:] == [
        f"Mismatches in :{path}",
        "  Index offset: 4, log offset: 3",
        "  Index offset: 5, log offset: -1",
    ]
    assert said == f"{path}: 2 of 2 entries do not match the log; delete the index, it is rebuilt"
    path.write_bytes(struct.pack(">iiii", 5, 97, 4, 194))
    assert complaint(path, "--index-sanity-check")[1].endswith(
        "entries are not in ascending order; delete the index, it is rebuilt"
    )
    path.write_bytes(b"")
    assert dumped(path) == [f"{path} is empty."]


def test_a_time_index(tmp_path: Path) -> None:
    log(tmp_path, batch(0), batch(2))
    path = tmp_path / "00000000000000000000.timeindex"
    path.write_bytes(struct.pack(">qi", 1001, 3) + bytes(24))
    assert dumped(path) == ["timestamp: 1001 offset: 3"]
    path.write_bytes(struct.pack(">qi", 900, 1))
    lines, said = complaint(path)
    assert lines[1:] == [f"Found timestamp mismatch in :{path}", "  Index timestamp: 900, log timestamp: 1001"]
    assert said.startswith(f"{path}: 1 of 1 entries do not match the log")
    path.write_bytes(bytes(5))
    assert complaint(path)[1].startswith(f"{path}: 5 bytes are not a whole number of entries")


def test_an_index_without_its_log(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.index"
    path.write_bytes(struct.pack(">ii", 3, 97))
    lines, said = complaint(path)
    assert lines == ["offset: 3 position: 97"]
    assert said == f"{path}: {LOG} is missing, so the entries were not compared with it"


def test_producers(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000010.snapshot"
    entry = ProducerEntry(1, epoch=0, coordinator_epoch=2, last_timestamp_ms=9, transaction_first_offset=7)
    entry.batches.append(BatchMetadata(last_sequence=5, last_offset=8, offset_delta=2, timestamp_ms=9))
    path.write_bytes(encode_snapshot([entry]))
    (line,) = dumped(path)
    assert line == (
        "producerId: 1 producerEpoch: 0 coordinatorEpoch: 2 currentTxnFirstOffset: OptionalLong[7] lastTimestamp: 9 "
        "firstSequence: 3 lastSequence: 5 lastOffset: 8 offsetDelta: 2 timestamp: 9"
    )
    path.write_bytes(b"junk" * 5)
    assert complaint(path)[1] == f"{path}: version 27253, expected 1; delete it, it is rebuilt from the log"


def test_aborted_transactions(tmp_path: Path) -> None:
    path = tmp_path / "00000000000000000000.txnindex"
    path.write_bytes(struct.pack(">hqqqq", 0, 1, 8, 9, 10))
    assert dumped(path) == ["version: 0 producerId: 1 firstOffset: 8 lastOffset: 9 lastStableOffset: 10"]
    path.write_bytes(bytes(40))
    assert complaint(path)[1].startswith(f"{path}: 40 bytes are not a whole number of entries")


def test_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_text("0\n2\n1 0\n3 17\n")
    assert dumped(path) == ["epoch: 1 startOffset: 0", "epoch: 3 startOffset: 17"]
    path.write_text("0\n2\n1 0\n")
    assert complaint(path)[1].startswith(f"{path}: not a checkpoint file: 1 entries where line 2 says 2")
    path = tmp_path / "recovery-point-offset-checkpoint"
    path.write_text("0\n1\nt 0 17\n")
    assert dumped(path) == ["topic: t partition: 0 offset: 17"]


def test_files_that_are_no_such_thing(tmp_path: Path) -> None:
    (tmp_path / "foo.log").write_bytes(b"")
    (tmp_path / "1-2.checkpoint").write_bytes(b"")
    assert complaint(tmp_path / "foo.log")[1].endswith("its name is not an offset, such as 00000000000000000000.log")
    assert "its name is not a snapshot's" in complaint(tmp_path / "1-2.checkpoint")[1]
    assert complaint(tmp_path / LOG)[1] == f"{tmp_path / LOG}: No such file or directory"
    assert complaint(tmp_path / "nothing")[1] == f"{tmp_path / 'nothing'}: No such file or directory"
    assert complaint(tmp_path)[1] == f"{tmp_path}: Is a directory; name the files in it"
    unknown = tmp_path / "partition.metadata"
    unknown.touch()
    result = run("--files", unknown)
    assert (result.return_value, result.stdout) == (0, f"Dumping {unknown}\n")
    assert result.stderr == f"Ignoring unknown file {unknown}\n"


@pytest.mark.parametrize(
    "name", [LOG, "00000000000000000000.index", "leader-epoch-checkpoint", snapshot_name(SnapshotId(1, 1))]
)
def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    """The tool would wait for a writer forever."""
    os.mkfifo(tmp_path / name)
    assert complaint(tmp_path / name)[1] == f"{tmp_path / name}: not a regular file"


def test_every_file_is_printed_after_damage_of_another(tmp_path: Path) -> None:
    path = log(tmp_path, batch(0))
    result = run("--files", f"{tmp_path / '00000000000000000009.log'},{path}")
    assert result.return_value == 1
    assert "baseOffset: 0" in result.stdout


@given(st.data())
def test_no_damage_makes_it_stumble(data: st.DataObject) -> None:
    """For any bytes each error line begins with the file. An exception would fail this test."""
    feature = encode_record(FeatureLevelRecord(name="metadata.version", feature_level=21), 0)
    change = LeaderChangeMessage(leader_id=1, voters=[Voter(voter_id=1)])
    sound = metadata(0, feature, encode_record(NoOpRecord(), 0)) + batch(2, compression=Compression.GZIP)
    sound += control(4, ControlType.LEADER_CHANGE, encode(change, 0)) + batch(5)
    damaged = bytearray(sound)
    for _ in range(data.draw(st.integers(0, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        _repair_checksums(damaged)
    del damaged[data.draw(st.integers(0, len(damaged))) :]
    names = (LOG, "00000000000000000000.index", "00000000000000000000.timeindex", "00000000000000000000.txnindex")
    names += ("00000000000000000003.snapshot", "leader-epoch-checkpoint", "00000000000000000041-0000000001.checkpoint")
    with tempfile.TemporaryDirectory() as directory:
        paths = [Path(directory) / name for name in names]
        for path in paths:
            path.write_bytes(damaged)
        decoders = ("--cluster-metadata-decoder", "--offsets-decoder", "--transaction-log-decoder", "--print-data-log")
        result = run("--files", ",".join(map(str, paths)), data.draw(st.sampled_from(decoders)))
    assert result.exception is None
    assert all(line.startswith(f"Error: {directory}/") for line in result.stderr.splitlines())


def _repair_checksums(data: bytearray) -> None:
    """Let damage be found behind checksums that are right."""
    position = 0
    while position + HEADER_SIZE <= len(data):
        size = LOG_OVERHEAD + int.from_bytes(data[position + 8 : position + 12], "big", signed=True)
        if size < HEADER_SIZE or position + size > len(data):
            return
        crc = checksum(bytes(data[position + CHECKED_POSITION : position + size]))
        data[position + 17 : position + 21] = struct.pack(">I", crc)
        position += size


@pytest.mark.interop
@pytest.mark.parametrize(
    "options",
    [
        ("--cluster-metadata-decoder",),
        ("--cluster-metadata-decoder", "--skip-record-metadata"),
        ("--deep-iteration",),
        (),
    ],
    ids=lambda options: " ".join(options) or "batches",
)
def test_beside_apaches_tool_on_its_metadata(apache_directories: Directories, options: tuple[str, ...]) -> None:
    partition = apache_directories.live / "__cluster_metadata-0"
    newest = max(partition.glob("*.checkpoint"))
    files = [partition / LOG, newest, apache_directories.live / "bootstrap.checkpoint"]
    compare([*files, *indexes(partition)], *options)


@pytest.mark.interop
@pytest.mark.parametrize(
    ("topic", "option"),
    [
        ("orders", "--print-data-log"),
        ("__consumer_offsets", "--offsets-decoder"),
        ("__transaction_state", "--transaction-log-decoder"),
    ],
)
def test_beside_apaches_tool_on_its_topics(apache_directories: Directories, topic: str, option: str) -> None:
    files = []
    for partition in sorted(apache_directories.stopped.glob(f"{topic}-*")):
        files += [partition / LOG, *sorted(partition.glob("*.snapshot")), *sorted(partition.glob("*.txnindex"))]
        files += [path for path in indexes(partition) if path.stat().st_size]
    assert compare(files, option).count("\n| ") > 2


@pytest.mark.interop
@pytest.mark.parametrize("kind", [APACHE_3, APACHE_4], ids=lambda kind: kind.version)
def test_a_limit_beside_apaches_tool(tmp_path: Path, kind: Apache) -> None:
    """Nothing within the limit, one batch, one batch and a part of the next, which is cut off; and none at all."""
    tool = {APACHE_3: "kafka.tools.DumpLogSegments", APACHE_4: DUMP_LOG}[kind]
    path = log(tmp_path, batch(0), batch(2)[:80])
    for max_bytes in (0, 97, 97 + 70):
        arguments = ("--files", f"{path},", "--max-bytes", str(max_bytes), "--max-message-size", "1")
        assert run(*arguments).stdout == apache_tool(tool, *arguments, kind=kind)
    apache_tool(tool, "--files", str(path), "--max-bytes=-1", kind=kind, status=1)


def indexes(partition: Path) -> list[Path]:
    return [partition / "00000000000000000000.index", partition / "00000000000000000000.timeindex"]


def compare(files: list[Path], *options: str) -> str:
    arguments = ("--files", ",".join(map(str, files)), *options)
    theirs = apache_tool(DUMP_LOG, *arguments)
    ours = run(*arguments)
    assert ours.stderr == ""
    assert _plain(ours.stdout) == _plain(theirs)
    return theirs


def _plain(text: str) -> list[object]:
    """Return the lines. Parse JSON in them, because Java formats large fractions differently."""
    plain: list[object] = []
    for line in text.splitlines():
        head, payload, data = line.partition(" payload: {")
        plain.append((head, json.loads("{" + data)) if payload else line)
    return plain
