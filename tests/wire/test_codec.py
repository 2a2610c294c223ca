"""The codec for its callers: round trips, and refusals of malformed input."""

from __future__ import annotations

import ctypes
import io
import re
import struct
import tracemalloc
from collections.abc import Generator
from itertools import pairwise
from typing import TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.consumer_group_current_member_assignment_value import (
    ConsumerGroupCurrentMemberAssignmentValue,
    CurrentTopicPartitions,
)
from kraft.messages.consumer_group_member_metadata_value import (
    ClassicMemberMetadata,
    ConsumerGroupMemberMetadataValue,
)
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.messages.describe_topic_partitions_request import Cursor, DescribeTopicPartitionsRequest
from kraft.messages.envelope_request import EnvelopeRequest
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestTopic
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.request_header import RequestHeader
from kraft.messages.topic_record import TopicRecord
from kraft.wire.codec import decode, decode_in_steps, encode, encode_in_steps, encode_spliced
from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice
from kraft.wire.varint import uvarint
from tests.messages.strategies import messages, pairs
from tests.support.sweep import sweep


def decoded_in_steps(cls: type[Message], version: int, data: bytes, max_elements: int = 10_000) -> tuple[Message, int]:
    """``decode_in_steps`` until its end."""
    message, position, _ = in_full_steps(decode_in_steps(cls, version, data, max_elements=max_elements))[0]
    return message, position


T = TypeVar("T")


def in_full_steps(steps: Generator[int, None, T]) -> tuple[T, list[int]]:
    """Return the result of the steps, and the costs that they yield."""
    costs = []
    while True:
        try:
            costs.append(next(steps))
        except StopIteration as end:
            return end.value, costs


QUICK = settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.no_cover
@sweep(("cls", "version"), pairs())
@QUICK
@given(data=st.data())
def test_any_message_comes_back_and_bad_bytes_are_a_message_or_a_decode_error(
    cls: type[Message], version: int, data: st.DataObject
) -> None:
    """One drawn message serves both checks: most of the time goes into drawing."""
    message = data.draw(messages(cls, version))
    encoded = encode(message, version)
    assert_comes_back(message, version, encoded)
    for broken in (data.draw(damaged(encoded)), data.draw(st.binary(max_size=40))):
        assert_read_or_refused(cls, version, broken)


def assert_comes_back(message: Message, version: int, encoded: bytes) -> None:
    """From each kind of buffer, from any position, whatever follows."""
    cls = type(message)
    for kind in (bytes, bytearray, memoryview):
        assert decode(cls, version, kind(encoded)) == (message, len(encoded))
    assert decode(cls, version, b"\xff" * 3 + encoded + b"\xff", 3) == (message, len(encoded) + 3)
    assert decoded_in_steps(cls, version, encoded) == (message, len(encoded))
    out = bytearray(b"prefix")
    for _ in encode_in_steps(message, version, out, []):
        pass
    assert out == b"prefix" + encoded


@st.composite
def damaged(draw: st.DrawFn, encoded: bytes) -> bytes:
    """The bytes, truncated, some of them replaced."""
    broken = bytearray(encoded)
    for _ in range(draw(st.integers(0, 3))):
        if broken:
            broken[draw(st.integers(0, len(broken) - 1))] = draw(st.sampled_from(b"\x00\x01\x7f\x80\xff"))
    return bytes(broken[: draw(st.integers(0, len(broken)))])


def assert_read_or_refused(cls: type[Message], version: int, broken: bytes) -> None:
    """A decoded message is a message like any other."""
    try:
        message, position = decode(cls, version, broken)
    except DecodeError as error:
        with pytest.raises(DecodeError, match=re.escape(str(error))):
            decoded_in_steps(cls, version, broken)
        return
    assert decoded_in_steps(cls, version, broken) == (message, position)
    assert position <= len(broken)
    again = encode(message, version)
    assert encode(decode(cls, version, again)[0], version) == again


