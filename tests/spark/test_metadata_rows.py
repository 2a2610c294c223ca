"""Rows equal the records: the JSON of dump-log, the fields of the messages, and the bytes of what cannot be decoded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.leader_change_message import LeaderChangeMessage, Voter
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.plain import to_plain
from kraft.messages.registry import record_classes
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.frame import encode_record
from kraft.metadata.plain import type_name
from kraft.records.batch import parse_header
from kraft.records.control import ControlType, control_record
from kraft.records.record import Record, encode_batch, read_records
from kraft.spark.metadata_rows import MetadataRows, UndecodableRecord
from kraft.spark.metadata_schema import COLUMNS
from kraft.spark.segment_scan import DamagedBytes
from kraft.wire.codec import encode
from kraft.wire.schema import Message
from kraft.wire.uuids import uuid_to_text
from kraft.wire.varint import uvarint
from tests.messages.strategies import messages, versions

EPOCH = 4
TIME_MS = 1_700_000_000_123
PAIRS = [(cls, version) for cls in record_classes() for version in versions(cls)]

records = st.sampled_from(PAIRS).flatmap(lambda pair: st.tuples(messages(*pair), st.just(pair[1])))


def rows(
    values: Sequence[bytes | Record], *, quarantine: bool = False, control: bool = False, as_of: int | None = None
) -> list[dict[str, Any]]:
    """The rows of a batch that begins at offset 10."""
    batch = encode_batch(
        [each if isinstance(each, Record) else Record(10 + at, TIME_MS, None, each) for at, each in enumerate(values)],
        base_offset=10,
        leader_epoch=EPOCH,
        control=control,
    )
    header = parse_header(batch)
    collected = MetadataRows(quarantine=quarantine, as_of=as_of)
    collected.add(header, read_records(batch, 0, header, max_bytes=2**20))
    table = collected.take()
    table.validate(full=True)
    assert len(collected) == 0
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def plain(message: Message | None, version: int) -> Any:
    """A message as the struct that a row has of it."""
    if message is None:
        return None
    return {
        field.name: value(getattr(message, field.name), version) if field.is_present(version) else None
        for field in message.FIELDS
    }


def value(found: Any, version: int) -> Any:
    if isinstance(found, list):
        return [value(each, version) for each in found]
    if isinstance(found, Message):
        return plain(found, version)
    return uuid_to_text(found) if hasattr(found, "hex") and not isinstance(found, bytes | float) else found


@given(st.lists(records, min_size=1, max_size=12))
def test_rows_have_the_fields_of_their_records(made: list[tuple[Any, int]]) -> None:
    """Any records in any order: each row has one struct at most, the one of its type."""
    framed = [encode_record(message, version) for message, version in made]
    for row, (message, version) in zip(rows(framed), made, strict=True):
        name = type_name(type(message))
        assert (row["type"], row["apiKey"], row["version"]) == (name, message.API_KEY, version)
        assert json.loads(row["record"]) == {"type": name, "version": version, "data": to_plain(message, version)}
        expected = {name.lower(): plain(message, version)} if message.FIELDS else {}
        assert {column: row[column] for column in COLUMNS if row[column] is not None} == expected


def test_the_place_of_a_row() -> None:
    (row,) = rows([encode_record(NoOpRecord(), 0)])
    time = datetime.fromtimestamp(TIME_MS / 1000, UTC)
    assert (row["offset"], row["epoch"], row["timestamp"], row["origin"]) == (10, EPOCH, time, "log")
    assert row["record"] == '{"type":"NO_OP_RECORD","version":0,"data":{}}'
    (row,) = rows([encode_record(NoOpRecord(), 0)], as_of=99)
    assert (row["offset"], row["origin"]) == (99, "snapshot")


def test_a_field_that_the_version_lacks_is_null() -> None:
    """PartitionRecord v1 adds Directories; v0 has none, which is not the same as an empty list."""
    old, new = rows([encode_record(PartitionRecord(), version) for version in (0, 1)])
    assert (old["partition_record"]["directories"], new["partition_record"]["directories"]) == (None, [])


def test_control_records_are_rows_of_their_own_types() -> None:
    """KIP-595: LeaderChange; KIP-853: the quorum's other control records."""
    message = LeaderChangeMessage(version=0, leader_id=2, voters=[Voter(voter_id=1), Voter(voter_id=2)])
    record = control_record(ControlType.LEADER_CHANGE, encode(message, 0), offset=10, timestamp=TIME_MS)
    (row,) = rows([record], control=True)
    assert (row["type"], row["apiKey"], row["version"]) == ("LEADER_CHANGE", None, 0)
    assert row["leader_change"]["leader_id"] == 2
    assert [voter["voter_id"] for voter in row["leader_change"]["voters"]] == [1, 2]


