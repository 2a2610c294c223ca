"""The one function that performs the effects of a step, for the drivers of nodes, simulations and transcripts.

A driver provides the world that the effects change, and makes the election state durable. So simulations and
transcripts perform the effects in the same order as a node.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kraft.raft.events import Effects, FetchedRecords, LeaderChange, Reply, Send, StoreChunk
from kraft.raft.messages import SnapshotId
from kraft.raft.state import ElectionState


class EffectsWorld(Protocol):
    """The log, the snapshots and the peers of one member. ``Effects`` defines what each method does and reports."""

    def stop(self, why: str) -> None: ...

    def truncate(self, end_offset: int) -> None: ...

    def install(self, snapshot: SnapshotId) -> None: ...

    def append(self, batches: LeaderChange | FetchedRecords) -> None: ...

    def flush(self) -> None: ...

    def store(self, chunk: StoreChunk) -> None: ...

    def reply(self, replies: list[Reply]) -> None: ...

    def send(self, sends: list[Send]) -> None: ...

    def commit(self, high_watermark: int) -> None: ...


def perform(effects: Effects, world: EffectsWorld) -> Iterator[ElectionState]:
    """Perform the effects of one step, in field order.

    Yields an election state that must become durable before the next effect. Resume the generator once it is.
    """
    if effects.fatal is not None:
        world.stop(effects.fatal)
        return
    if effects.election is not None:
        yield effects.election
    if effects.truncate is not None:
        world.truncate(effects.truncate)
    if effects.install is not None:
        world.install(effects.install)
    if effects.append is not None:
        world.append(effects.append)
    if effects.flush:
        world.flush()
    if effects.store is not None:
        world.store(effects.store)
    if effects.replies:
        world.reply(effects.replies)
    if effects.sends:
        world.send(effects.sends)
    if effects.high_watermark is not None:
        world.commit(effects.high_watermark)
