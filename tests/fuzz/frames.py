"""Frames for a node to choke on, all from one ``random.Random``, so that a seed gives the same ones again.

Half of the art is to get past the first check: messages are built from the schemas with values that mean something to
the node (its topics, its groups, batches that are nearly right), and then broken in one place, or not at all.
"""

from __future__ import annotations

import functools
import random
import struct
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from kraft.messages.registry import ApiKey, request_class, request_header_version
from kraft.records.batch import checksum
from kraft.records.compression import Compression, compress
from kraft.records.record import Record, encode_batch
from kraft.wire.codec import encode
from kraft.wire.internal_topics import METADATA_TOPIC_ID
from kraft.wire.schema import Field, Message
from kraft.wire.uuids import ZERO_UUID

TOPICS = ("orders", "compacted", "squeezed", "victim")
"""Topics of the node under attack: plain, compacted, recompressing; the last one is deleted and created again."""

WORDS = (
    *TOPICS,
    "__consumer_offsets",
    "__cluster_metadata",
    "readers",
    "consumer",
    "range",
    "retention.ms",
    "cleanup.policy",
    "max.message.bytes",
    "compact,delete",
    "1000",
    "-1",
    "1",
    "",
    ".",
    "../../etc/passwd",
    "a\0b",
    "x" * 249,
    "é" * 300,
    "kraft",
    "0.1",
    "x" * 32_767,
)
_DEEP = (*[ApiKey.PRODUCE] * 8, *[ApiKey.FETCH] * 4, *[ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP] * 2)
"""APIs behind which there is more to break than behind the others."""
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
_SHORT_WORDS = ("wait", "timeout", "retention_time")
_SMALL_WORDS = ("partition", "index", "count")
_LIKELY: Mapping[str, tuple[Any, ...]] = {
    "transactional_id": (None, "payments"),
    "acks": (-1, 0, 1),
    "session_timeout_ms": (10_000,),
    "rebalance_timeout_ms": (100, 10_000),
    "protocol_type": ("consumer",),
    "name": TOPICS[:3],
    "topic": TOPICS[:3],
    "topic_name": ("__cluster_metadata",),
    "group_id": ("readers", "others"),
    "group_instance_id": (None, None, "a", "b"),
    "generation_id": (-1, 0, 1, 2),
    "generation_id_or_member_epoch": (-1, 0, 1, 2),
    "session_id": (0,),
    "session_epoch": (-1, 0, 1),
    "current_leader_epoch": (-1, 0),
    "config_operation": (0, 1, 2, 3),
    "resource_type": (2, 4),
    "num_partitions": (-1, 1, 2),
    "replication_factor": (-1, 1),
    "assignments": ([],),
    "partition_max_bytes": (1, 1 << 16),
    "max_bytes": (1, 1 << 20),
    "fetch_offset": (0, 1, 2),
}
"""Values with which a request is likely to get further; fields not named here get anything."""
_LENGTHS = (0, 1, -1, 2, 127, 128, 0x7FFF, -0x8000, 0x7FFFFFFF, -0x80000000, 0x10000, 1 << 24)


@attrs.frozen
class Attack:
    """The frames of one connection. ``asked`` are (API key, version) of the complete requests, in their order, as far
    as their responses are readable; None if the test cannot predict the responses.
    """

    kind: str
    data: bytes
    asked: tuple[tuple[int, int], ...] | None = None


Apis = Mapping[int, tuple[int, int]]


def attack(rng: random.Random, apis: Apis) -> Attack:
    """One of everything that can be sent to a listener that offers ``apis``."""
    kinds: tuple[tuple[int, Callable[[random.Random, Apis], Attack]], ...] = (
        (30, whole_requests),
        (40, broken_body),
        (8, broken_frame),
        (6, wrong_header),
        (5, random_frames),
        (5, truncated),
        (3, lengths),
        (3, random_bytes),
    )
    (make,) = rng.choices([make for _, make in kinds], [weight for weight, _ in kinds])
    return make(rng, apis)


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def header(key: int, version: int, correlation_id: int, client_id: bytes = b"fuzz") -> bytes:
    fixed = struct.pack(">hhih", key, version, correlation_id, len(client_id)) + client_id
    return fixed + b"\0" if request_header_version(key, version) >= 2 else fixed


