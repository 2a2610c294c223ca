"""Batches offered to a log: good, strange and broken."""

from __future__ import annotations

import base64
import itertools
import struct
import zlib
from collections.abc import Callable
from typing import Any

import crc32c

from kraft.messages.registry import ApiKey
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from tests.differential.talk import Talk
from tests.support.eventually import eventually

TIME_MS = 1_700_000_000_000
LATE_MS = 4_000_000_000_000
"""Far in the future."""
UNKNOWN_ID = "AAAAAAAAAAAAAAAAAAAAfw"
TRANSACTIONAL, CONTROL, APPEND_TIME = 0x10, 0x20, 0x08


def records(count: int = 1, *, key: bytes | None = b"k", time_ms: int = TIME_MS) -> list[Record]:
    return [Record(number, time_ms + number, key, b"value %d" % number) for number in range(count)]


def batch(count: int = 1, **options: Any) -> bytes:
    return encode_batch(records(count), **options)


def patched(data: bytes, position: int, layout: str, value: int) -> bytes:
    """The batch with one field of its header replaced, and the checksum made right again."""
    changed = bytearray(data)
    struct.pack_into(layout, changed, position, value)
    struct.pack_into(">I", changed, 17, crc32c.crc32c(bytes(changed[21:])))
    return bytes(changed)


def old_message(magic: int) -> bytes:
    """One message of the formats before batches."""
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", TIME_MS) if magic else b"")
    body += struct.pack(">i", 1) + b"k" + struct.pack(">i", 1) + b"v"
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


def produced(
    topic: dict[str, Any], data: bytes | None, *, acks: int = -1, index: int = 0, **more: Any
) -> dict[str, Any]:
    encoded = None if data is None else base64.b64encode(data).decode()
    row = {**topic, "partitionData": [{"index": index, "records": encoded}]}
    return {"acks": acks, "timeoutMs": 5000, "topicData": [row], **more}


