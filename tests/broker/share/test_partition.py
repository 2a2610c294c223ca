"""A share partition step by step."""

from __future__ import annotations

from kraft.broker.share.partition import Acknowledgement, Acquisition, SharePartition, SharePartitionSettings


def test_a_lock_that_an_outcome_did_not_end_still_ends() -> None:
    """KIP-932: a record whose lock ends is available again. Another lock ended while the outcome was being written."""
    partition = SharePartition(lambda: SharePartitionSettings(lock_duration_s=10), 0)
    partition.acquire(0, Acquisition("a", 0, [(0, 0)], 1))
    partition.acquire(5, Acquisition("b", 1, [(1, 1)], 1))
    transition = partition.acknowledge(6, "b", [Acknowledgement(1, 1, [1])])
    assert len(partition.expire(10)) == 1
    partition.finish(11, transition, committed=False)
    assert partition.deadline == 15
    assert [change.first_offset for change in partition.expire(15)] == [1]


def test_records_that_the_log_lost_make_room_for_others() -> None:
    """Compaction removed all records in flight, of which there are as many as may be. Nobody can acknowledge them."""
    partition = SharePartition(lambda: SharePartitionSettings(max_in_flight=4), 0)
    partition.acquire(0, Acquisition("a", 0, [(0, 3)], 4))
    partition.finish(1, partition.release("a"), committed=True)
    assert partition.next_fetch_offset() == 0
    acquired = partition.acquire(2, Acquisition("a", 0, [(7, 9)], 4))
    assert [(each.first_offset, each.last_offset) for each in acquired] == [(7, 9)]
    assert partition.start_offset == 7


def test_a_fetch_without_records_acquires_none() -> None:
    partition = SharePartition(lambda: SharePartitionSettings(), 0)
    assert partition.acquire(0, Acquisition("a", 0, [], 1)) == []
    assert partition.next_fetch_offset() == partition.end_offset
