"""The payload of a response: the records or the snapshot state that a driver adds to the core's response."""

from __future__ import annotations

import attrs

from kraft.raft.messages import (
    EpochEnd,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    LogSlice,
    Request,
    Response,
)
from kraft.simulation.disk import Disk, Entry

_SNAPSHOT_PIECES = 3

Payload = tuple[Entry, ...] | int | None


def filled(request: Request, response: Response, disk: Disk, batch_limit: int) -> tuple[Response, Payload] | None:
    """Return a response with its payload, or None if the requested snapshot no longer exists."""
    if isinstance(response, FetchResponse) and response.records is not None:
        base = response.records.base_offset
        entries = disk.log.read(base, min(response.records.end_offset, base + batch_limit))
        return attrs.evolve(response, records=_runs(base, entries)), entries
    if isinstance(request, FetchSnapshotRequest) and isinstance(response, FetchSnapshotResponse):
        state = disk.snapshots.get(request.snapshot)
        return None if state is None else (attrs.evolve(response, length=1, size=_SNAPSHOT_PIECES), state)
    return response, None


def _runs(base: int, entries: tuple[Entry, ...]) -> LogSlice:
    runs: list[EpochEnd] = []
    for offset, entry in enumerate(entries, base):
        if runs and runs[-1].epoch == entry.epoch:
            runs.pop()
        runs.append(EpochEnd(entry.epoch, offset + 1))
    return LogSlice(base, tuple(runs))