@sweep(("cls", "version"), pairs())
def test_bad_bytes_allocate_no_more_than_their_length_allows(cls: type[Message], version: int) -> None:
    """Counts and lengths have their maximum values; 60 bytes must not cost more than a few kilobytes."""
    patterns = [
        b"\x7f",
        b"\xff",
        b"\xff\xff\xff\xff\x07",
        b"\x7f\xff\xff\xff",
        b"\x00\x00\x00\x7f",
        b"\x01\x7f",
        b"\x00",
    ]
    buffers = [(pattern * 60)[:60] for pattern in patterns]
    _decode_all(cls, version, buffers)  # compiles the decoder and its row readers, which stay
    tracemalloc.start()
    try:
        _decode_all(cls, version, buffers)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40_000


def _decode_all(cls: type[Message], version: int, buffers: list[bytes]) -> None:
    for buffer in buffers:
        try:
            decode(cls, version, buffer)
        except DecodeError:
            continue


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "end before"),
        (b"\x01", "client_software_name is null|end before|null"),
        (b"\x00\x02a\x00", "client_software_name is null"),
        (b"\x09a\x02b\x00", "claims a length of 8"),
        (b"\x02\xff\x02b\x00", "utf-8"),
        (b"\x80\x80\x80\x80\x80\x01", "more than 32 bits"),
        (b"\xff\xff\xff\xff\x1f", "more than 32 bits"),
        (b"\xff\xff\xff\xff\x0f", "at most 32767"),
        (b"\x80\x80", "inside a variable-length integer"),
        (b"\x02a\x02b\x01\x05\x09a", "tag 5 claims"),
        (b"\x02a\x02b\x02\x05\x00\x05\x00", "tag 5 follows tag 5"),
        (b"\x02a\x02b\x02\x05\x00\x04\x00", "tag 4 follows tag 5"),
        (b"\x02a\x02b\x03\x05\x00", "inside a variable-length integer"),
    ],
)
def test_malformed_bytes_are_named(data: bytes, problem: str) -> None:
    with pytest.raises(DecodeError, match=problem):
        decode(ApiVersionsRequest, 3, data)


def test_unknown_tagged_fields_are_skipped() -> None:
    """KIP-482: a receiver ignores tags that it does not know."""
    message, position = decode(ApiVersionsRequest, 3, b"\x02a\x02b\x02\x05\x01x\x87\x01\x00rest")
    assert message == ApiVersionsRequest("a", "b")
    assert position == 11


def test_a_structure_has_a_bounded_number_of_tagged_fields() -> None:
    """KIP-482 numbers the tags of a structure from 0 on. Each of millions would cost a tagged field of two bytes."""
    tags = b"".join(uvarint(tag) + b"\0" for tag in range(1001))
    assert decode(ApiVersionsRequest, 3, b"\x02a\x02b" + uvarint(1000) + tags)[0] == ApiVersionsRequest("a", "b")
    with pytest.raises(DecodeError, match="1001 tagged fields; at most 1000 are allowed"):
        decode(ApiVersionsRequest, 3, b"\x02a\x02b" + uvarint(1001) + tags)
    with pytest.raises(DecodeError, match="1001 tagged fields; at most 1000 are allowed"):
        decode(FetchRequest, 12, encode(FetchRequest(), 12)[:-1] + uvarint(1001) + tags)


def steps_of(message: Message, version: int, max_elements: int = 10**6) -> tuple[int, list[int]]:
    """Return the elements of the message, and the costs of the steps in which it is decoded."""
    steps = decode_in_steps(type(message), version, encode(message, version), max_elements=max_elements)
    (_, _, elements), costs = in_full_steps(steps)
    return elements, costs


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (MetadataRequest(topics=[MetadataRequestTopic(name="")] * 5000), 4),
        (DeleteTopicsRequest(topic_names=["a"] * 5000), 5),
        (FetchRequest(topics=[FetchTopic("a", partitions=[FetchPartition(1)] * 5000)]), 11),
        (FetchRequest(topics=[FetchTopic("a", partitions=[FetchPartition(1)] * 5)] * 834), 11),
        (BrokerHeartbeatRequest(offline_log_dirs=[UUID(int=7)] * 5000), 1),
    ],
)
def test_a_large_message_is_decoded_in_short_steps(message: Message, version: int) -> None:
    """decode_in_steps: "in steps of about a millisecond. Yields the cost of each step but the last"."""
    elements, costs = steps_of(message, version)
    assert elements in (5000, 5001, 5004)
    assert costs in ([500] * 9, [500] * 10)


