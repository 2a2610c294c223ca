"""The sweep runs every case, reports each one that failed by name, and passes fixtures on."""

from __future__ import annotations

import pytest

from tests.support.sweep import sweep


@pytest.fixture
def limit() -> int:
    return 2


@sweep(("number", "kind"), [(1, int), (2, str)])
def test_cases_and_fixtures_arrive(number: int, kind: type, limit: int) -> None:
    assert number <= limit
    assert isinstance(kind, type)


def test_every_failed_case_is_named() -> None:
    ran = []

    def check(number: int) -> None:
        ran.append(number)
        assert number % 2

    with pytest.raises(ExceptionGroup, match="2 of 4 cases failed") as caught:
        sweep(("number",), [(1,), (2,), (3,), (4,)])(check)()
    assert ran == [1, 2, 3, 4]
    assert [failure.__notes__ for failure in caught.value.exceptions] == [["case: 2"], ["case: 4"]]


def test_a_sweep_has_cases() -> None:
    with pytest.raises(ValueError, match="without a case"):
        sweep(("number",), [])
