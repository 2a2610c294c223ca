"""ShareAcknowledge: outcomes of acquired records, and the refusals of Apache's ``SharePartition`` and ``KafkaApis``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kraft.api import share_acknowledge
from kraft.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kraft.wire.errors import ErrorCode
from tests.api.shares import ACCEPT, GROUP, REJECT, RELEASE, RENEW, acquired_in, share_broker

GAP = 0


async def test_each_record_has_its_own_outcome(tmp_path: Path) -> None:
    """One type for each offset. A gap and a reject end the record, a release frees it."""
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(*b"a b c d".split())
        member = desk.member("m")
        await member.fetch()
        assert (await member.acknowledge([(0, 3, [ACCEPT, RELEASE, REJECT, GAP])])).error_code == ErrorCode.NONE
        state = await desk.state()
        found = [(each.first_offset, each.last_offset, each.delivery_state) for each in state.state_batches]
        assert found == [(0, 0, 2), (1, 1, 0), (2, 3, 4)]
        assert await member.acquired() == [(1, 1, 2)]


async def test_the_response_waits_for_the_write(tmp_path: Path) -> None:
    """An outcome that is answered is kept: the state has it by then."""
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a", b"b")
        member = desk.member("m")
        await member.fetch()
        await member.acknowledge([(0, 0, [ACCEPT])])
        assert [each.delivery_state for each in (await desk.state()).state_batches] == [2]


@pytest.mark.parametrize(
    ("batches", "code"),
    [
        ([(1, 0, [ACCEPT])], ErrorCode.INVALID_REQUEST),
        ([(1, 1, [ACCEPT]), (0, 0, [ACCEPT])], ErrorCode.INVALID_REQUEST),
        ([(0, 0, [])], ErrorCode.INVALID_REQUEST),
        ([(0, 2, [ACCEPT, ACCEPT])], ErrorCode.INVALID_REQUEST),
        ([(0, 0, [-1])], ErrorCode.INVALID_REQUEST),
        ([(0, 0, [5])], ErrorCode.INVALID_REQUEST),
        ([(0, 0, [RENEW])], ErrorCode.INVALID_REQUEST),
        ([(0, 9, [ACCEPT])], ErrorCode.INVALID_REQUEST),
        ([(7, 9, [ACCEPT])], ErrorCode.INVALID_REQUEST),
        ([(0, 1, [ACCEPT]), (1, 1, [ACCEPT])], ErrorCode.INVALID_RECORD_STATE),
    ],
)
async def test_malformed_batches_change_nothing(
    tmp_path: Path, batches: Sequence[tuple[int, int, Sequence[int]]], code: ErrorCode
) -> None:
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a", b"b", b"c")
        member = desk.member("m")
        await member.fetch()
        assert (await member.acknowledge(batches)).error_code == code
        assert (await desk.state()).state_batches == []
        assert (await member.acknowledge([(0, 2, [ACCEPT])])).error_code == ErrorCode.NONE


async def test_only_the_holder_acknowledges_and_only_once(tmp_path: Path) -> None:
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a", b"b")
        one, two = desk.member("one"), desk.member("two")
        await one.fetch()
        await two.fetch()
        assert (await two.acknowledge([(0, 0, [ACCEPT])])).error_code == ErrorCode.INVALID_RECORD_STATE
        assert (await one.acknowledge([(1, 1, [ACCEPT])])).error_code == ErrorCode.NONE
        assert (await one.acknowledge([(1, 1, [ACCEPT])])).error_code == ErrorCode.INVALID_RECORD_STATE
        assert (await one.acknowledge([(0, 1, [ACCEPT])])).error_code == ErrorCode.INVALID_RECORD_STATE
        assert (await one.acknowledge([(0, 0, [ACCEPT])])).error_code == ErrorCode.NONE
        assert (await one.acknowledge([(0, 0, [ACCEPT])])).error_code == ErrorCode.NONE, "it is below the start offset"


async def test_a_session_is_needed(tmp_path: Path) -> None:
    """``acknowledgeSessionUpdate``: epoch 0 is invalid here."""
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        member = desk.member("m")
        batches = [(0, 0, [ACCEPT])]
        assert (await member.acknowledge(batches, epoch=0)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH
        assert (await member.acknowledge(batches, epoch=1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
        assert (await member.acknowledge(batches, epoch=-1)).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND
        await member.fetch()
        assert (await member.acknowledge(batches, epoch=7)).error_code == ErrorCode.INVALID_SHARE_SESSION_EPOCH


async def test_the_final_epoch_acknowledges_and_closes(tmp_path: Path, autojump_clock: object) -> None:
    async with share_broker(tmp_path) as desk:
        await desk.initialize()
        desk.produce(b"a", b"b")
        one, two = desk.member("one"), desk.member("two")
        await one.fetch()
        assert (await one.acknowledge([(0, 0, [ACCEPT])], epoch=-1)).error_code == ErrorCode.NONE
        assert acquired_in(await two.fetch(max_wait_ms=1000)) == [(1, 1, 2)]
        assert (await one.acknowledge([(1, 1, [ACCEPT])])).error_code == ErrorCode.SHARE_SESSION_NOT_FOUND


async def test_renewals_can_be_off(tmp_path: Path) -> None:
    """``share.renew.acknowledge.enable`` of the group."""
    async with share_broker(tmp_path) as desk:
        await desk.configure(share_renew_acknowledge_enable="false")
        await desk.initialize()
        desk.produce(b"a")
        member = desk.member("m")
        await member.fetch()
        refused = await member.acknowledge([(0, 0, [RENEW])], is_renew_ack=True)
        assert refused.error_code == ErrorCode.INVALID_RECORD_STATE


@pytest.mark.parametrize(("group", "member"), [(None, "m"), (GROUP, None), (GROUP, ""), (GROUP, "m" * 37)])
async def test_without_a_group_or_a_member(tmp_path: Path, group: str | None, member: str | None) -> None:
    async with share_broker(tmp_path) as desk:
        response = await desk.call(share_acknowledge, ShareAcknowledgeRequest(group, member))
        assert response.error_code == ErrorCode.INVALID_REQUEST
