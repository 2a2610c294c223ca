"""The states of a group and their transitions."""

from __future__ import annotations

from itertools import product

import pytest

from kraft.coordinator.groups.group import TRANSITIONS, Group, GroupState

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState


def test_the_moves_are_those_of_the_classic_protocol() -> None:
    """The table equals the valid previous states of Apache Kafka's states. Dead is final."""
    before = {
        EMPTY: {PREPARING},
        PREPARING: {STABLE, COMPLETING, EMPTY},
        COMPLETING: {PREPARING},
        STABLE: {COMPLETING},
        DEAD: {STABLE, PREPARING, COMPLETING, EMPTY},
    }
    assert {(a, b) for a, b in product(GroupState, GroupState) if b in TRANSITIONS[a]} == {
        (a, b) for b, sources in before.items() for a in sources
    }


@pytest.mark.parametrize(("source", "target"), list(product(GroupState, GroupState)))
def test_no_other_move_is_made(source: GroupState, target: GroupState) -> None:
    group = Group("g", source)
    if target in TRANSITIONS[source]:
        group.become(target, 7)
        assert (group.state, group.state_since_ms) == (target, 7)
    else:
        with pytest.raises(AssertionError):
            group.become(target, 7)
