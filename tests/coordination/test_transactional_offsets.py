"""Offsets of transactions in the log of ``__consumer_offsets``: their batches, their markers, and the next load."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from kraft.api import offset_fetch
from kraft.coordinator.groups.records import CommittedOffset, OffsetRecord
from kraft.coordinator.groups.transactions import EndTransaction, TransactionalCommit
from kraft.messages.offset_fetch_request import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kraft.records.control import EndTransactionMarker
from kraft.records.record import Record, encode_batch
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordination.desk import FOLLOWER, GROUP, LEADER, Desk, Later, desk_in, settle
from tests.support.rounds import Rounds

PRODUCER, EPOCH = 4711, 3
MANY = 10_000


async def commit(desk: Desk, offset: int, partitions: int = 1, producer_id: int = PRODUCER) -> ErrorCode:
    """Commit offsets in a transaction."""
    wanted = [TxnOffsetCommitRequestPartition(index, offset) for index in range(partitions)]
    message = TxnOffsetCommitRequest("x", GROUP, producer_id, EPOCH, topics=[TxnOffsetCommitRequestTopic("t", wanted)])
    response = await desk.groups.shard_of(GROUP).request(TransactionalCommit(message)).wait()
    [code] = {each.error_code for each in response.topics[0].partitions}
    return ErrorCode(code)


async def end(desk: Desk, *, committed: bool = True, epoch: int = EPOCH) -> ErrorCode:
    ending = EndTransaction(PRODUCER, epoch, EndTransactionMarker(committed, 1))
    try:
        code = await desk.groups.end_transaction(0, ending).wait()
    except KafkaError as refused:
        code = refused.code
    return ErrorCode(code)


async def stable(desk: Desk, partition: int = 0) -> int | ErrorCode:
    topics = [OffsetFetchRequestTopics("t", partition_indexes=[partition])]
    message = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(GROUP, topics=topics)], require_stable=True)
    [group] = (await desk.send(offset_fetch, message, 9)).groups
    if group.error_code:
        return ErrorCode(group.error_code)
    [found] = group.topics[0].partitions
    return ErrorCode(found.error_code) if found.error_code else found.committed_offset


async def lead_again(desk: Desk) -> None:
    """Lose the leadership and get it back: the partition is loaded."""
    await desk.change(leader=-1)
    await desk.change(leader=LEADER)
    await settle()


async def test_the_log_is_that_of_apache(tmp_path: Path) -> None:
    """``CoordinatorRuntime`` writes a transactional batch with the producer's id and epoch and without a sequence, then
    the control batch of ``MemoryRecords.withEndTransactionMarker``.
    """
    async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
        await desk.lead()
        await commit(desk, 5)
        assert desk.partition.last_stable_offset == 0
        await end(desk)
        found = [(header, record) for header, record in desk.partition.all_records()]
        assert [(header.is_transactional, header.is_control) for header, _ in found] == [(True, False), (True, True)]
        assert {(each.producer_id, each.producer_epoch, each.base_sequence) for each, _ in found} == {
            (PRODUCER, EPOCH, -1)
        }
        assert EndTransactionMarker.from_record(found[1][1]) == EndTransactionMarker(True, 1)
        assert desk.partition.last_stable_offset == 2


@pytest.mark.parametrize("committed", [True, False])
async def test_a_marker_counts_once_it_is_committed(tmp_path: Path, committed: bool) -> None:
    async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
        await desk.lead()
        committing = Later(nursery, commit, desk, 5)
        await settle()
        assert not committing.is_done
        assert await stable(desk) == ErrorCode.UNSTABLE_OFFSET_COMMIT
        desk.follower_fetches()
        assert await committing.wait() == ErrorCode.NONE
        ending = Later(nursery, partial(end, desk, committed=committed))
        await settle()
        assert not ending.is_done
        assert await stable(desk) == ErrorCode.UNSTABLE_OFFSET_COMMIT
        desk.follower_fetches()
        assert await ending.wait() == ErrorCode.NONE
        assert await stable(desk) == (5 if committed else -1)


async def test_the_next_leader_loads_an_open_transaction(tmp_path: Path) -> None:
    async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
        await desk.lead()
        await desk.commit(3)
        await commit(desk, 5)
        await lead_again(desk)
        assert await stable(desk) == ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert await desk.committed() == {"t": 3}
        assert await end(desk) == ErrorCode.NONE
        assert await stable(desk) == 5


@pytest.mark.parametrize("committed", [True, False])
async def test_the_log_of_another_leader_with_ended_transactions(tmp_path: Path, committed: bool) -> None:
    """Apache's ``CoordinatorLoaderImpl`` replays the markers of control batches."""
    record = OffsetRecord(GROUP, "t", 0, CommittedOffset(5, -1, "", 0), PRODUCER)
    async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
        pairs = [Record(0, 0, record.key, record.value)]
        batch = encode_batch(pairs, producer_id=PRODUCER, producer_epoch=EPOCH, transactional=True)
        desk.partition.append(bytearray(batch), 0)
        desk.partition.append(EndTransactionMarker(committed, 1).batch(PRODUCER, EPOCH, 0), 0)
        await desk.lead()
        assert await stable(desk) == (5 if committed else -1)