@pytest.mark.parametrize(
    ("message", "version", "steps"),
    [
        (FetchResponse(responses=[FetchableTopicResponse("t", partitions=[PartitionData()] * 4999)]), 12, 10),
        (FetchResponse(responses=[FetchableTopicResponse("t", partitions=[PartitionData()] * 9)] * 500), 12, 10),
        (DeleteTopicsRequest(topic_names=["a"] * 5000), 5, 10),
        (DeleteTopicsRequest(topic_names=["a"] * 499), 5, 0),
        (DeleteTopicsRequest(topic_names=["a" * 32_000] * 100), 5, 3),
    ],
)
def test_a_large_message_is_encoded_in_short_steps(message: Message, version: int, steps: int) -> None:
    """encode_in_steps: "in steps of about a millisecond", of 500 elements or 1 MiB each."""
    out = bytearray()
    assert len(list(encode_in_steps(message, version, out, []))) == steps
    assert out == encode(message, version)


def test_the_bytes_of_long_names_are_work_too() -> None:
    """1,000 names of 32,000 bytes took one step of 8 ms."""
    elements, costs = steps_of(DeleteTopicsRequest(topic_names=["a" * 32_000] * 1000), 5)
    assert (elements, costs) == (1000, [500] * 30)


def test_long_bytes_are_encoded_in_short_steps() -> None:
    """encode_in_steps: "in steps of about a millisecond". 50 MB in one field took one step of 30 ms."""
    message = EnvelopeRequest(request_data=bytes(5 << 20), request_principal=b"p", client_host_address=b"h")
    out = bytearray()
    lengths = [0, *(len(out) for _ in encode_in_steps(message, 0, out, []))]
    assert len(lengths) == 6
    assert max(after - before for before, after in pairwise(lengths)) < (1 << 20) + 10
    assert out == encode(message, 0)


@pytest.mark.parametrize(("size", "kind"), [(1 << 20, bytes), ((1 << 20) + 1, memoryview)])
def test_long_bytes_are_not_copied(size: int, kind: type) -> None:
    """decode_in_steps: "A ``bytes`` field of more than 1 MiB is a view of the buffer, like ``records``". The copy of 50
    MB took one step of 50 ms.
    """
    message = EnvelopeRequest(request_data=b"d" * size, request_principal=b"p", client_host_address=b"h")
    (decoded, _, _), _ = in_full_steps(decode_in_steps(EnvelopeRequest, 0, encode(message, 0), max_elements=0))
    assert decoded == message
    assert type(decoded.request_data) is kind
    assert type(decoded.request_principal) is bytes


def test_long_strings_are_hashed_step_by_step() -> None:
    """LONG_STRING_BYTES: a handler that looks for repeated names would hash 50 MB in a few steps."""
    request = DeleteTopicsRequest(topic_names=["s" * 1024, "l" * 1025])
    (decoded, _, _), _ = in_full_steps(decode_in_steps(DeleteTopicsRequest, 5, encode(request, 5), max_elements=2))
    assert [_has_hash(name) for name in decoded.topic_names] == [False, True]


def _has_hash(text: str) -> bool:
    """Whether CPython has computed the hash: the word behind the reference count, the type and the length."""
    return ctypes.c_ssize_t.from_address(id(text) + 3 * ctypes.sizeof(ctypes.c_ssize_t)).value != -1


def test_numbers_are_elements_too() -> None:
    """One call reads 5,000 numbers, so the length of their array is checked before. 100,000 took one step of 4 to 14
    ms.
    """
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("t", list(range(12_000)))])
    assert steps_of(request, 5) == (12_001, [500] * 3)
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("t", list(range(5000)))])
    assert steps_of(request, 5)[0] == 5001
    with pytest.raises(DecodeError, match="OffsetFetchRequest v5: more than 4999 elements"):
        steps_of(request, 5, 4999)


