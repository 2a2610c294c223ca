"""Checks the responses of other voters before the core sees them. Damage counts as a fault of the sender."""

from __future__ import annotations

from collections.abc import Mapping

from kraft.metadata.steps import Steps
from kraft.quorum.log import MetadataLog
from kraft.quorum.peer_warnings import PeerWarnings
from kraft.quorum.peers import Peer
from kraft.raft.events import Event, RequestFailed, ResponseReceived, SnapshotRejected, SnapshotStored
from kraft.raft.messages import FetchResponse, FetchSnapshotRequest
from kraft.raft.state import Follower, State
from kraft.records.batch import CorruptBatch
from kraft.wire.errors import ErrorCode


class Responses:
    """The responses of ``peers``, by voter id, to a node with this ``log``."""

    def __init__(self, log: MetadataLog, peers: Mapping[int, Peer], warnings: PeerWarnings) -> None:
        self._log = log
        self._peers = peers
        self._warnings = warnings
        self._leader_high_watermark = -1, -1

    def check(self, event: ResponseReceived) -> Steps[Event]:
        """Replace the bytes of a Fetch response by the checked batches. If they are damaged, return RequestFailed.

        Works in steps: a response may have 8 MiB.
        """
        response, peer = event.response, self._peers[event.to]
        if not isinstance(response, FetchResponse) or not event.payload:
            return event
        try:
            fetched = yield from self._log.check_fetched(event.payload, response.epoch)
            if fetched is None:
                raise CorruptBatch(f"{len(event.payload)} bytes without a whole batch")
        except CorruptBatch as error:
            peer.note_fault(event.request, "sent invalid records, which this node fetches again", f": {error}")
            return RequestFailed(event.number, event.to, event.request, answered=True)
        peer.note_success(event.request)
        response = response.with_records(fetched.records)
        return ResponseReceived(event.number, event.to, event.request, response, fetched)

    def note_leader(self, event: ResponseReceived, state: State) -> None:
        """Note the leader in a response, and the high watermark of the leader that the core follows.

        That high watermark may be higher than the records of one response reach. ``state`` is the core's state after
        the response.
        """
        response = event.response
        self._warnings.check_leader(event.to, response.leader_id)
        if not isinstance(state, Follower) or not isinstance(response, FetchResponse):
            return
        if (event.to, response.epoch, response.error) == (state.leader_id, state.epoch, ErrorCode.NONE):
            self._leader_high_watermark = state.epoch, response.high_watermark

    def leader_high_watermark(self, epoch: int) -> int:
        """Return the newest high watermark from the leader of ``epoch``, or -1 if it sent none."""
        noted_in, high_watermark = self._leader_high_watermark
        return high_watermark if noted_in == epoch else -1

    def note_checked_snapshot(
        self, outcome: SnapshotStored | SnapshotRejected, leader_id: int, request: FetchSnapshotRequest
    ) -> None:
        """Count a damaged snapshot as a fault of the leader, which sent it in response to ``request``."""
        peer = self._peers[leader_id]
        if isinstance(outcome, SnapshotStored):
            peer.note_success(request)
        else:
            reason = "sent an invalid snapshot, which this node fetches again"
            peer.note_fault(request, reason, f": {outcome.snapshot}")
