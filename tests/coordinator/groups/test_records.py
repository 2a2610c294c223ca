"""The records of ``__consumer_offsets``.

The message classes of Apache Kafka 3.9.2 and 4.3.1 printed the expected bytes. Both agree on all of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.coordinator.groups import records
from kraft.coordinator.groups.group import NO_TIMESTAMP, Group, GroupMember, GroupState
from kraft.coordinator.groups.records import CommittedOffset
from kraft.messages.group_metadata_key import GroupMetadataKey
from kraft.messages.offset_commit_key import OffsetCommitKey
from kraft.metadata.steps import finished
from kraft.wire.decode_error import DecodeError
from tests.coordinator.groups.desk import Desk

COMMITTED = CommittedOffset(42, 5, "m", 1000)
WITH_ID = CommittedOffset(42, 5, "m", 1000, topic_id=UUID(int=(1 << 64) + 2))
EXPIRING = CommittedOffset(42, -1, "m", 1000, 2000)
NO_EPOCH = CommittedOffset(42, -1, "m", 1000)
GROUP_1 = (
    "00010008636f6e73756d657200000007000572616e676500036d2d310000000100036d2d31000163"
    "000a2f3132372e302e302e310000ea60000027100000000201020000000103"
)
GROUP_2 = (
    "00020008636f6e73756d657200000007000572616e676500036d2d3100000000000003e80000000100036d2d31000163"
    "000a2f3132372e302e302e310000ea60000027100000000201020000000103"
)
GROUP_3 = (
    "00030008636f6e73756d657200000007000572616e676500036d2d3100000000000003e80000000100036d2d31000169000163"
    "000a2f3132372e302e302e310000ea60000027100000000201020000000103"
)
GROUP_4 = (
    "000409636f6e73756d6572000000070672616e6765046d2d3100000000000003e802046d2d31026902630b2f3132372e302e302e31"
    "0000ea600000271003010202030000"
)
EMPTY_GROUP = "0003000000000000ffffffff00000000000003e800000000"


def group() -> Group:
    made = Group("g", GroupState.STABLE, 1000, generation=7, protocol_name="range")
    member = GroupMember("m-1", "i", "c", "/127.0.0.1", 60.0, 10.0, "consumer", (("range", b"\1\2"),), b"\3")
    made.add(member)
    return made


def test_keys() -> None:
    assert records.offset_key("g", "t", 3).hex() == "000100016700017400000003"
    assert records.group_key("g").hex() == "0002000167"


@pytest.mark.parametrize("version", ["0000", "0001"])
def test_offset_keys_of_both_versions_are_read(version: str) -> None:
    key = records.decode_key(bytes.fromhex(version + "00016700017400000003"))
    assert key == OffsetCommitKey(group="g", topic="t", partition=3)


def test_a_group_key_is_read() -> None:
    assert records.decode_key(bytes.fromhex("0002000167")) == GroupMetadataKey(group="g")


@pytest.mark.parametrize("version", ["0003", "000b", "7fff", "ffff"])
def test_keys_of_another_kind_are_left_alone(version: str) -> None:
    """KIP-848 stores its own records in the same topic."""
    assert records.decode_key(bytes.fromhex(version + "0167")) is None


@pytest.mark.parametrize("key", ["", "00", "0001", "00010001", "0002ffff", "000200056768"])
def test_a_damaged_key_is_named_as_such(key: str) -> None:
    with pytest.raises(DecodeError):
        records.decode_key(bytes.fromhex(key))


def test_offsets_are_written_as_kafka_writes_them() -> None:
    """Version 4 with the id of the topic, version 3 without one. Only version 1 has a field for an expiry.

    The bytes with an id are those of the generated class of Kafka 4.3.1.
    """
    with_id = "0004000000000000002a00000005026d00000000000003e801001000000000000000010000000000000002"
    assert records.offset_value(WITH_ID).hex() == with_id
    assert records.offset_value(COMMITTED).hex() == "0003000000000000002a0000000500016d00000000000003e8"
    assert records.offset_value(EXPIRING).hex() == "0001000000000000002a00016d00000000000003e800000000000007d0"


@pytest.mark.parametrize(
    ("value", "committed"),
    [
        ("0000000000000000002a00016d00000000000003e8", NO_EPOCH),
        ("0001000000000000002a00016d00000000000003e800000000000007d0", EXPIRING),
        ("0002000000000000002a00016d00000000000003e8", NO_EPOCH),
        ("0003000000000000002a0000000500016d00000000000003e8", COMMITTED),
        ("0004000000000000002a00000005026d00000000000003e800", COMMITTED),
        ("0004000000000000002a00000005026d00000000000003e801001000000000000000010000000000000002", WITH_ID),
    ],
)
def test_offsets_of_every_version_are_read(value: str, committed: CommittedOffset) -> None:
    assert records.decode_offset(bytes.fromhex(value)) == committed


def test_groups_are_written_as_kafka_writes_them() -> None:
    assert finished(records.group_value(group())).hex() == GROUP_3
    assert finished(records.group_value(Group("g", state_since_ms=1000))).hex() == EMPTY_GROUP


@pytest.mark.parametrize(
    ("value", "instance", "since_ms"),
    [(GROUP_1, None, NO_TIMESTAMP), (GROUP_2, None, 1000), (GROUP_3, "i", 1000), (GROUP_4, "i", 1000)],
)
def test_groups_of_every_version_are_read(value: str, instance: str | None, since_ms: int) -> None:
    found = decoded_group(bytes.fromhex(value))
    assert (found.state, found.generation, found.leader, found.state_since_ms) == (
        GroupState.STABLE,
        7,
        "m-1",
        since_ms,
    )
    [member] = found.members.values()
    assert (member.group_instance_id, member.rebalance_timeout_s, member.session_timeout_s) == (
        instance,
        60.0,
        10.0,
    )
    assert (member.protocols, member.assignment) == ((("range", b"\1\2"),), b"\3")


def test_a_group_of_the_first_version_has_no_rebalance_timeout() -> None:
    """Before KIP-62 the session timeout was used instead."""
    value = "0000" + GROUP_1[4:].replace("0000ea60", "")
    [member] = decoded_group(bytes.fromhex(value)).members.values()
    assert member.rebalance_timeout_s == 10.0


def test_an_empty_group_is_read() -> None:
    found = decoded_group(bytes.fromhex(EMPTY_GROUP))
    assert (found.state, found.generation, found.protocol_type) == (GroupState.EMPTY, 0, None)
    assert (found.protocol_name, found.leader) == (None, None)


def decoded_group(value: bytes) -> Group:
    return finished(records.decode_group("g", value))


@given(st.sampled_from([records.decode_key, records.decode_offset, decoded_group]),
       st.integers(0, 5), st.binary(max_size=80))  # fmt: skip
def test_no_bytes_do_worse_than_a_decode_error(decode: Callable[[bytes], object], version: int, tail: bytes) -> None:
    with contextlib.suppress(DecodeError):
        decode(bytes([0, version]) + tail)


@given(st.integers(0, len(GROUP_3) // 2 - 1))
def test_a_truncated_group_is_never_half_read(length: int) -> None:
    with pytest.raises(DecodeError):
        decoded_group(bytes.fromhex(GROUP_3)[:length])


def test_a_desk_writes_what_it_reads() -> None:
    desk = Desk()
    desk.stable(2)
    written = desk.written[-1][1]
    assert written is not None
    assert finished(records.group_value(decoded_group(written))) == written
