"""Work in steps, run at once."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from kraft.metadata import steps
from kraft.metadata.steps import Steps, counted, distinct, finished, in_order


def test_the_result_of_work_that_is_run_at_once() -> None:
    def work() -> Steps[str]:
        yield 1
        yield 2
        return "done"

    assert finished(work()) == "done"


@given(st.lists(st.integers(0, 3)))
def test_counted_is_a_counter(items: list[int]) -> None:
    assert finished(counted(items)) == Counter(items)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers())))
def test_distinct_has_the_last_item_of_each_key(items: list[tuple[int, int]]) -> None:
    found = finished(distinct(items, lambda item: item[0]))
    assert list(found.items()) == list({key: (key, value) for key, value in items}.items())


@given(st.lists(st.tuples(st.integers(0, 9), st.integers())), st.integers(1, 5))
def test_parts_in_order_are_all_in_order(items: list[tuple[int, int]], at_once: int) -> None:
    with patch.object(steps, "_AT_ONCE", at_once):
        assert list(finished(in_order(items))) == sorted(items)


def test_many_items_are_counted_in_several_steps() -> None:
    items = [number % 7 for number in range(5_500)]
    assert sum(1 for _ in counted(items)) == sum(1 for _ in distinct(items, str)) == 55
