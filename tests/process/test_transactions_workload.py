"""Lists grow under transactions of real clients, while nodes of their cluster are killed, paused and cut off.

The short run. ``python -m tests.transactions_workload`` has the long one, with more kinds of faults. The order of
victims is drawn from a seed, which is printed; ``KRAFT_TRANSACTIONS_SEED=N`` draws another.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.support.faults import Fault, cut_off, killed, paused
from tests.support.node_process import RELEASE
from tests.transactions_workload.campaign import run
from tests.transactions_workload.checker import forbidden
from tests.transactions_workload.history import Outcome

SEED = int(os.environ.get("KRAFT_TRANSACTIONS_SEED", "98"))
LONGEST_FAULT_S = 2.0
WITH_EPOCH_BUMPS = "4.0"


@pytest.mark.parametrize(
    ("release", "faults"),
    [(RELEASE, (killed, paused, cut_off)), (WITH_EPOCH_BUMPS, (killed, paused))],
    ids=["transaction.version 0", "transaction.version 2"],
)
def test_faults_leave_every_transaction_whole_or_invisible(
    tmp_path: Path, release: str, faults: tuple[Fault, ...]
) -> None:
    """KIP-98: "all messages in a batch are consumed or none of them are", over partitions and with the offsets.

    librdkafka's producers keep the first protocol. At level 2 the coordinator's own aborts bump the epoch (KIP-890).
    """
    print(f"KRAFT_TRANSACTIONS_SEED={SEED}")
    result = run(tmp_path, random.Random(SEED), faults, longest_s=LONGEST_FAULT_S, release=release)
    print(result.summary())
    assert forbidden(result.anomalies) == []
    assert result.tracebacks == []
    assert Outcome.COMMITTED in {each.outcome for each in result.history.transactions}, "else the run has shown nothing"