def made(talk: Talk, name: str, partitions: int = 1, **configs: str) -> dict[str, Any]:
    """Create a topic, and wait until its leader serves it, or until a controller shows it. Return its name and id, as
    every request names it.
    """
    settings = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    topic = {"name": name, "numPartitions": partitions, "replicationFactor": 1, "configs": settings}
    answer = talk.prepare(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeoutMs": 9000})["topics"][0]
    assert answer["errorCode"] == 0, answer
    if talk.versions(ApiKey.LIST_OFFSETS):
        led(talk, name, partitions)
    else:
        wanted = {"resources": [{"resourceType": 2, "resourceName": name, "configurationKeys": []}]}
        eventually(lambda: not talk.prepare(ApiKey.DESCRIBE_CONFIGS, wanted)["results"][0]["errorCode"])
    return {"name": name, "topicId": answer["topicId"]}


def led(talk: Talk, name: str, partitions: int) -> None:
    """Wait until the broker leads the partitions of a topic. Apache's controller answers before, and the broker shows
    its newest metadata before it leads.
    """
    rows = [{"partitionIndex": index, "timestamp": -1} for index in range(partitions)]
    ask = {"replicaId": -1, "topics": [{"name": name, "partitions": rows}]}

    def are_led() -> bool:
        (topic,) = talk.prepare(ApiKey.LIST_OFFSETS, ask)["topics"]
        return not any(each["errorCode"] for each in topic["partitions"])

    eventually(are_led)


SNAPPY = batch(20, compression=Compression.SNAPPY)
STRANGE: dict[str, Callable[[], bytes | None]] = {
    "one": lambda: batch(),
    "many": lambda: batch(10),
    "gzip": lambda: batch(20, compression=Compression.GZIP),
    "snappy": lambda: SNAPPY,
    "lz4": lambda: batch(20, compression=Compression.LZ4),
    "zstd": lambda: batch(20, compression=Compression.ZSTD),
    "empty": lambda: b"",
    "two batches": lambda: batch() + batch(),
    "cut": lambda: batch()[:-1],
    "header only": lambda: batch()[:61],
    "half a header": lambda: batch()[:30],
    "junk after": lambda: batch() + b"junk",
    "a batch cut after": lambda: batch() + batch()[:40],
    "bad crc": lambda: batch()[:-1] + b"X",
    "magic 0": lambda: old_message(0),
    "magic 1": lambda: old_message(1),
    "magic 3": lambda: patched(batch(), 16, ">b", 3),
    "magic -1": lambda: patched(batch(), 16, ">b", -1),
    "count too high": lambda: patched(batch(2), 57, ">i", 3),
    "count too low": lambda: patched(batch(2), 57, ">i", 1),
    "count zero": lambda: patched(batch(2), 57, ">i", 0),
    "count negative": lambda: patched(batch(2), 57, ">i", -1),
    "last delta too high": lambda: patched(batch(2), 23, ">i", 5),
    "last delta too low": lambda: patched(batch(2), 23, ">i", 0),
    "last delta negative": lambda: patched(batch(2), 23, ">i", -1),
    "length zero": lambda: patched(batch(), 8, ">i", 0),
    "length negative": lambda: patched(batch(), 8, ">i", -1),
    "length too high": lambda: patched(batch(), 8, ">i", 1000),
    "codec 5": lambda: patched(batch(), 21, ">h", 5),
    "codec 7": lambda: patched(batch(), 21, ">h", 7),
    "codec without": lambda: patched(batch(), 21, ">h", 1),
    "append time": lambda: patched(batch(), 21, ">h", APPEND_TIME),
    "control": lambda: patched(batch(), 21, ">h", CONTROL),
    "transactional": lambda: patched(batch(), 21, ">h", TRANSACTIONAL),
    "transactional with producer": lambda: batch(producer_id=77, producer_epoch=0, base_sequence=0, transactional=True),
    "unused attribute": lambda: patched(batch(), 21, ">h", 0x80),
    "delete horizon": lambda: patched(batch(), 21, ">h", 0x40),
    "base offset": lambda: patched(batch(), 0, ">q", 50),
    "base offset negative": lambda: patched(batch(), 0, ">q", -5),
    "leader epoch": lambda: patched(batch(), 12, ">i", 9),
    "producer without sequence": lambda: patched(batch(), 43, ">q", 7),
    "sequence without producer": lambda: patched(batch(), 53, ">i", 0),
    "producer epoch negative": lambda: batch(producer_id=9, producer_epoch=-1, base_sequence=0),
    "no time": lambda: encode_batch([Record(0, -1, b"k", b"v")]),
    "time far ahead": lambda: encode_batch([Record(0, 9_000_000_000_000, b"k", b"v")]),
    "time long ago": lambda: encode_batch([Record(0, 0, b"k", b"v")]),
    "max time wrong": lambda: patched(batch(), 35, ">q", TIME_MS + 999),
    "null value": lambda: encode_batch([Record(0, TIME_MS, b"k", None)]),
    "null key": lambda: encode_batch([Record(0, TIME_MS, None, b"v")]),
    "headers": lambda: encode_batch([Record(0, TIME_MS, b"k", b"v", (("h", b"1"), ("h", None)))]),
    "too large": lambda: encode_batch([Record(0, TIME_MS, b"k", b"v" * 1_100_000)]),
}


def produce_batches(talk: Talk) -> None:
    """Send every batch in some versions, and plain ones in all. Read the appended batches back byte by byte."""
    versions = talk.versions(ApiKey.PRODUCE)
    for number, (case, data) in enumerate(STRANGE.items()):
        topic = made(talk, f"produce-{number}")
        plain = case in ("one", "gzip", "zstd", "two batches", "bad crc", "magic 1")
        for version in versions if plain else [each for each in versions if each in (3, 8, 13)]:
            talk.ask(case, ApiKey.PRODUCE, version, produced(topic, data()))
        if versions:
            read_back(talk, case, topic)


def produce_compacted(talk: Talk) -> None:
    for case in ("one", "null key", "null value", "snappy", "two keys missing"):
        topic = made(talk, f"produce-compacted-{case.replace(' ', '-')}", cleanup_policy="compact")
        data = encode_batch([*records(2, key=None), *records(3)[2:]]) if case.startswith("two") else STRANGE[case]()
        for version in [each for each in talk.versions(ApiKey.PRODUCE) if each in (3, 8, 13)]:
            talk.ask(case, ApiKey.PRODUCE, version, produced(topic, data))
        if talk.versions(ApiKey.PRODUCE):
            read_back(talk, case, topic)


def produce_nothing(talk: Talk) -> None:
    topic = made(talk, "produce-nothing")
    for version in talk.versions(ApiKey.PRODUCE)[-1:]:
        with talk.line(timeout_s=4) as line:
            talk.ask("null", ApiKey.PRODUCE, version, produced(topic, None), line)


def read_back(talk: Talk, case: str, topic: dict[str, Any]) -> None:
    partition = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 10_000_000}
    body = {"maxWaitMs": 0, "maxBytes": 10_000_000, "sessionEpoch": -1}
    version = talk.latest[ApiKey.FETCH]
    row = {"topic": topic["name"], "topicId": topic["topicId"], "partitions": [partition]}
    talk.ask(f"{case}, read back", ApiKey.FETCH, version, {**body, "topics": [row]})


