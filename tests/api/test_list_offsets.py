"""ListOffsets: times, and the timestamps that are questions of their own."""

from __future__ import annotations

import pytest

from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.rpc.client import Connection
from kraft.storage.log import Log
from kraft.wire.errors import ErrorCode, KafkaError
from tests.support.freed import errors_freed
from tests.support.talk import batch, list_offset, produce

T = 1_700_000_000_000


@pytest.fixture
async def filled(broker: Connection, topic: str) -> str:
    """Offsets 0 to 3, at T, T+20, T+20 and T+10."""
    for late in (0, 20, 20, 10):
        assert (await produce(broker, topic, batch(b"a", timestamp=T + late))).error_code == 0
    return topic


@pytest.mark.parametrize("version", range(1, 12))
async def test_every_version(broker: Connection, filled: str, version: int) -> None:
    answer = await list_offset(broker, filled, T + 5, version)
    epoch = 0 if version >= 4 else -1
    assert (answer.error_code, answer.offset, answer.timestamp, answer.leader_epoch) == (0, 1, T + 20, epoch)


@pytest.mark.parametrize(
    ("timestamp", "offset", "told"),
    [
        (0, 0, T),
        (T, 0, T),
        (T + 1, 1, T + 20),
        (T + 20, 1, T + 20),
        (T + 21, -1, -1),
        (-1, 4, -1),
        (-2, 0, -1),
        (-3, 1, T + 20),
        (-4, 0, -1),
        (-5, -1, -1),
        (-6, -1, -1),
    ],
)
async def test_times_and_specials(broker: Connection, filled: str, timestamp: int, offset: int, told: int) -> None:
    """-1 latest, -2 earliest, -3 the greatest timestamp (KIP-734), -4 earliest local, -5 last tiered (KIP-405), -6
    earliest that waits for its upload (KIP-1023): UnifiedLog answers -1 for -5 and -6 without tiered storage.
    """
    answer = await list_offset(broker, filled, timestamp, 11)
    assert (answer.error_code, answer.offset, answer.timestamp) == (0, offset, told)


@pytest.mark.parametrize(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
async def test_specials_of_later_versions(broker: Connection, filled: str, timestamp: int, since: int) -> None:
    answer = await list_offset(broker, filled, timestamp, since - 1)
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert (await list_offset(broker, filled, timestamp, since)).error_code == 0


@pytest.mark.parametrize(("timestamp", "offset"), [(-1, 0), (-2, 0), (-3, -1), (0, -1)])
async def test_an_empty_log(broker: Connection, topic: str, timestamp: int, offset: int) -> None:
    answer = await list_offset(broker, topic, timestamp)
    assert (answer.error_code, answer.offset) == (0, offset)


async def test_refusals(broker: Connection, topic: str) -> None:
    assert (await list_offset(broker, topic, -99)).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert (await list_offset(broker, "nowhere")).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (await list_offset(broker, topic, partition_index=9)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    newer = await list_offset(broker, topic, current_leader_epoch=7)
    assert (newer.error_code, newer.offset) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1)


async def test_a_refusal_of_damaged_records_is_freed_at_once(
    broker: Connection, filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def damaged(*_: object) -> None:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE)

    monkeypatch.setattr(Log, "newest_record", damaged)
    with errors_freed(KafkaError):
        assert (await list_offset(broker, filled, -3)).error_code == ErrorCode.CORRUPT_MESSAGE


async def test_read_committed_ends_at_the_last_stable_offset(broker: Connection, filled: str) -> None:
    assert (await list_offset(broker, filled, isolation_level=1)).offset == 4


async def test_several_partitions(broker: Connection, filled: str) -> None:
    wanted = [ListOffsetsPartition(partition_index=0, timestamp=each) for each in (-1,)]
    topics = [ListOffsetsTopic(filled, wanted), ListOffsetsTopic("nowhere", wanted)]
    response = await broker.request(ListOffsetsRequest(replica_id=-1, topics=topics), 9)
    assert [(each.name, each.partitions[0].offset) for each in response.topics] == [(filled, 4), ("nowhere", -1)]


async def test_a_partition_that_is_named_again_is_not_looked_up(broker: Connection, topic: str) -> None:
    """Kafka's ListOffsetsRequest collects the duplicates of all topics, and each gets INVALID_REQUEST.

    A look-up by time decompresses and reads a batch.
    """
    twice = [ListOffsetsTopic(topic, [ListOffsetsPartition(0, timestamp=1)])] * 2
    other = ListOffsetsTopic(topic, [ListOffsetsPartition(7, timestamp=1)])
    response = await broker.request(ListOffsetsRequest(replica_id=-1, topics=[*twice, other]), 5)
    codes = [[each.error_code for each in found.partitions] for found in response.topics]
    assert codes == [[ErrorCode.INVALID_REQUEST]] * 2 + [[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]]
