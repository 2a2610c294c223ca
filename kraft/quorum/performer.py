"""Performs the effects of the core on a node: on its log, its snapshots, its peers and its pending requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kraft.quorum.batches import FetchedBatches
from kraft.quorum.election import ElectionFile
from kraft.quorum.flusher import Flusher
from kraft.quorum.log import MetadataLog
from kraft.quorum.peer_warnings import PeerWarnings
from kraft.quorum.peers import Peer
from kraft.quorum.pending import PendingRequests
from kraft.quorum.snapshot_check import SnapshotCheck
from kraft.raft.events import (
    Effects,
    ElectionStateWritten,
    Event,
    FetchedRecords,
    LeaderChange,
    Reply,
    Send,
    SnapshotRejected,
    StoreChunk,
)
from kraft.raft.messages import SnapshotId
from kraft.raft.perform import perform
from kraft.storage.errors import StorageError
from kraft.world.world import World


class Performer:
    """The effects world of one node, for ``kraft.raft.perform``. ``publish`` takes each new high watermark."""

    def __init__(
        self,
        log: MetadataLog,
        world: World,
        election_file: ElectionFile,
        flusher: Flusher,
        snapshot_check: SnapshotCheck,
        pending: PendingRequests,
        peers: Mapping[int, Peer],
        warnings: PeerWarnings,
        publish: Callable[[int], None],
    ) -> None:
        self._log = log
        self._world = world
        self._election_file = election_file
        self._flusher = flusher
        self._snapshot_check = snapshot_check
        self._pending = pending
        self._peers = peers
        self._warnings = warnings
        self._publish = publish
        self._follow_ups: list[Event] = []

    async def perform(self, effects: Effects) -> Sequence[Event]:
        """Perform the effects of one step, and return the events that follow from them.

        The driver steps the core with these events before any other one.
        """
        self._follow_ups = []
        if effects.truncate is not None or effects.install is not None:
            await self._flusher.idle()
        for election in perform(effects, self):
            await self._world.in_thread(self._election_file.write, election)
            self._follow_ups.append(ElectionStateWritten(election))
        return self._follow_ups

    # The world that the core's effects change: ``kraft.raft.perform.EffectsWorld``.

    def stop(self, why: str) -> None:
        raise StorageError(f"{self._log.directory}: {why}; this node stops to protect its log")

    def truncate(self, end_offset: int) -> None:
        self._log.truncate(end_offset)
        self._flusher.want()

    def install(self, snapshot: SnapshotId) -> None:
        self._log.install(snapshot)
        self._flusher.want()

    def append(self, batches: LeaderChange | FetchedRecords) -> None:
        if isinstance(batches, LeaderChange):
            self._log.append_leader_change(batches, self._world.clock.now_ms())
            return
        fetched: FetchedBatches = batches.payload
        self._log.append_fetched(fetched, self._world.clock.now_ms())
        if fetched.opens_epoch:
            self._warnings.check_voters(fetched.data, fetched.leader_epoch)

    def flush(self) -> None:
        self._flusher.want()

    def store(self, chunk: StoreChunk) -> None:
        if not self._snapshot_check.store(chunk):
            self._follow_ups.append(SnapshotRejected(chunk.snapshot))

    def reply(self, replies: list[Reply]) -> None:
        self._pending.complete(replies)

    def send(self, sends: list[Send]) -> None:
        for send in sends:
            self._peers[send.to].send(send)

    def commit(self, high_watermark: int) -> None:
        self._publish(high_watermark)