def produce_stored(talk: Talk) -> None:
    """Topics with settings that change the stored batches."""
    for case, configs in {
        "append-time": {"message_timestamp_type": "LogAppendTime"},
        "to-gzip": {"compression_type": "gzip"},
        "to-plain": {"compression_type": "uncompressed"},
        "small": {"max_message_bytes": "100"},
        "no-past": {"message_timestamp_before_max_ms": "1000"},
        "insync": {"min_insync_replicas": "2"},
    }.items():
        topic = made(
            talk,
            f"produce-{case}",
            **{key.replace("message_timestamp", "message.timestamp"): value for key, value in configs.items()},
        )
        for version in [each for each in talk.versions(ApiKey.PRODUCE) if each in (3, 7, 8, 12, 13)]:
            for count in (1, 20):
                talk.ask(f"{case}, {count} records", ApiKey.PRODUCE, version, produced(topic, batch(count)))
            talk.ask(f"{case}, acks 1", ApiKey.PRODUCE, version, produced(topic, batch(2), acks=1))
            talk.ask(f"{case}, lz4", ApiKey.PRODUCE, version, produced(topic, STRANGE["lz4"]()))


def produce_addressed(talk: Talk) -> None:
    """Partitions and acks."""
    topic = made(talk, "produce-addressed", 2)
    for acks in (-1, 1, 2, -2):
        talk.sweep(f"acks {acks}", ApiKey.PRODUCE, produced(topic, batch(), acks=acks))
    unknown = {"name": "produce-unknown", "topicId": UNKNOWN_ID}
    talk.sweep("unknown topic", ApiKey.PRODUCE, produced(unknown, batch()))
    talk.sweep("invalid topic", ApiKey.PRODUCE, produced({"name": "a b", "topicId": UNKNOWN_ID}, batch()))
    talk.sweep("empty topic", ApiKey.PRODUCE, produced({"name": ""}, batch()))
    talk.sweep("unknown partition", ApiKey.PRODUCE, produced(topic, batch(), index=2))
    talk.sweep("negative partition", ApiKey.PRODUCE, produced(topic, batch(), index=-1))
    talk.sweep(
        "internal topic", ApiKey.PRODUCE, produced({"name": "__consumer_offsets", "topicId": UNKNOWN_ID}, batch())
    )
    absent = {"name": "__share_group_state", "topicId": UNKNOWN_ID}
    talk.sweep("internal topic that is not there", ApiKey.PRODUCE, produced(absent, batch()))
    for case, named, index in (
        ("unknown topic", unknown, 0),
        ("unknown partition", topic, 2),
        ("internal topic", {"name": "__consumer_offsets", "topicId": UNKNOWN_ID}, 0),
        ("internal partition that is not there", {"name": "__consumer_offsets", "topicId": UNKNOWN_ID}, 9),
    ):
        talk.sweep(f"{case}, acks 2", ApiKey.PRODUCE, produced(named, batch(), index=index, acks=2))
    talk.sweep("nothing", ApiKey.PRODUCE, {"acks": -1, "timeoutMs": 5000, "topicData": []})
    talk.sweep(
        "no partition", ApiKey.PRODUCE, {"acks": 1, "timeoutMs": 5000, "topicData": [{**topic, "partitionData": []}]}
    )
    talk.sweep("negative time", ApiKey.PRODUCE, {**produced(topic, batch()), "timeoutMs": -1})
    good, bad = produced(topic, batch())["topicData"], produced(unknown, batch())["topicData"]
    talk.sweep("good and unknown", ApiKey.PRODUCE, {"acks": -1, "timeoutMs": 5000, "topicData": good + bad})
    row = {"index": 0, "records": base64.b64encode(batch()).decode()}
    twice = [{**topic, "partitionData": [row, {**row, "index": 1}, {**row, "index": 9}]}]
    talk.sweep("three partitions", ApiKey.PRODUCE, {"acks": -1, "timeoutMs": 5000, "topicData": twice})
    same = [{**topic, "partitionData": [row, row]}]
    talk.sweep("a partition twice", ApiKey.PRODUCE, {"acks": -1, "timeoutMs": 5000, "topicData": same})
    again = [{**topic, "partitionData": [row]}, {**topic, "partitionData": [{**row, "index": 1}, row]}]
    talk.sweep("a topic twice", ApiKey.PRODUCE, {"acks": -1, "timeoutMs": 5000, "topicData": again})
    talk.sweep("empty transactional id", ApiKey.PRODUCE, produced(topic, batch(), transactionalId=""))