async def test_a_fenced_producer_gets_an_error_and_the_partition_stays(tmp_path: Path) -> None:
    """The check comes before the decision: an append that fails would load the partition again."""
    async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
        await desk.lead()
        await end(desk, committed=False, epoch=EPOCH + 1)
        shard = desk.groups.shard_of(GROUP)
        assert await commit(desk, 5) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert await end(desk) == ErrorCode.INVALID_PRODUCER_EPOCH
        assert desk.groups.shard_of(GROUP) is shard
        assert await stable(desk) == -1


async def test_a_marker_waits_for_the_commit_before_it(tmp_path: Path) -> None:
    """Otherwise the rest of the commit would be in the log behind the marker, and would never end."""
    async with desk_in(tmp_path, replicas=(LEADER,)) as desk, trio.open_nursery() as nursery:
        await desk.lead()
        large = Later(nursery, commit, desk, 5, MANY)
        await trio.lowlevel.checkpoint()
        ending = Later(nursery, end, desk)
        assert (await large.wait(), await ending.wait()) == (ErrorCode.NONE, ErrorCode.NONE)
        [*_, (header, _)] = desk.partition.all_records()
        assert header.is_control
        assert await stable(desk) == 5
        assert len(desk.groups.shard_of(GROUP).core.offsets.of(GROUP)) == MANY


async def test_other_tasks_run_while_a_large_transaction_ends(tmp_path: Path) -> None:
    """Each offset changes in one step from unstable to its new value: none of them shows the old one as stable."""
    async with desk_in(tmp_path, replicas=(LEADER,)) as desk, trio.open_nursery() as nursery:
        await desk.lead()
        await desk.commit(3)
        await commit(desk, 5, MANY)
        ending = Later(nursery, end, desk)
        first, last = list[Any](), list[Any]()
        with Rounds() as rounds:
            while not ending.is_done:
                first.append(await stable(desk))
                last.append(await stable(desk, MANY - 1))
                await trio.lowlevel.checkpoint()
        assert rounds.now >= MANY // 500
        assert set(first) <= {ErrorCode.UNSTABLE_OFFSET_COMMIT, 5}
        assert set(last) == {ErrorCode.UNSTABLE_OFFSET_COMMIT, 5}


async def test_a_leader_that_goes_leaves_the_marker_to_the_next(tmp_path: Path) -> None:
    async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
        await desk.lead()
        committing = Later(nursery, commit, desk, 5)
        await settle()
        desk.follower_fetches()
        await committing.wait()
        ending = Later(nursery, end, desk)
        await settle()
        await desk.change(leader=FOLLOWER)
        assert await ending.wait() == ErrorCode.NOT_COORDINATOR
        with pytest.raises(KafkaError) as refused:
            desk.groups.end_transaction(0, EndTransaction(PRODUCER, EPOCH, EndTransactionMarker(True, 1)))
        assert refused.value.code == ErrorCode.NOT_COORDINATOR