GOOD = encode_record(TopicRecord(name="t"), 0)
UNDECODABLE = {
    "unknown type": (uvarint(1) + uvarint(999) + uvarint(0), None, 999, 0, "unknown type 999"),
    "later version": (uvarint(1) + uvarint(5) + uvarint(99) + b"?", None, 5, 99, "PartitionChangeRecord in version 99"),
    "later frame": (uvarint(2) + GOOD[1:], None, 2, 0, "frame version 2"),
    "cut": (GOOD[:-1], "TOPIC_RECORD", 2, 0, "TopicRecord"),
    "bytes behind": (GOOD + b"!", "TOPIC_RECORD", 2, 0, "1 bytes left over behind a TopicRecord"),
    "empty": (b"", None, None, None, "malformed"),
}


@pytest.mark.parametrize("case", UNDECODABLE)
def test_a_record_that_cannot_be_decoded_fails_or_is_a_row_with_its_bytes(case: str) -> None:
    data, name, api_key, version, says = UNDECODABLE[case]
    with pytest.raises(UndecodableRecord, match=f"the record at offset 11 cannot be decoded: .*{says}"):
        rows([GOOD, data, GOOD])
    before, bad, after = rows([GOOD, data, GOOD], quarantine=True)
    assert (
        before["topic_record"]
        == after["topic_record"]
        == {"name": "t", "topic_id": uuid_to_text(TopicRecord().topic_id)}
    )
    assert (bad["offset"], bad["type"], bad["apiKey"], bad["version"]) == (11, name, api_key, version)
    assert (bad["bytes"], bad["record"]) == (data, None)
    assert says in bad["error"]
    assert before["error"] is before["bytes"] is None


def test_a_control_record_of_a_later_kafka_is_undecodable() -> None:
    record = Record(10, TIME_MS, b"\0\0\0\x63", b"")
    with pytest.raises(UndecodableRecord, match="control record of unknown type, key 00000063"):
        rows([record], control=True)
    (row,) = rows([record], control=True, quarantine=True)
    assert row["bytes"] == b""


def test_a_time_that_spark_cannot_hold_is_undecodable() -> None:
    """Spark's timestamps are microseconds in 64 bits."""
    record = Record(10, 2**62, None, GOOD)
    with pytest.raises(UndecodableRecord, match="timestamp"):
        rows([record])
    (row,) = rows([record], quarantine=True)
    assert (row["timestamp"], row["bytes"]) == (None, GOOD)


def test_damage_is_a_row() -> None:
    collected = MetadataRows(quarantine=True)
    collected.add_damage(DamagedBytes("0.log", 61, 3, 7, "checksum", b"???"))
    (row,) = collected.take().to_pylist()
    assert (row["offset"], row["bytes"], row["type"]) == (7, b"???", None)
    assert row["error"] == "0.log: damaged at position 61 (3 bytes): checksum"


def test_nullable_lists_stay_null() -> None:
    """PartitionChangeRecord: null replicas mean no change, an empty list would mean none."""
    changes = [PartitionChangeRecord(isr=None), PartitionChangeRecord(isr=[]), PartitionChangeRecord(isr=[1])]
    found = rows([encode_record(change, 0) for change in changes])
    assert [row["partition_change_record"]["isr"] for row in found] == [None, [], [1]]
