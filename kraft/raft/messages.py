"""The requests and responses of the members of a quorum (KIP-595, KIP-630, KIP-996), as values.

They have only the fields that the protocol decides on. The driver adds cluster ids, directory ids, endpoints and the
bytes of records and snapshots to outgoing messages, and checks them in incoming ones.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from kraft.wire.errors import ErrorCode


class SnapshotId(NamedTuple):
    """A snapshot of everything below ``end_offset``; ``epoch`` is the epoch of its last record (KIP-630)."""

    end_offset: int
    epoch: int


class EpochEnd(NamedTuple):
    """The end (exclusive) of a log's records of ``epoch``."""

    epoch: int
    end_offset: int


@attrs.frozen
class LogSlice:
    """A piece of a log from ``base_offset`` on: one run of records per epoch, oldest first."""

    base_offset: int
    runs: tuple[EpochEnd, ...]

    @property
    def end_offset(self) -> int:
        return self.runs[-1].end_offset


@attrs.frozen
class VoteRequest:
    """Requests a vote in ``epoch``; with ``pre_vote``, whether the voter would grant it (KIP-996).

    ``last_offset`` is the end (exclusive) of the candidate's log, ``last_epoch`` the epoch of its last record.
    """

    epoch: int
    candidate_id: int
    last_offset: int
    last_epoch: int
    pre_vote: bool = False


@attrs.frozen
class BeginQuorumEpochRequest:
    """The leader of ``epoch`` announces itself."""

    epoch: int
    leader_id: int


@attrs.frozen
class EndQuorumEpochRequest:
    """The leader of ``epoch`` resigns; ``preferred_successors`` are the voters, the best candidate first."""

    epoch: int
    leader_id: int
    preferred_successors: tuple[int, ...]


@attrs.frozen
class FetchRequest:
    """Requests the log from ``fetch_offset`` on. Everything below it is durable at ``replica_id``.

    ``high_watermark`` is the replica's high watermark, None if its version of Fetch lacks the field (KIP-1166).
    """

    epoch: int
    replica_id: int
    fetch_offset: int
    last_fetched_epoch: int
    max_wait_s: float
    high_watermark: int | None = None


@attrs.frozen
class FetchSnapshotRequest:
    """Requests the bytes of a snapshot from ``position`` on."""

    epoch: int
    replica_id: int
    snapshot: SnapshotId
    position: int


Request = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest | FetchSnapshotRequest


@attrs.frozen
class VoteResponse:
    error: ErrorCode
    epoch: int
    leader_id: int | None
    granted: bool = False


@attrs.frozen
class BeginQuorumEpochResponse:
    error: ErrorCode
    epoch: int
    leader_id: int | None


@attrs.frozen
class EndQuorumEpochResponse:
    error: ErrorCode
    epoch: int
    leader_id: int | None


@attrs.frozen
class FetchResponse:
    """At most one of records, the diverging epoch (``diverging``), and the snapshot to fetch (``snapshot``).

    A leader's core names all records from the fetch offset on in ``records``. Its driver may send fewer. The follower's
    driver reports those that arrived.
    """

    error: ErrorCode
    epoch: int
    leader_id: int | None
    high_watermark: int = -1
    records: LogSlice | None = None
    diverging: EpochEnd | None = None
    snapshot: SnapshotId | None = None

    def with_records(self, records: LogSlice | None) -> FetchResponse:
        """Return the same response with these records."""
        known = self.error, self.epoch, self.leader_id, self.high_watermark
        return FetchResponse(*known, records, self.diverging, self.snapshot)


@attrs.frozen
class FetchSnapshotResponse:
    """``length`` bytes at ``position`` of a snapshot of ``size`` bytes. A leader's driver sets the numbers."""

    error: ErrorCode
    epoch: int
    leader_id: int | None
    position: int = 0
    length: int = 0
    size: int = 0


Response = VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse | FetchSnapshotResponse
