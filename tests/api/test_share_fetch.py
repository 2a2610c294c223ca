"""ShareFetch: which records a member of a share group acquires, in which session, and how long it waits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio
import trio.testing

from kraft.api import share_fetch
from kraft.api.partitions import MAX_COPIED_BYTES
from kraft.broker.share.runs import RecordState
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.share_fetch_request import ShareFetchRequest
from kraft.storage.open_files import OPEN_FILES
from kraft.wire.errors import ErrorCode
from tests.api.shares import (
    ACCEPT,
    GROUP,
    REJECT,
    RELEASE,
    RENEW,
    acquired_in,
    partition_in,
    share_broker,
)
from tests.support.held import TOPIC
from tests.support.talk import batch

NOTHING_TO_FETCH: dict[str, Any] = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "max_wait_ms": 0}


class TestAcquiring:
    async def test_acknowledgements_come_with_the_next_fetch(self, tmp_path: Path, autojump_clock: object) -> None:
        """KIP-932: a ShareFetch may carry acknowledgements."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a", b"b", b"c")
            member = desk.member("m")
            response = await member.fetch()
            assert acquired_in(response) == [(0, 2, 1)]
            assert response.acquisition_lock_timeout_ms == 30_000
            assert len(partition_in(response).records) > 0
            desk.produce(b"d")
            response = await member.fetch(acknowledge={0: [(0, 2, [ACCEPT])]})
            assert partition_in(response).acknowledge_error_code == ErrorCode.NONE
            assert acquired_in(response) == [(3, 3, 1)]
            await member.fetch(acknowledge={0: [(3, 3, [ACCEPT])]})
            assert (await desk.state()).start_offset == 3

    async def test_two_members_share_one_partition(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            for value in (b"a", b"b"):
                desk.produce(value)
            one, two = desk.member("one"), desk.member("two")
            assert await one.acquired(0, max_records=1) == [(0, 0, 1)]
            assert await two.acquired(0) == [(1, 1, 1)]
            assert await one.acquired() == []

    async def test_only_the_batches_of_acquired_records_are_sent(self, tmp_path: Path, autojump_clock: object) -> None:
        """``ShareFetchUtils.maybeSliceFetchRecords``."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            for value in (b"a", b"b", b"c"):
                desk.produce(value)
            one, two = desk.member("one"), desk.member("two")
            assert await one.acquired(0, max_records=2) == [(0, 1, 1)]
            await one.acknowledge([(0, 0, [ACCEPT]), (1, 1, [RELEASE])])
            response = await two.fetch(0, max_records=1)
            assert acquired_in(response) == [(1, 1, 2)]
            assert len(partition_in(response).records) == len(batch(b"b"))

    async def test_copies_come_while_all_files_are_held(
        self, tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As for a Fetch: responses that nobody reads may hold all files. Copies are bounded."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            sizes = (MAX_COPIED_BYTES // 2, MAX_COPIED_BYTES // 3, MAX_COPIED_BYTES // 3)
            for size in sizes:
                desk.produce(bytes(size))
            monkeypatch.setattr(OPEN_FILES, "capacity", 0)
            member = desk.member("m")
            first, second = await member.fetch(), await member.fetch()
            assert [acquired_in(first), acquired_in(second)] == [[(0, 1, 1)], [(2, 2, 1)]]
            assert type(partition_in(second).records) is bytes
            assert partition_in(second).records[-sizes[2] :].count(0) > sizes[2] - 100

    async def test_a_gap_longer_than_the_record_limit_is_passed(self, tmp_path: Path, autojump_clock: object) -> None:
        """``SharePartition.acquire`` begins with the first batch that was fetched. Compaction leaves such gaps."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            kept = bytearray(batch(b"kept"))
            kept[:8] = (600).to_bytes(8, "big")
            desk.broker.partition.log.append_as_follower(kept, 0)
            desk.produce(b"next")
            assert await desk.member("m").acquired(max_records=500) == [(600, 601, 1)]

    async def test_the_record_limit_splits_a_batch(self, tmp_path: Path, autojump_clock: object) -> None:
        """KIP-1206: mode 1 never acquires more than ``max_records``; mode 0 takes the batch whole."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a", b"b", b"c")
            member = desk.member("m")
            assert await member.acquired(max_records=2, share_acquire_mode=1) == [(0, 1, 1)]
            assert await member.acquired(max_records=2, share_acquire_mode=1) == [(2, 2, 1)]
            desk.produce(b"d", b"e", b"f")
            assert await member.acquired(max_records=2) == [(3, 5, 1)]

    async def test_the_records_in_flight_are_limited(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path, group_share_partition_max_record_locks="100") as desk:
            await desk.initialize()
            for _ in range(21):
                desk.produce(*[b"x"] * 5)
            member = desk.member("m")
            assert await member.acquired() == [(0, 99, 1)]
            assert await member.acquired() == []
            await member.acknowledge([(0, 4, [ACCEPT])])
            assert await member.acquired() == [(100, 104, 1)]

    async def test_a_group_begins_where_its_setting_says(self, tmp_path: Path, autojump_clock: object) -> None:
        """``share.auto.offset.reset`` is ``latest`` by default."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize(start_offset=-1)
            desk.produce(b"old")
            member = desk.member("m")
            assert await member.acquired() == []
            desk.produce(b"new")
            assert await member.acquired() == [(1, 1, 1)]
        second = tmp_path / "second"
        second.mkdir()
        async with share_broker(second) as desk:
            await desk.configure(share_auto_offset_reset="earliest")
            await desk.initialize(start_offset=-1)
            desk.produce(b"old")
            assert await desk.member("m").acquired() == [(0, 0, 1)]

    @pytest.mark.parametrize(("duration", "expected"), [("P40000D", [(0, 1, 1)]), ("PT0S", [])])
    async def test_a_group_may_begin_a_duration_ago(
        self, tmp_path: Path, autojump_clock: object, duration: str, expected: list[tuple[int, int, int]]
    ) -> None:
        """``by_duration``: at the first record that is as young, or else at the end. The records are of 1970."""
        async with share_broker(tmp_path) as desk:
            await desk.configure(share_auto_offset_reset=f"by_duration:{duration}")
            await desk.initialize(start_offset=-1)
            desk.produce(b"a", b"b", timestamp=1)
            assert await desk.member("m").acquired() == expected

    async def test_deleted_records_are_not_waited_for(self, tmp_path: Path, autojump_clock: object) -> None:
        """``SharePartition.updateCacheAndOffsets``: the start offset follows that of the log."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a", b"b")
            one, two = desk.member("one"), desk.member("two")
            assert await one.acquired() == [(0, 1, 1)]
            desk.produce(b"c")
            desk.broker.partition.log.delete_records(2)
            assert await two.acquired() == [(2, 2, 1)]
            assert (await one.acknowledge([(0, 1, [ACCEPT])])).error_code == ErrorCode.NONE


class TestDeliveringAgain:
    async def test_after_the_lock_ends(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a")
            one, two = desk.member("one"), desk.member("two")
            await one.acquired()
            await trio.sleep(29)
            assert await two.acquired() == []
            started = trio.current_time()
            assert await two.acquired(max_wait_ms=5000) == [(0, 0, 2)]
            assert trio.current_time() - started == pytest.approx(1.0)
            assert (await one.acknowledge([(0, 0, [ACCEPT])])).error_code == ErrorCode.INVALID_RECORD_STATE

    async def test_after_a_renewal_the_lock_lasts(self, tmp_path: Path, autojump_clock: object) -> None:
        """KIP-1222: nothing is fetched by a request that renews."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a")
            one, two = desk.member("one"), desk.member("two")
            await one.acquired()
            await trio.sleep(20)
            desk.produce(b"b")
            renewal = {0: [(0, 0, [RENEW])]}
            response = await one.fetch(acknowledge=renewal, is_renew_ack=True, **NOTHING_TO_FETCH)
            assert partition_in(response).acknowledge_error_code == ErrorCode.NONE
            assert acquired_in(response) == []
            await trio.sleep(20)
            assert await two.acquired() == [(1, 1, 1)]
            assert (await one.acknowledge([(0, 0, [ACCEPT])])).error_code == ErrorCode.NONE

    async def test_after_the_last_delivery_a_record_is_archived(self, tmp_path: Path, autojump_clock: object) -> None:
        """``group.share.delivery.count.limit``."""
        async with share_broker(tmp_path, group_share_delivery_count_limit="2") as desk:
            await desk.initialize()
            desk.produce(b"poison")
            member = desk.member("m")
            assert await member.acquired() == [(0, 0, 1)]
            await member.acknowledge([(0, 0, [RELEASE])])
            assert await member.acquired() == [(0, 0, 2)]
            await member.acknowledge([(0, 0, [RELEASE])])
            assert await member.acquired() == []

    async def test_after_a_reject_it_is_not(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a")
            member = desk.member("m")
            await member.acquired()
            await member.acknowledge([(0, 0, [REJECT])])
            assert await member.acquired() == []

    @pytest.mark.parametrize("ending", ["session", "connection"])
    async def test_after_the_end_of_its_members_session(
        self, tmp_path: Path, autojump_clock: object, ending: str
    ) -> None:
        """A killed consumer's records are free once its connection ends (``ShareSessionCache.onDisconnect``)."""
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a")
            one, two = desk.member("one"), desk.member("two")
            assert await one.acquired() == [(0, 0, 1)]
            if ending == "session":
                assert (await one.close()).error_code == ErrorCode.NONE
            else:
                assert one.connection.on_end is not None
                one.connection.on_end()
            assert await two.acquired(max_wait_ms=1000) == [(0, 0, 2)]
            assert (await one.fetch()).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND

    async def test_the_end_of_an_earlier_connection_changes_nothing(
        self, tmp_path: Path, autojump_clock: object
    ) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a")
            former, member = desk.member("m"), desk.member("m")
            await former.fetch()
            await member.fetch()
            assert former.connection.on_end is not None
            former.connection.on_end()
            assert (await member.acknowledge([(0, 0, [ACCEPT])])).error_code == ErrorCode.NONE


class TestSessions:
    async def test_epochs_are_counted(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            member = desk.member("m")
            assert (await member.fetch(epoch=1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
            assert (await member.fetch(epoch=-1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
            assert (await member.fetch()).error_code == ErrorCode.NONE
            for wrong in (2, 7, -2):
                assert (await member.fetch(epoch=wrong)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
            assert (await member.fetch()).error_code == ErrorCode.NONE

    async def test_no_acknowledgement_opens_a_session(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            response = await desk.member("m").fetch(acknowledge={0: [(0, 0, [ACCEPT])]})
            assert response.error_code == ErrorCode.INVALID_REQUEST

    async def test_the_number_of_sessions_is_limited(self, tmp_path: Path, autojump_clock: object) -> None:
        """The refusal waits for ``max_wait_ms``, because the client repeats the request at once."""
        async with share_broker(tmp_path, group_share_max_share_sessions="1") as desk:
            await desk.initialize()
            one = desk.member("one")
            await one.fetch()
            started = trio.current_time()
            response = await desk.member("two").fetch(max_wait_ms=400)
            assert response.error_code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
            assert trio.current_time() - started == pytest.approx(0.4)
            await one.close()
            assert (await desk.member("two").fetch()).error_code == ErrorCode.NONE

    async def test_partitions_join_and_leave(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path, partitions=2) as desk:
            await desk.initialize(partitions=2)
            member = desk.member("m")
            await member.fetch(0)
            desk.produce(b"a", index=0)
            desk.produce(b"b", index=1)
            response = await member.fetch(1, forget=[0])
            assert (acquired_in(response, 0), acquired_in(response, 1)) == ([], [(0, 0, 1)])

    async def test_an_idle_group_is_forgotten_and_loaded_again(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            desk.produce(b"a", b"b")
            member = desk.member("m")
            await member.fetch()
            await member.acknowledge([(0, 0, [ACCEPT])])
            await member.close()
            await trio.testing.wait_all_tasks_blocked()
            assert not desk.context.coordinators.shares.loaded_count
            assert await desk.member("n").acquired() == [(1, 1, 2)]

    async def test_the_last_session_of_a_group_takes_partitions_along_that_it_forgot(
        self, tmp_path: Path, autojump_clock: object
    ) -> None:
        """``SharePartitionManager.onGroupEmpty``: an administrator may then set the offsets of the group, which the
        next members are served from.
        """
        async with share_broker(tmp_path, partitions=2) as desk:
            await desk.initialize(partitions=2)
            desk.produce(b"a", b"b", b"c")
            member = desk.member("m")
            assert await member.acquired(0, 1) == [(0, 2, 1)]
            await member.fetch(acknowledge={0: [(0, 1, [ACCEPT])]})
            await member.fetch(forget=[0])
            await member.close()
            await trio.testing.wait_all_tasks_blocked()
            assert not desk.context.coordinators.shares.loaded_count
            (left,) = (await desk.state()).state_batches
            assert (left.first_offset, left.last_offset, left.delivery_state) == (2, 2, RecordState.AVAILABLE)
            await desk.initialize(state_epoch=2, partitions=2)
            assert await desk.member("n").acquired(0, 1) == [(0, 2, 1)]

    async def test_states_that_are_not_loaded_delay_no_others(self, tmp_path: Path, autojump_clock: object) -> None:
        """Apache loads states in the background, and the request waits for max_wait_ms. Here it waits a second."""
        async with share_broker(tmp_path, partitions=4) as desk:
            await desk.initialize(partitions=4)
            desk.produce(b"a")
            member = desk.member("m")
            assert await member.acquired(0) == [(0, 0, 1)]
            desk.produce(b"b")
            await desk.lose_the_coordinator()
            started = trio.current_time()
            response = await member.fetch(0, 1, 2, 3)
            assert acquired_in(response) == [(1, 1, 1)]
            assert [partition_in(response, index).error_code for index in (1, 2, 3)] == [ErrorCode.NONE] * 3
            assert trio.current_time() - started == 1.0


class TestRefusals:
    async def test_without_the_feature(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.hear(FeatureLevelRecord(name="share.version", feature_level=0))
            assert (await desk.member("m").fetch()).error_code == ErrorCode.UNSUPPORTED_VERSION

    @pytest.mark.parametrize(("group", "member"), [(None, "m"), (GROUP, None), (GROUP, ""), (GROUP, "m" * 37)])
    async def test_without_a_group_or_a_member(
        self, tmp_path: Path, autojump_clock: object, group: str | None, member: str | None
    ) -> None:
        async with share_broker(tmp_path) as desk:
            response = await desk.call(share_fetch, ShareFetchRequest(group, member))
            assert response.error_code == ErrorCode.INVALID_REQUEST

    async def test_unknown_topics_and_partitions(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            unknown = await desk.member("one").fetch(0, topic_id=UUID(int=999))
            assert partition_in(unknown).error_code == ErrorCode.UNKNOWN_TOPIC_ID
            far = await desk.member("two").fetch(0, 9)
            assert partition_in(far, 9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    async def test_a_state_that_the_coordinator_does_not_know(self, tmp_path: Path, autojump_clock: object) -> None:
        """``SharePartition.fetchPersisterError`` maps INVALID_REQUEST to UNKNOWN_SERVER_ERROR."""
        async with share_broker(tmp_path) as desk:
            response = await desk.member("m").fetch()
            assert partition_in(response).error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    async def test_a_file_that_cannot_be_read(self, tmp_path: Path, autojump_clock: object) -> None:
        """``ReplicaManager.readFromLog`` has an error for each partition."""
        async with share_broker(tmp_path, 2) as desk:
            await desk.initialize(partitions=2)
            for index in range(2):
                desk.produce(b"a", index=index)
                desk.broker.replicas.partitions[TOPIC][index].log.roll()
            lost = desk.broker.replicas.partitions[TOPIC][0].log.segments[0]
            lost.close()
            os.unlink(lost.path)
            response = await desk.member("m").fetch(0, 1)
            assert partition_in(response, 0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert acquired_in(response, 1) == [(0, 0, 1)]

    async def test_a_renewal_fetches_nothing(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk:
            await desk.initialize()
            member = desk.member("m")
            await member.fetch()
            assert (await member.fetch(is_renew_ack=True)).error_code == ErrorCode.INVALID_REQUEST

    async def test_another_leader_is_named(self, tmp_path: Path, autojump_clock: object) -> None:
        async with share_broker(tmp_path) as desk, trio.open_nursery() as nursery:
            await desk.initialize()
            member, responses = desk.member("m"), []

            async def fetch() -> None:
                responses.append(await member.fetch(max_wait_ms=60_000))

            nursery.start_soon(fetch)
            await trio.sleep(1)
            await desk.change_leader(2)
            await trio.sleep(1)
            (response,) = responses
            data = partition_in(response)
            assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            assert data.current_leader.leader_id == 2
            assert [each.node_id for each in response.node_endpoints] == [2]


async def test_aborted_records_are_not_delivered_to_a_group_with_read_committed(
    tmp_path: Path, autojump_clock: object
) -> None:
    """``share.isolation.level``: the records of aborted transactions are archived when they are read."""
    async with share_broker(tmp_path) as desk:
        await desk.configure(share_isolation_level="read_committed")
        await desk.initialize()
        await desk.abort()
        desk.produce(b"b")
        found = await desk.member("m").acquired()
        assert 0 not in {offset for first, last, _ in found for offset in range(first, last + 1)}
        assert found[-1][1] == 2


async def test_records_follow_those_of_a_long_aborted_transaction_at_once(
    tmp_path: Path, autojump_clock: object
) -> None:
    async with share_broker(tmp_path) as desk:
        await desk.configure(share_isolation_level="read_committed", share_partition_max_record_locks="100")
        await desk.initialize()
        await desk.abort(batches=5, records=100)
        desk.produce(b"kept")
        assert await desk.member("m").acquired(max_wait_ms=10_000) == [(500, 501, 1)]  # 500 is the marker
        assert trio.current_time() < 1
