"""Decompression bombs: a few kilobytes that unpack to more than a node has, wherever the node has to unpack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.records.compression import Compression
from kraft.wire.errors import ErrorCode
from tests.fuzz.frames import bomb
from tests.fuzz.strike import Neighbour, neighbour
from tests.support.node_process import NodeProcess, running_node

MIB = 1 << 20
UNPACKED_BYTES = 512 * MIB
ALLOWED_MIB = 256
"""A batch may decompress to 64 MiB. A decompressor may hold that twice, together with its input."""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """A process of its own, so that its memory is measurable. Its largest batch is that of the largest bomb."""
    with running_node(tmp_path_factory.mktemp("bombs"), message_max_bytes="20000000") as node:
        yield node


def peak_mib(node: NodeProcess) -> int:
    assert node.process is not None
    status = Path(f"/proc/{node.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) // 1024


def produce(friend: Neighbour, topic: str, records: bytes) -> ErrorCode:
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, records)])
    response = friend.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 9)
    return ErrorCode(response.responses[0].partition_responses[0].error_code)


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD, Compression.SNAPPY])
def test_a_bomb_is_refused_and_the_memory_stays(node: NodeProcess, codec: Compression) -> None:
    """Compaction reads the keys (``cleanup.policy``), recompression the rest (``compression.type``)."""
    records = bomb(codec, UNPACKED_BYTES)
    assert len(records) < UNPACKED_BYTES // 20
    with neighbour(("127.0.0.1", node.ports[0])) as friend:
        friend.prepare()
        before = peak_mib(node)
        for topic in ("compacted", "squeezed" if codec is not Compression.ZSTD else "compacted"):
            code = produce(friend, topic, records)
            assert code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)
        assert peak_mib(node) - before < ALLOWED_MIB


def test_a_bomb_that_is_stored_unopened_does_not_go_off_when_looked_into(node: NodeProcess) -> None:
    """A topic without compaction stores the batch; ListOffsets by time must decompress it."""
    with neighbour(("127.0.0.1", node.ports[0])) as friend:
        friend.prepare()
        assert produce(friend, "orders", bomb(Compression.ZSTD, UNPACKED_BYTES)) == 0
        before = peak_mib(node)
        wanted = ListOffsetsPartition(timestamp=1_700_000_000_000)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic("orders", [wanted])])
        answer = friend.ask(request, 5).topics[0].partitions[0]
        assert answer.error_code == ErrorCode.CORRUPT_MESSAGE
        assert peak_mib(node) - before < ALLOWED_MIB
