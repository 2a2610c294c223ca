"""Planted bugs in the driver of whole nodes: each removes one rule, and some seed of ``virtual_faults`` must notice it.

``python -m tests.simulation.virtual_mutants`` prints the first seed that notices each.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import attrs

from kraft.control.controller import Controller
from kraft.control.metadata import Metadata
from kraft.quorum.driver import Quorum
from kraft.quorum.election import ElectionFile
from kraft.quorum.log import MetadataLog
from kraft.quorum.peers import Peer
from kraft.raft.messages import FetchSnapshotRequest
from kraft.raft.state import ElectionState
from tests.simulation.virtual_faults import run_seed

BOUND = 100


@attrs.frozen
class Mutant:
    """``broken`` returns the replacement of ``owner.method``. ``seed`` is the first that notices, by ``notice``."""

    rule: str
    owner: type
    method: str
    broken: Callable[[Callable[..., Any]], Callable[..., Any]]
    seed: int
    notice: str

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        with patch.object(self.owner, self.method, self.broken(getattr(self.owner, self.method))):
            yield


def _acknowledges_at_once(committed_as_leader: Callable[..., Any]) -> Callable[..., Any]:
    async def acknowledge(quorum: Quorum, offset: int, epoch: int) -> None:
        state = quorum.state
        if quorum.high_watermark <= getattr(state, "epoch_start", 0):
            await committed_as_leader(quorum, offset, epoch)

    return acknowledge


def _acknowledges_what_another_committed(_: Callable[..., Any]) -> Callable[..., Any]:
    async def acknowledge(quorum: Quorum, offset: int, epoch: int) -> None:
        await quorum.committed(offset)

    return acknowledge


def _fetches_no_snapshot(send: Callable[..., Any]) -> Callable[..., Any]:
    def drop(peer: Peer, wanted: Any) -> None:
        if not isinstance(wanted.request, FetchSnapshotRequest):
            send(peer, wanted)

    return drop


def _skips_what_a_snapshot_holds(_: Callable[..., Any]) -> Callable[..., Any]:
    async def skip(metadata: Metadata) -> None:
        metadata._next_offset = metadata._quorum.start_offset

    return skip


def _writes_no_votes(write: Callable[..., Any]) -> Callable[..., Any]:
    def forget(file: ElectionFile, election: ElectionState) -> None:
        write(file, attrs.evolve(election, voted_for=None))

    return forget


def _does_not_cut(_: Callable[..., Any]) -> Callable[..., Any]:
    def keep(log: MetadataLog, end_offset: int) -> None:
        pass

    return keep


def _takes_over_too_soon(activate: Callable[..., Any]) -> Callable[..., Any]:
    async def at_once(controller: Controller, epoch: int) -> Any:
        async def nothing(*_: Any) -> None:
            pass

        with (
            patch.object(controller._quorum, "committed_as_leader", nothing),
            patch.object(controller._metadata, "replayed", nothing),
        ):
            return await activate(controller, epoch)

    return at_once


MUTANTS = {
    "acknowledges at once": Mutant(
        "committed, then acknowledged", Quorum, "committed_as_leader", _acknowledges_at_once, 0, "AckedValueNotLost"
    ),
    "acknowledges what another committed": Mutant(
        "acknowledged in the epoch in which it was decided",
        Quorum,
        "committed_as_leader",
        _acknowledges_what_another_committed,
        8,
        "AckedValueNotLost",
    ),
    "fetches no snapshot": Mutant(
        "every request is sent", Peer, "send", _fetches_no_snapshot, 0, "ValuesEventuallyAcked"
    ),
    "skips what a snapshot holds": Mutant(
        "a snapshot is loaded before the log behind it",
        Metadata,
        "_load_snapshot",
        _skips_what_a_snapshot_holds,
        3,
        "metadata but no metadata.version",
    ),
    "writes no votes": Mutant("a vote outlives a kill", ElectionFile, "write", _writes_no_votes, 0, "OneVotePerEpoch"),
    "does not cut the log": Mutant(
        "what differs is cut", MetadataLog, "truncate", _does_not_cut, 1, "only a leader appends"
    ),
    "takes over too soon": Mutant(
        "a controller is active once all before its epoch is replayed",
        Controller,
        "_activate",
        _takes_over_too_soon,
        9,
        "AckedValueNotLost",
    ),
}


def main() -> None:
    for name, mutant in MUTANTS.items():
        with mutant.planted():
            outcomes = map(run_seed, range(BOUND))
            caught = next((outcome for outcome in outcomes if outcome.broken is not None), None)
        told = "survived" if caught is None else f"{caught.plan.seed:3}  {caught.broken}"
        print(f"{name:38}{told}", flush=True)


if __name__ == "__main__":
    main()