def _choose(rng: random.Random, apis: Apis) -> tuple[int, int]:
    key = rng.choice([*sorted(apis), *(each for each in _DEEP if each in apis)])
    return key, rng.randint(*apis[key])


def request(rng: random.Random, key: int, version: int) -> bytes:
    """The body of a request that can be decoded."""
    return encode(message(rng, request_class(key), version), version)


# Kinds of attacks


def whole_requests(rng: random.Random, apis: Apis) -> Attack:
    """Correct requests with unreasonable content, pipelined."""
    asked = tuple(_choose(rng, apis) for _ in range(rng.randint(1, 3)))
    frames = [framed(header(*each, number) + request(rng, *each)) for number, each in enumerate(asked)]
    return Attack("whole requests", b"".join(frames), asked)


def broken_body(rng: random.Random, apis: Apis) -> Attack:
    """A correct header, and behind it a body that was correct."""
    key, version = _choose(rng, apis)
    return Attack(
        "broken body", framed(header(key, version, 0) + mutated(rng, request(rng, key, version))), ((key, version),)
    )


def broken_frame(rng: random.Random, apis: Apis) -> Attack:
    """The length stays, anything else may change."""
    key, version = _choose(rng, apis)
    return Attack("broken frame", framed(mutated(rng, header(key, version, 0) + request(rng, key, version))))


def wrong_header(rng: random.Random, apis: Apis) -> Attack:
    key = rng.choice([*apis, -1, 0x7FFF, rng.randint(0, 200)])
    version = rng.choice([-1, 0x7FFF, 99, *range(20)])
    fixed = struct.pack(">hhih", key, version, rng.randint(-(2**31), 2**31 - 1), rng.choice([-1, -2, 0, 5, 0x7FFF]))
    return Attack("wrong header", framed(fixed + rng.randbytes(rng.choice([0, 1, 5, 40]))))


def random_frames(rng: random.Random, apis: Apis) -> Attack:
    frames = [framed(rng.randbytes(rng.choice([0, 1, 7, 8, 30, 500]))) for _ in range(rng.randint(1, 4))]
    return Attack("random frames", b"".join(frames))


def truncated(rng: random.Random, apis: Apis) -> Attack:
    """The peer dies in the middle of a frame."""
    whole = whole_requests(rng, apis).data
    return Attack("truncated", whole[: rng.randrange(len(whole))])


def lengths(rng: random.Random, apis: Apis) -> Attack:
    """A frame that promises more than comes, or less than nothing."""
    return Attack("lengths", struct.pack(">i", rng.choice(_LENGTHS)) + rng.randbytes(rng.choice([0, 3, 200])))


