"""Our controllers and Apache Kafka's vote, lead, follow and come back in one quorum, and write the same log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.interop.mixed import mixes, name_of, run_mix
from tests.support.node_process import Kind

pytestmark = pytest.mark.interop

KILLS = 10


@pytest.mark.parametrize("kinds", [pytest.param(kinds, id=name) for name, kinds in mixes().items()])
def test_either_side_takes_over_and_the_logs_stay_equal(tmp_path: Path, kinds: Sequence[Kind]) -> None:
    """KIP-595 across implementations: ten leaders ended, some by ``kill -9``, some by SIGTERM."""
    outcome = run_mix(tmp_path, kinds, KILLS)
    for change in outcome.changes:
        print(change)
    print(f"{outcome.topics} topics, offsets {outcome.offsets}")
    assert set(outcome.elections_won()) == {name_of(kind) for kind in kinds}
    assert outcome.offsets[0] == 0
