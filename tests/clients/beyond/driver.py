"""A driver: a program in the client's own language that tries feature after feature and prints one JSON line for each.

It is run once, because its runtime is dear to start; each line then becomes a test of its own.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence

import attrs
import pytest

from tests.clients.features import FEATURES

# Below pytest's limit for one test, so that the results before a hang still count.
RUN_LIMIT_S = 400.0


@attrs.frozen
class Outcome:
    ok: bool
    detail: str


@attrs.frozen
class Run:
    """The results of a driver, and how it ended."""

    outcomes: Mapping[str, Outcome]
    end: str

    def expect(self, feature: str) -> str:
        """Return the driver's text about a feature that worked. Any other result fails the test with the driver's
        text.
        """
        outcome = self.outcomes.get(feature)
        if outcome is None:
            pytest.fail(f"the driver did not come to {feature}: {self.end}", pytrace=False)
        if not outcome.ok:
            pytest.fail(outcome.detail, pytrace=False)
        return outcome.detail


def run_driver(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Run:
    """Run a driver to its end, or to ``RUN_LIMIT_S``."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        output, errors = process.communicate(timeout=RUN_LIMIT_S)
        end = f"it ended with status {process.returncode}"
    except subprocess.TimeoutExpired:
        process.kill()
        output, errors = process.communicate()
        end = f"it was still running after {RUN_LIMIT_S:.0f} s"
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return Run({one["feature"]: Outcome(one["ok"], one["detail"]) for one in found}, f"{end}\n{errors[-4000:]}")


def each_feature(clients: Iterable[str], extras: Iterable[str] = ()) -> pytest.MarkDecorator:
    """Run a test for every client and every row of the report card, and for ``extras``, which have no row."""
    rows = [
        pytest.param(client, feature, marks=pytest.mark.feature(client, feature), id=f"{client}-{feature}")
        for client in clients
        for feature in FEATURES
    ]
    others = [pytest.param(client, feature, id=f"{client}-{feature}") for client in clients for feature in extras]
    return pytest.mark.parametrize(("client_name", "feature"), rows + others)