def test_tagged_fields_are_elements_too() -> None:
    """decode_in_steps: "in steps of about a millisecond". Without a count of tagged fields, 1,000 structures of 1,000
    empty ones each are one step of 0.4 s.
    """
    tags = uvarint(1000) + b"".join(uvarint(100 + tag) + b"\0" for tag in range(1000))
    topic = b"\x05name" + tags
    metadata = b"".join([uvarint(101), topic * 100, b"\0\0\0\0"])  # four bytes: three booleans, and no tags
    (_, _, elements), costs = in_full_steps(decode_in_steps(MetadataRequest, 9, metadata, max_elements=10**6))
    assert (elements, costs) == (100 * 1001, [500] * 100)
    with pytest.raises(DecodeError, match="MetadataRequest v9: more than 100000 elements"):
        list(decode_in_steps(MetadataRequest, 9, metadata, max_elements=100_000))
    partitions = b"".join([encode(FetchRequest(), 12)[:-1], tags])  # FetchRequest has tagged fields of its own
    (_, _, elements), _ = in_full_steps(decode_in_steps(FetchRequest, 12, partitions, max_elements=10**6))
    assert elements == 1000


def test_a_message_of_too_many_elements_is_refused() -> None:
    """An element of one byte becomes an object of a hundred."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name="")] * 5000)
    assert steps_of(request, 4, 5000)[0] == 5000
    with pytest.raises(DecodeError, match="MetadataRequest v4: more than 4999 elements"):
        steps_of(request, 4, 4999)


def test_a_tagged_value_must_have_the_size_it_claims() -> None:
    good = encode(FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[_leader(5)])]), 12)
    assert decode(FetchResponse, 12, good)[0].responses[0].partitions[0].current_leader.leader_id == 5
    head = good.index(b"\x01\x01\x09")  # one field: tag 1, nine bytes
    with pytest.raises(DecodeError, match="tag 1 is not of the size"):
        decode(FetchResponse, 12, good[: head + 2] + b"\x08" + good[head + 3 :])


def _leader(leader_id: int) -> PartitionData:
    partition = PartitionData()
    partition.current_leader.leader_id = leader_id
    return partition


def test_the_client_id_of_a_header_is_never_compact() -> None:
    """KIP-511: a broker reads the client id before it knows whether it supports the version."""
    header = RequestHeader(18, 99, 7, "me")
    assert encode(header, 2) == struct.pack(">hhih2sB", 18, 99, 7, 2, b"me", 0)


def test_nullable_structures_are_led_by_a_byte() -> None:
    """-1 for null, 1 otherwise."""
    without = encode(DescribeTopicPartitionsRequest(), 0)
    assert without == b"\x01" + struct.pack(">i", 2000) + b"\xff\x00"
    request = DescribeTopicPartitionsRequest(cursor=Cursor("a", 3))
    assert decode(DescribeTopicPartitionsRequest, 0, encode(request, 0))[0] == request


def test_tagged_nullable_structures_are_led_by_an_unsigned_varint() -> None:
    """Apache's generated code: a null is 0, unlike the -1 of a structure without a tag, and is not the default."""
    cls = ConsumerGroupMemberMetadataValue
    null, default = (encode(cls(classic_member_metadata=value), 0) for value in (None, ClassicMemberMetadata()))
    assert null.endswith(b"\x01" + b"\x00\x01\x00")
    assert len(default) == len(null) - 3
    filled = cls(classic_member_metadata=ClassicMemberMetadata(7))
    assert encode(filled, 0).endswith(b"\x01\x00\x07" + b"\x01" + struct.pack(">i", 7) + b"\x01\x00")
    for message in (cls(classic_member_metadata=None), cls(), filled):
        assert decode(cls, 0, encode(message, 0))[0] == message


