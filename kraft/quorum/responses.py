"""What other voters answer: proved before the core sees it, and damage held against whom it came from."""

from __future__ import annotations

from collections.abc import Mapping

from kraft.quorum.complaints import Complaints
from kraft.quorum.log import MetadataLog
from kraft.quorum.peers import Peer
from kraft.raft.events import Event, RequestFailed, ResponseReceived, SnapshotRejected, SnapshotStored
from kraft.raft.messages import FetchResponse, FetchSnapshotRequest
from kraft.raft.state import Follower, State
from kraft.records.batch import CorruptBatch
from kraft.wire.errors import ErrorCode


class Responses:
    """The answers of ``peers``, which are voters by their ids, to one node with its ``log``."""

    def __init__(self, log: MetadataLog, peers: Mapping[int, Peer], complaints: Complaints) -> None:
        self._log = log
        self._peers = peers
        self._complaints = complaints
        self._told = -1, -1

    def proved(self, event: ResponseReceived) -> Event:
        """Say what records came with a Fetch, which are then its payload; damaged ones are no answer."""
        response, peer = event.response, self._peers[event.to]
        if not isinstance(response, FetchResponse) or not event.payload:
            return event
        try:
            fetched = self._log.check_fetched(event.payload, response.epoch)
            if fetched is None:
                raise CorruptBatch(f"{len(event.payload)} bytes, and no whole batch")
        except CorruptBatch as error:
            peer.complain(event.request, "sent records that cannot be used, they are asked for again", f": {error}")
            return RequestFailed(event.number, event.to, event.request, answered=True)
        peer.be_content(event.request)
        response = response.bringing(fetched.records)
        return ResponseReceived(event.number, event.to, event.request, response, fetched)

    def hear(self, event: ResponseReceived, state: State) -> None:
        """Note who leads, and what the leader says is committed, which may be more than it brings in one answer.

        ``state`` is what the core made of it.
        """
        response = event.response
        self._complaints.heard_of_leader(event.to, response.leader_id)
        if not isinstance(state, Follower) or not isinstance(response, FetchResponse):
            return
        if (event.to, response.epoch, response.error) == (state.leader_id, state.epoch, ErrorCode.NONE):
            self._told = state.epoch, response.high_watermark

    def told(self, epoch: int) -> int:
        """The high watermark that the leader of ``epoch`` told last: -1 if it told none."""
        told_in, high_watermark = self._told
        return high_watermark if told_in == epoch else -1

    def judge(self, verdict: SnapshotStored | SnapshotRejected, leader_id: int, asked: FetchSnapshotRequest) -> None:
        """Hold a damaged snapshot against the leader, which it came from when that was asked."""
        peer = self._peers[leader_id]
        if isinstance(verdict, SnapshotStored):
            peer.be_content(asked)
        else:
            reason = "sent a snapshot that cannot be used, it is asked for again"
            peer.complain(asked, reason, f": {verdict.snapshot}")