def produce_unanswered(talk: Talk) -> None:
    """acks=0: no response, and a closed connection after an error. The response to a following Metadata distinguishes
    the two.
    """
    topic = made(talk, "produce-unanswered")
    cases = {"good": produced(topic, batch(), acks=0), "bad crc": produced(topic, STRANGE["bad crc"](), acks=0)}
    cases["unknown topic"] = produced({"name": "produce-nowhere", "topicId": UNKNOWN_ID}, batch(), acks=0)
    cases["nothing"] = {"acks": 0, "timeoutMs": 100, "topicData": []}
    for case, body in cases.items():
        for version in talk.versions(ApiKey.PRODUCE):
            with talk.line() as line:
                line.send(ApiKey.PRODUCE, version, body)
                line.send(ApiKey.API_VERSIONS, 0, {})
                answer = line.receive(ApiKey.API_VERSIONS, 0)
                talk.note(f"PRODUCE {version}: {case}", answer if isinstance(answer, str) else "open")


def produce_idempotent(talk: Talk) -> None:
    producer_ids = itertools.count(5000)
    topic = made(talk, "produce-idempotent")
    for version in [each for each in talk.versions(ApiKey.PRODUCE) if each >= 3]:

        def say(case: str, producer: int, epoch: int, sequence: int, count: int = 1, version: int = version) -> None:
            data = batch(count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)
            talk.ask(case, ApiKey.PRODUCE, version, produced(topic, data))

        first, second, third = (next(producer_ids) for _ in range(3))
        say("first", first, 0, 0, 3)
        say("first again", first, 0, 0, 3)
        say("next", first, 0, 3)
        say("gap", first, 0, 7)
        say("part of an old one", first, 0, 1, 2)
        say("older, with other count", first, 0, 0, 2)
        say("next after the gap", first, 0, 4)
        say("new epoch, wrong sequence", first, 1, 5)
        say("new epoch", first, 1, 0)
        say("old epoch", first, 0, 5)
        say("old epoch, known batch", first, 0, 4)
        for case, epoch, sequence in (("next", 1, 1), ("gap", 1, 7), ("old epoch", 0, 5), ("known batch", 1, 0)):
            late = encode_batch(
                records(time_ms=LATE_MS), producer_id=first, producer_epoch=epoch, base_sequence=sequence
            )
            talk.ask(f"too late, {case}", ApiKey.PRODUCE, version, produced(topic, late))
        say("again, new epoch", first, 1, 0)
        say("new producer, late sequence", second, 0, 10)
        say("new producer, continued", second, 0, 11)
        say("wrap, before", third, 0, 2**31 - 2, 2)
        say("wrap, after", third, 0, 0)
        say("wrap, inside", next(producer_ids), 0, 2**31 - 1, 2)
        say("negative sequence", next(producer_ids), 0, -1)
        for number in range(7):
            say(f"seven, {number}", second, 3, number)
        for number in range(7):
            say(f"seven again, {number}", second, 3, number)
        both = batch(producer_id=first, producer_epoch=1, base_sequence=1) + batch(
            producer_id=first, producer_epoch=1, base_sequence=2
        )
        talk.ask("two batches", ApiKey.PRODUCE, version, produced(topic, both))
    if talk.versions(ApiKey.PRODUCE):
        read_back(talk, "idempotent", topic)
        talk.sweep(
            "after", ApiKey.DESCRIBE_PRODUCERS, {"topics": [{"name": topic["name"], "partitionIndexes": [0, 1]}]}
        )


