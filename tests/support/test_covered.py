"""Coverage watches no test with the mark ``no_cover``, also in the processes of pytest-xdist."""

from __future__ import annotations

import pytest

from tests.support.node_process import environment

pytest_plugins = ["pytester"]

TESTS = """
import sys
import pytest

@pytest.fixture
def compiled_codecs():
    "Not needed here."

def test_that_is_watched():
    assert sys.gettrace() is not None

@pytest.mark.no_cover
def test_that_is_not():
    assert sys.gettrace() is None
"""


def test_the_mark_ends_the_measurement(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest-cov: "disable coverage for this test"."""
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.setenv("COVERAGE_CORE", "ctrace")  # its trace function shows whether it measures
    pytester.makeconftest("from tests.conftest import *")
    pytester.makepyfile(**{"tests/test_of_the_mark": TESTS})
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-n", "1", "--cov=kraft", "--cov-report=")
    result.assert_outcomes(passed=2)
