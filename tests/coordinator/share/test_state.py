"""Merging delivery states: one batch of states over another."""

from __future__ import annotations

import itertools
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kraft.coordinator.share.state import SharePartitionKey, StateBatch, combined
from kraft.metadata.steps import finished

BATCHES = st.lists(
    st.builds(
        lambda first, more, state, count: StateBatch(first, first + more, state, count),
        st.integers(0, 30),
        st.integers(0, 12),
        st.sampled_from([0, 2, 4]),
        st.integers(1, 3),
    ),
    max_size=12,
)


@given(BATCHES, st.integers(-1, 35))
def test_each_offset_has_the_strongest_state(batches: list[StateBatch], start_offset: int) -> None:
    """Apache's ``PersisterStateBatchCombiner``: more deliveries, then the later state; nothing below the start."""
    expected: dict[int, tuple[int, int]] = {}
    for first, last, state, count in batches:
        for offset in range(max(first, start_offset), last + 1):
            expected[offset] = max(expected.get(offset, (0, 0)), (count, state))
    found = finished(combined(batches, start_offset))
    assert {
        offset: (each.delivery_count, each.delivery_state)
        for each in found
        for offset in range(each.first_offset, each.last_offset + 1)
    } == expected
    for before, after in itertools.pairwise(found):
        assert before.last_offset < after.first_offset
        assert before.last_offset + 1 < after.first_offset or before[2:] != after[2:]


def test_the_key_of_a_share_partition_is_that_of_find_coordinator() -> None:
    """KIP-932: ``groupId:topicId:partition``, and the topic id in base64."""
    assert SharePartitionKey("g", UUID(int=1), 3).coordinator_key == "g:AAAAAAAAAAAAAAAAAAAAAQ:3"