def describe_producers(talk: Talk) -> None:
    made(talk, "producers-none")
    for name in ("producers-none", "producers-unknown", "a b", ""):
        for indexes in ([0], [1], [-1], []):
            talk.sweep(
                f"{name} {indexes}",
                ApiKey.DESCRIBE_PRODUCERS,
                {"topics": [{"name": name, "partitionIndexes": indexes}]},
            )


def find_transactions(talk: Talk, transactional_id: str) -> None:
    """Until the coordinator of transactions is there. The id differs, because this one gets epochs."""
    body = {"transactionalId": f"before {transactional_id}", "transactionTimeoutMs": 1000}

    def is_there() -> bool:
        talk.prepare(ApiKey.FIND_COORDINATOR, {"keyType": 1, "coordinatorKeys": [transactional_id]})
        return not talk.prepare(ApiKey.INIT_PRODUCER_ID, body)["errorCode"]

    eventually(is_there)


def init_producer_id(talk: Talk) -> None:
    body = {"transactionalId": None, "transactionTimeoutMs": 0}
    eventually(
        lambda: not talk.prepare(ApiKey.INIT_PRODUCER_ID, body)["errorCode"]
    )  # until the broker has a block of ids
    find_transactions(talk, "differential")
    for case, body in {
        "plain": {"transactionalId": None, "transactionTimeoutMs": -1},
        "plain, own id": {"transactionalId": None, "transactionTimeoutMs": 0, "producerId": 5, "producerEpoch": 1},
        "plain, id without epoch": {"transactionalId": None, "transactionTimeoutMs": 0, "producerId": 5},
        "plain, epoch without id": {"transactionalId": None, "transactionTimeoutMs": 0, "producerEpoch": 1},
        "empty": {"transactionalId": "", "transactionTimeoutMs": 1000},
        "transactional": {"transactionalId": "differential", "transactionTimeoutMs": 1000},
        "transactional, bad time": {"transactionalId": "differential", "transactionTimeoutMs": -1},
    }.items():
        talk.sweep(case, ApiKey.INIT_PRODUCER_ID, body)
