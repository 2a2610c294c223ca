"""How long a ShareFetch waits, for which records, and how often it looks for them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from kraft.api import share_fetch
from kraft.broker.share.partition import SharePartition
from kraft.coordinator.share.state import SharePartitionKey
from kraft.wire.errors import ErrorCode
from tests.api.shares import GROUP, RELEASE, ShareBroker, acquired_in, partition_in, share_broker
from tests.support.held import TOPIC_ID
from tests.support.steps import steps_of_this_task


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[SharePartition]:
    """The share partition, once for each look at it. A fetch that never waits would not end in virtual time."""
    looks: list[SharePartition] = []
    move_start = SharePartition.move_start

    def counting(partition: SharePartition, log_start_offset: int) -> None:
        looks.append(partition)
        assert len(looks) < 100, "a fetch looks again and again"
        move_start(partition, log_start_offset)

    monkeypatch.setattr(SharePartition, "move_start", counting)
    return looks


class TestWaiting:
    async def test_a_waiting_fetch_wakes_for_a_record(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.initialize()
            member = desk.member("m")
            found = []

            async def fetch() -> None:
                found.append((await member.acquired(max_wait_ms=60_000), trio.current_time()))

            nursery.start_soon(fetch)
            await trio.sleep(3)
            started = trio.current_time()
            desk.produce(b"a")
            await trio.sleep(1)
            assert found == [([(0, 0, 1)], started)]

    async def test_it_wakes_for_a_release(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.initialize()
            desk.produce(b"a")
            one, two = desk.member("one"), desk.member("two")
            await one.fetch()
            found = []

            async def fetch() -> None:
                found.append((await two.acquired(max_wait_ms=20_000), trio.current_time()))

            nursery.start_soon(fetch)
            await trio.sleep(3)
            started = trio.current_time()
            await one.acknowledge([(0, 0, [RELEASE])])
            await trio.sleep(1)
            assert found == [([(0, 0, 2)], started)]

    @pytest.mark.usefixtures("looks")
    @pytest.mark.parametrize("min_bytes", [0, 1])
    async def test_it_ends_in_time(self, tmp_path: Path, autojump_clock: object, min_bytes: int) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            started = trio.current_time()
            response = await desk.member("m").fetch(max_wait_ms=1500, min_bytes=min_bytes)
            assert trio.current_time() - started == pytest.approx(1.5)
            assert acquired_in(response) == []

    async def test_the_last_fetch_of_a_session_waits_for_nothing(
        self, tmp_path: Path, autojump_clock: trio.testing.MockClock
    ) -> None:
        """KIP-932: the epoch -1 closes the session, and fetches nothing."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            member = desk.member("m")
            await member.fetch(max_wait_ms=0)
            began = trio.current_time()
            await member.fetch(epoch=-1, max_wait_ms=3000)
            assert trio.current_time() == began

    async def test_a_new_partition_is_named_once_without_records(self, tmp_path: Path, autojump_clock: object) -> None:
        """``CachedSharePartition.maybeUpdateResponseData``."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            member = desk.member("m")
            first, then = [await member.fetch(max_wait_ms=10) for _ in range(2)]
            assert partition_in(first).acquired_records == []
            assert then.responses == []

    async def test_it_waits_for_enough_bytes(self, tmp_path: Path, autojump_clock: object) -> None:
        """A request below ``min_bytes`` holds no records: another member may take them."""
        async with share_broker(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.initialize()
            desk.produce(b"a")
            nursery.start_soon(lambda: desk.member("one").fetch(max_wait_ms=5000, min_bytes=10_000))
            await trio.sleep(1)
            assert await desk.member("two").acquired() == [(0, 0, 1)]

    async def test_it_takes_what_is_there_in_the_end(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a")
            assert await desk.member("one").acquired(max_wait_ms=500, min_bytes=10_000) == [(0, 0, 1)]


class TestWaitingBehindAbortedRecords:
    """KIP-932: a ShareFetch waits for ``MinBytes``, up to ``MaxWaitMs``. Each time that it archives records of aborted
    transactions and finds no others, it looks once more, and waits if there is too little.
    """

    async def test_while_another_member_holds_an_earlier_record(
        self, tmp_path: Path, autojump_clock: object, looks: list[SharePartition]
    ) -> None:
        async with share_broker(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.configure(share_isolation_level="read_committed", share_partition_max_record_locks="100")
            await desk.initialize()
            desk.produce(b"held")
            one, two = desk.member("one"), desk.member("two")
            assert await one.acquired() == [(0, 0, 1)]
            await desk.abort(batches=3, records=50)
            found = []

            async def fetch() -> None:
                found.append((await two.acquired(max_wait_ms=20_000), trio.current_time()))

            nursery.start_soon(fetch)
            await trio.sleep(3)
            before = len(looks)
            await trio.sleep(3)
            assert (len(looks), found) == (before, [])
            started = trio.current_time()
            await one.acknowledge([(0, 0, [RELEASE])])
            await trio.sleep(1)
            assert found == [([(0, 0, 2)], started)]

    @pytest.mark.usefixtures("looks")
    async def test_for_enough_bytes(self, tmp_path: Path, autojump_clock: object) -> None:
        """Behind the aborted records is only the marker of their transaction, which the member gets in the end."""
        async with share_broker(tmp_path) as desk:
            await desk.configure(share_isolation_level="read_committed")
            await desk.initialize()
            await desk.abort(batches=5, records=100)
            started = trio.current_time()
            assert await desk.member("m").acquired(max_wait_ms=3000, min_bytes=200) == [(500, 500, 1)]
            assert trio.current_time() - started == pytest.approx(3.0)


class TestManyPartitions:
    """docs/robustness.md: "No request holds the event loop"."""

    async def test_other_tasks_run_after_each_slice(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """10,000 partitions took a step of 600 ms. Each is found, watched, counted, read and named."""
        monkeypatch.setattr(share_fetch, "_SLICE_BATCHES", 1)
        async with share_broker(tmp_path, partitions=5) as desk:
            await desk.initialize(partitions=5)
            member = desk.member("m")
            await member.fetch(*range(5))
            async with steps_of_this_task() as steps:
                assert (await member.fetch(max_wait_ms=100)).responses == []
            assert steps.count >= 5 * 5

    async def test_after_a_wake_it_looks_at_one(
        self, tmp_path: Path, autojump_clock: object, looks: list[SharePartition]
    ) -> None:
        async with share_broker(tmp_path, partitions=5) as desk, trio.open_nursery() as nursery:
            await desk.initialize(partitions=5)
            member = desk.member("m")
            await member.fetch(*range(5))
            nursery.start_soon(lambda: member.fetch(max_wait_ms=20_000, min_bytes=10_000))
            await trio.sleep(1)
            looks.clear()
            desk.produce(b"a", index=3)
            await trio.sleep(1)
            assert looks == [_partition(desk, 3)]

    async def test_a_record_that_comes_while_it_looks_is_found(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch, looks: list[SharePartition]
    ) -> None:
        """It may be one of the partition at which the fetch looked before."""
        monkeypatch.setattr(share_fetch, "_SLICE_BATCHES", 1)
        async with fetching_five(tmp_path, looks) as (desk, found):
            while len(looks) < 2:
                await trio.lowlevel.checkpoint()
            (index,) = (index for index in range(5) if _partition(desk, index) is looks[0])
            desk.produce(b"a", index=index)
            await trio.sleep(1)
            (response,) = found
            assert acquired_in(response, index) == [(0, 0, 1)]

    async def test_a_partition_that_is_lost_while_it_looks_is_refused(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch, looks: list[SharePartition]
    ) -> None:
        monkeypatch.setattr(share_fetch, "_SLICE_BATCHES", 1)
        async with fetching_five(tmp_path, looks) as (desk, found):
            while not looks:
                await trio.lowlevel.checkpoint()
            await desk.change_leader(2)
            await trio.sleep(1)
            (response,) = found
            assert partition_in(response, 0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@asynccontextmanager
async def fetching_five(path: Path, looks: list[SharePartition]) -> AsyncIterator[tuple[ShareBroker, list[Any]]]:
    """A member of a session with five empty partitions begins to look at them. The list gets the response."""
    async with share_broker(path, partitions=5) as desk, trio.open_nursery() as nursery:
        await desk.initialize(partitions=5)
        member = desk.member("m")
        await member.fetch(*range(5))
        looks.clear()
        found: list[Any] = []

        async def fetch() -> None:
            found.append(await member.fetch(max_wait_ms=20_000))

        nursery.start_soon(fetch)
        yield desk, found


def _partition(desk: ShareBroker, index: int) -> SharePartition:
    return desk.context.coordinators.shares.find(SharePartitionKey(GROUP, TOPIC_ID, index))[1]
