"""The shared partitions that a broker leads, with the states that their coordinator has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kraft.coordination.share_partitions import SharePartitions
from kraft.wire.errors import ErrorCode
from tests.api.shares import ACCEPT, RELEASE, partition_in, share_broker


async def test_a_former_leader_is_fenced(tmp_path: Path, autojump_clock: object) -> None:
    """The next leader's read raises the leader epoch. A write with the earlier one fails."""
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a")
        member = desk.member("m")
        await member.fetch()
        assert (await desk.state(leader_epoch=9)).error_code == ErrorCode.NONE
        refused = await member.acknowledge([(0, 0, [ACCEPT])])
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (await desk.state()).state_batches == []


async def test_a_leader_that_is_elected_again_is_fenced(tmp_path: Path, autojump_clock: object) -> None:
    """Apache's ``SharePartition`` keeps the leader epoch of its beginning. This broker did not see the leader
    between its two elections, which read the state, and may have changed it.
    """
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a")
        member = desk.member("m")
        await member.fetch()
        await desk.change_leader(2, 1)
        assert (await desk.state(leader_epoch=1)).error_code == ErrorCode.NONE
        refused = await member.acknowledge([(0, 0, [ACCEPT])])
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert (await desk.state()).state_batches == []
        assert await desk.member("n").acquired() == [(0, 0, 1)], "the state is read again, in the new epoch"


async def test_the_next_leader_goes_on(tmp_path: Path, autojump_clock: object) -> None:
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a", b"b", b"c")
        member = desk.member("m")
        await member.fetch()
        await member.acknowledge([(1, 1, [ACCEPT]), (2, 2, [RELEASE])])
        await desk.change_leader(2)
        await desk.change_leader(1)
        assert await desk.member("n").acquired() == [(0, 0, 1), (2, 2, 2)]


async def test_a_load_that_fails_by_a_defect_ends_no_broker(
    tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("a bug")

    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a")
        with monkeypatch.context() as patch:
            patch.setattr(SharePartitions, "_state_of", broken)
            response = await desk.member("m").fetch()
        assert partition_in(response).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert "cannot load the state of" in caplog.text
        assert await desk.member("n").acquired() == [(0, 0, 1)]