def random_bytes(rng: random.Random, apis: Apis) -> Attack:
    return Attack(
        "random bytes", rng.choice([rng.randbytes(rng.randint(1, 200)), b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01"])
    )


def mutated(rng: random.Random, data: bytes) -> bytes:
    """``data`` with a few bytes flipped, lost, doubled, or replaced by a length that cannot be."""
    broken = bytearray(data or b"\0")
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        position = rng.randrange(len(broken))
        match rng.randrange(6):
            case 0:
                broken[position] ^= 1 << rng.randrange(8)
            case 1:
                broken[position] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
            case 2:
                del broken[position : position + rng.choice([1, 2, 4, 50])]
            case 3:
                broken[position:position] = broken[position : position + rng.choice([1, 4, 100])]
            case 4:
                form, limit = rng.choice([(">i", 31), (">h", 15)])
                value = max(-(2**limit), min(rng.choice(_LENGTHS), 2**limit - 1))
                broken[position : position + struct.calcsize(form)] = struct.pack(form, value)
            case _:
                broken[position : position + 5] = b"\xff\xff\xff\xff" + rng.choice([b"\x0f", b"\x07", b"\xff"])
        if not broken:
            broken = bytearray(rng.randbytes(2))
    return bytes(broken)


# Messages


def message(rng: random.Random, cls: type[Message], version: int) -> Message:
    """Draw any message of the class in the version."""
    fields = {}
    for field in cls.FIELDS:
        if field.is_present(version) and (not field.is_tagged(version) or rng.random() < 0.5):
            fields[field.name] = _value(rng, field, version)
    return cls(**fields)


def _value(rng: random.Random, field: Field, version: int) -> Any:
    likely = _LIKELY.get(field.name)
    if likely is not None and rng.random() < 0.8:
        return rng.choice([each for each in likely if each is not None or field.is_nullable(version)])
    if field.is_nullable(version) and rng.random() < 0.15:
        return None
    if not field.is_array:
        return item(rng, field, version)
    length = rng.choice([1, 0, 1, 1, 2, 3, 30 if field.struct is None else 1])
    return [item(rng, field, version) for _ in range(length)]


def item(rng: random.Random, field: Field, version: int) -> Any:
    """Draw a value of the field; of an array, one element."""
    if field.struct is not None:
        return message(rng, field.struct, version)
    kind = field.item_type
    if kind in _BITS:
        return _integer(rng, field.name, _BITS[kind])
    match kind:
        case "bool":
            return rng.random() < 0.5
        case "uint16" | "uint32":
            return rng.choice([0, 1, 9092, 2**16 - 1])
        case "float64":
            return rng.choice([0.0, -1.0, 1e300, float("inf")])
        case "uuid":
            return rng.choice([ZERO_UUID, METADATA_TOPIC_ID, uuid.UUID(int=rng.getrandbits(128))])
        case "string":
            return rng.choice(WORDS)
        case "bytes":
            return rng.choice([b"", rng.randbytes(10), bytes(200)])
        case "records":
            return records(rng)
    raise AssertionError(kind)


def _integer(rng: random.Random, name: str, bits: int) -> int:
    if any(word in name for word in _SHORT_WORDS) and rng.random() < 0.9:
        return rng.choice([0, 1, 20, -1])
    if any(word in name for word in _SMALL_WORDS) and rng.random() < 0.8:
        return rng.choice([0, 0, 1, 2, -1])
    if rng.random() < 0.7:
        return rng.choice([0, 0, 1, 1, -1, -2, 2, 3, 4, 10])
    limit = 2 ** (bits - 1)
    return rng.choice([limit - 1, -limit, rng.randrange(-limit, limit)])


def records(rng: random.Random) -> bytes:
    """Record batches from right to hopeless."""
    match rng.randrange(8):
        case 0:
            return rng.randbytes(rng.choice([0, 1, 60, 61, 100]))
        case 1:
            return bomb(rng.choice(list(Compression)[1:]), 1 << rng.choice([20, 24, 27]))
        case 2:
            return mutated(rng, _batch(rng))
        case 3:
            return resealed(mutated(rng, _batch(rng)))
        case 4:
            return _batch(rng) * 2
        case _:
            return _batch(rng)


def _batch(rng: random.Random) -> bytes:
    values = [
        Record(n, rng.choice([-1, 0, 1_700_000_000_000]), rng.choice([None, b"k"]), b"v" * rng.choice([0, 1, 500]))
        for n in range(rng.randint(1, 4))
    ]
    producer = rng.choice([-1, 5, 2**62])
    return encode_batch(
        values,
        compression=rng.choice(list(Compression)),
        producer_id=producer,
        producer_epoch=rng.choice([0, -1, 0x7FFF]),
        base_sequence=rng.choice([0, 1, 2**31 - 1, -1]),
        control=rng.random() < 0.1,
        transactional=rng.random() < 0.1,
    )


def resealed(data: bytes) -> bytes:
    """The same with a correct length and checksum, so that the damage lies deeper."""
    if len(data) < 61:
        return data
    sealed = bytearray(data)
    struct.pack_into(">i", sealed, 8, len(sealed) - 12)
    sealed[16] = 2
    struct.pack_into(">I", sealed, 17, checksum(bytes(sealed[21:])))
    return bytes(sealed)


@functools.cache
def bomb(codec: Compression, size: int) -> bytes:
    """A batch of a few kilobytes that unpacks to ``size`` bytes; header and checksum are right."""
    whole = bytearray(encode_batch([Record(0, 1_700_000_000_000, b"k", b"v")], compression=codec))
    return resealed(bytes(whole[:61]) + compress(codec, bytes(size), level=1 if codec is Compression.GZIP else None))
