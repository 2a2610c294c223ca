"""What nodes say to each other: the work of a driver between its core and the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from kraft.raft.events import Reply, ResponseReceived, Send
from kraft.raft.messages import (
    EpochEnd,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    LogSlice,
    Request,
    Response,
)
from kraft.simulation.disk import Entry

if TYPE_CHECKING:
    from kraft.simulation.node import SimulatedNode

_SNAPSHOT_PIECES = 3


@attrs.frozen
class Caller:
    """Who waits for the answer to a request, and under which number. ``life`` tells a restarted node from the old."""

    node_id: int
    life: int
    number: int
    request: Request


def send(node: SimulatedNode, send: Send) -> None:
    """Send a request of the core's. One whose peers are older leaves out what they do not know."""
    world, request = node.world, send.request
    world.monitor.on_spoken(node, request.epoch)
    if isinstance(request, FetchRequest):
        world.history.on_fetch(node, request)
        if not world.knobs.knows_high_watermark:
            request = attrs.evolve(request, high_watermark=None)
    world.send_request(node, send.to, Caller(node.node_id, node.life, send.number, request))


def reply(node: SimulatedNode, reply: Reply) -> None:
    """Send an answer of the core's, with the records or the state that it speaks of."""
    world, caller = node.world, node.callers.pop(reply.request_id)
    response: Response = reply.response
    payload: Any = None
    world.monitor.on_reply(node, caller.request, response)
    if isinstance(response, FetchResponse) and response.records is not None:
        base = response.records.base_offset
        payload = node.disk.log.read(base, min(response.records.end_offset, base + world.batch_limit))
        response = attrs.evolve(response, records=_runs(base, payload))
    elif isinstance(caller.request, FetchSnapshotRequest) and isinstance(response, FetchSnapshotResponse):
        payload = node.disk.snapshots.get(caller.request.snapshot)
        response = attrs.evolve(response, length=1, size=_SNAPSHOT_PIECES)
        if payload is None:
            return  # it was deleted; the peer asks again
    answer = ResponseReceived(caller.number, node.node_id, caller.request, response)
    world.send_response(node, caller, answer, payload)


def _runs(base: int, entries: tuple[Entry, ...]) -> LogSlice:
    runs: list[EpochEnd] = []
    for offset, entry in enumerate(entries, base):
        if runs and runs[-1].epoch == entry.epoch:
            runs.pop()
        runs.append(EpochEnd(entry.epoch, offset + 1))
    return LogSlice(base, tuple(runs))