def test_rows_of_one_shape_may_have_tagged_arrays_or_none() -> None:
    """The rows of a shape are read at once. A tagged array is no part of the shape, and the first row may lack it."""
    rows = [CurrentTopicPartitions(UUID(int=number), [number], [7] * (number % 3 == 2)) for number in range(9)]
    message = ConsumerGroupCurrentMemberAssignmentValue(assigned_partitions=rows)
    encoded = encode(message, 0)
    assert decode(ConsumerGroupCurrentMemberAssignmentValue, 0, encoded) == (message, len(encoded))


def test_records_are_a_view_of_the_buffer() -> None:
    """A produced batch is received once and never copied by the decoder."""
    request = ProduceRequest(topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, b"x" * 1000)])])
    buffer = bytearray(encode(request, 9))
    records = decode(ProduceRequest, 9, buffer)[0].topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is buffer


class _File(io.BytesIO):
    def fileno(self) -> int:
        return 99


@given(lengths=st.lists(st.none() | st.integers(0, 40_000), max_size=4), version=st.integers(4, 12), prefix=st.binary())
@example(lengths=[126, 127, 128], version=12, prefix=b"")
def test_slices_of_files_go_between_the_bytes(lengths: list[int | None], version: int, prefix: bytes) -> None:
    """With the slices at their offsets, the bytes are those of the same message in memory."""
    contents = [None if length is None else bytes([index + 1]) * length for index, length in enumerate(lengths)]
    file = _File()
    slices = [None if content is None else FileSlice(file, 5, len(content)) for content in contents]
    in_memory = [PartitionData(index, records=content) for index, content in enumerate(contents)]
    on_disk = [PartitionData(index, records=slice_) for index, slice_ in enumerate(slices)]
    spliced, splices = encode_spliced(
        FetchResponse(responses=[FetchableTopicResponse("t", partitions=on_disk)]), version, prefix
    )
    assert [found for _, found in splices] == [slice_ for slice_ in slices if slice_ is not None]
    for offset, _ in reversed(splices):
        number = [offset for offset, _ in splices].index(offset)
        present = [content for content in contents if content is not None]
        spliced[offset:offset] = present[number]
    whole = FetchResponse(responses=[FetchableTopicResponse("t", partitions=in_memory)])
    assert spliced == prefix + encode(whole, version)


def test_encode_refuses_records_in_a_file() -> None:
    response = FetchResponse(
        responses=[FetchableTopicResponse("t", partitions=[PartitionData(records=FileSlice(_File(), 0, 9))])]
    )
    with pytest.raises(TypeError, match="encode_spliced"):
        encode(response, 12)


@pytest.mark.parametrize("version", [-1, 14])
def test_versions_that_do_not_exist_are_refused(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match="MetadataRequest has versions 0 to 13"):
        encode(MetadataRequest(), version)
    with pytest.raises(UnsupportedVersionError, match="MetadataRequest has versions 0 to 13"):
        decode(MetadataRequest, version, b"")


def test_a_field_that_the_version_lacks_must_be_at_its_default() -> None:
    """As in Kafka: a field that is not ignorable must not be lost."""
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    assert decode(MetadataRequest, 4, encode(request, 4))[0] == request
    with pytest.raises(UnsupportedVersionError, match=r"MetadataRequest\.allow_auto_topic_creation is set"):
        encode(request, 3)


def test_an_ignorable_field_that_the_version_lacks_is_dropped() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(topic_id=UUID(int=5), name="a")])
    decoded, _ = decode(MetadataRequest, 9, encode(request, 9))
    assert decoded.topics == [MetadataRequestTopic(name="a")]


@pytest.mark.parametrize(
    ("record", "error"),
    [
        (TopicRecord(name="x" * 32768), ValueError),
        (TopicRecord(name=None), AttributeError),  # type: ignore[arg-type]
    ],
)
def test_a_value_that_the_wire_cannot_carry_is_not_encoded(record: TopicRecord, error: type[Exception]) -> None:
    with pytest.raises(error):
        encode(record, 0)


def test_the_longest_string_comes_back() -> None:
    record = TopicRecord(name="x" * 32767)
    assert decode(TopicRecord, 0, encode(record, 0))[0] == record
