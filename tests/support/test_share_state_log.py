"""The oracle of share groups notices each step that KIP-932 forbids."""

from __future__ import annotations

import pytest

from kraft.coordinator.share.records import ShareUpdate
from kraft.coordinator.share.state import ShareState, StateBatch
from tests.support.share_state_log import ShareHistory

AVAILABLE, ACKNOWLEDGED = 0, 2


def history() -> ShareHistory:
    """Offsets 0 and 1 are acknowledged, 2 was released after its second delivery, and 3 is acknowledged."""
    known = ShareHistory()
    known.add("", ShareState(0, 0, 0, 0, 0))
    known.add("", update(StateBatch(0, 1, ACKNOWLEDGED, 1), StateBatch(2, 2, AVAILABLE, 2)))
    known.add("", update(StateBatch(3, 3, ACKNOWLEDGED, 1), start_offset=2))
    return known


def update(*batches: StateBatch, start_offset: int = 0, leader_epoch: int = 1) -> ShareUpdate:
    return ShareUpdate(0, leader_epoch, start_offset, 0, batches)


@pytest.mark.parametrize(
    "change",
    [
        update(StateBatch(2, 2, ACKNOWLEDGED, 3), start_offset=2),
        update(StateBatch(3, 3, ACKNOWLEDGED, 1), start_offset=2, leader_epoch=2),
        update(StateBatch(2, 2, ACKNOWLEDGED, 2), start_offset=-1),
        ShareState(1, 0, 1, 2, 1, (StateBatch(2, 2, AVAILABLE, 2), StateBatch(3, 3, ACKNOWLEDGED, 1))),
    ],
)
def test_a_leader_may_go_on(change: ShareState | ShareUpdate) -> None:
    known = history()
    known.add("", change)
    assert known.violations == []
    assert {0, 1, 3} <= known.acknowledged


@pytest.mark.parametrize(
    ("change", "violation"),
    [
        (update(StateBatch(3, 3, AVAILABLE, 2), start_offset=2), "offset 3 was"),
        (update(StateBatch(1, 1, ACKNOWLEDGED, 1), start_offset=2), "offset 1 was below the start offset"),
        (update(StateBatch(2, 2, ACKNOWLEDGED, 1), start_offset=2), "offset 2 was"),
        (update(start_offset=3), "the start offset is past 2"),
        (update(start_offset=5), "the start offset is past 4"),
        (update(start_offset=1), "the start offset was 2, and is 1"),
        (update(start_offset=2, leader_epoch=0), "the leader epoch was 1, and is 0"),
        (ShareState(1, 0, 1, 2, 1, (StateBatch(2, 2, AVAILABLE, 2),)), "the snapshot has no state of offset 3"),
    ],
)
def test_a_step_back_is_noticed(change: ShareState | ShareUpdate, violation: str) -> None:
    known = history()
    known.add("record 7", change)
    assert any(each.startswith(f"record 7: {violation}") for each in known.violations)
