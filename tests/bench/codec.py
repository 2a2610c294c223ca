"""A Metadata v9 response of 100 topics × 10 partitions, three replicas each: decoded and encoded in one process."""

from __future__ import annotations

import gc
import importlib
import io
import statistics
import time
import uuid
from collections.abc import Callable
from typing import Any

from kio.serial import entity_reader, entity_writer

from kraft.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kraft.wire.codec import decode, encode
from tests.bench.figures import Row, Section, Table, ratio_goal
from tests.bench.peers import KRAFT

VERSION = 9
TOPICS, PARTITIONS = 100, 10
KIO, KAFKA_PYTHON = "kio", "kafka-python"
SHARE_OF_A_ROUND_S = 0.25

Codec = tuple[Callable[[bytes], Any], Callable[[Any], bytes]]


def response() -> MetadataResponse:
    partitions = [
        MetadataResponsePartition(
            partition_index=index,
            leader_id=index % 3,
            leader_epoch=5,
            replica_nodes=[0, 1, 2],
            isr_nodes=[0, 1, 2],
        )
        for index in range(PARTITIONS)
    ]
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=n, host=f"broker-{n}.example", port=9092) for n in range(3)],
        cluster_id=uuid.UUID(int=7).hex,
        controller_id=1,
        topics=[MetadataResponseTopic(name=f"topic-{n:03d}", partitions=list(partitions)) for n in range(TOPICS)],
    )


def codecs() -> dict[str, Codec]:
    """Decode and encode by subject. kio reads with its Rust part and writes with Python."""
    kio = importlib.import_module(f"kio.schema.metadata.v{VERSION}.response").MetadataResponse
    kio_read, kio_write = entity_reader(kio), entity_writer(kio)
    theirs = importlib.import_module("kafka.protocol.metadata").MetadataResponse
    from_kafka_python = theirs._struct.compiled_decode_from(VERSION, compact=True, tagged=True, data_class=theirs[None])

    def write_kio(value: Any) -> bytes:
        buffer = io.BytesIO()
        kio_write(buffer, value)
        return buffer.getvalue()

    def read_kafka_python(data: bytes) -> Any:
        value = from_kafka_python(memoryview(data), 0)[0]
        value._header = None
        return value

    return {
        KRAFT: (lambda data: decode(MetadataResponse, VERSION, data)[0], lambda value: encode(value, VERSION)),
        KIO: (lambda data: kio_read(data, 0)[0], write_kio),
        KAFKA_PYTHON: (read_kafka_python, lambda value: bytes(value.encode(version=VERSION))),
    }


def measure(rounds: int) -> Section:
    """In every round each subject decodes, then each encodes. The benchmark compares the results with the input."""
    data = encode(response(), VERSION)
    table = Table(f"Metadata v{VERSION} response, {len(data):,} bytes", [KRAFT, KIO, KAFKA_PYTHON], base=KAFKA_PYTHON)
    decoding, encoding = table.row("decode", "ms"), table.row("encode", "ms")
    subjects = codecs()
    values = {name: read(data) for name, (read, _) in subjects.items()}
    for name, (_, write) in subjects.items():
        if write(values[name]) != data:
            raise AssertionError(f"{name} does not write what it has read")
    gc.freeze()  # The objects of the benchmark itself must not slow any subject.
    for number in range(rounds + 1):
        for name, (read, write) in subjects.items():
            read_ms, write_ms = _time_ms(lambda: read(data)), _time_ms(lambda: write(values[name]))  # noqa: B023
            if number:
                decoding.add(name, read_ms)
                encoding.add(name, write_ms)
    fastest = min((KIO, KAFKA_PYTHON), key=lambda name: encoding.median(name) or 0)
    goals = [
        _faster("decode at least 2× as fast as kafka-python 3", decoding, KAFKA_PYTHON, 2),
        ratio_goal("decode within 2.5× of kio's Rust decoder", decoding, KRAFT, KIO, lambda ratio: ratio <= 2.5),
        _faster(f"encode at least 3× as fast as the fastest Python peer ({fastest})", encoding, fastest, 3),
    ]
    return Section("codec", [table], goals)


def _faster(claim: str, row: Row, peer: str, factor: float) -> Any:
    return ratio_goal(claim, row, peer, KRAFT, lambda ratio: ratio >= factor, "{:.2f}× as fast")


def _time_ms(call: Callable[[], object]) -> float:
    """Milliseconds of one call: the median over about a quarter of a second."""
    call()
    times: list[float] = []
    deadline = time.perf_counter() + SHARE_OF_A_ROUND_S
    while (started := time.perf_counter()) < deadline:
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000
