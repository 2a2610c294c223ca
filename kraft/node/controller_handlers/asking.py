"""What one member of the quorum asks another: checked, put to the core, answered with the bytes that belong to it."""

from __future__ import annotations

from typing import Any

import attrs

from kraft.node.control_plane import ControlPlane
from kraft.node.quorum.refusals import Asked, Doubt, Refusal, Refused
from kraft.node.quorum.service import request_value, response_message
from kraft.raft import messages as raft
from kraft.rpc.channel import Parked, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

#: The most of a snapshot in one answer: few enough to be read at once, while the quorum waits.
_PIECE_BYTES = 2**20


def ask(plane: ControlPlane, request: Request, message: Any) -> Parked:
    """The quorum's answer. A Fetch may wait for the log to grow, and any answer for the disk."""

    async def answer() -> Message:
        return await _answer(plane, request.connection.host, message, request.api_version)

    return Parked(answer)


async def _answer(plane: ControlPlane, host: str, message: Any, version: int) -> Message:
    """``host`` is where the request comes from. Raises KafkaError if it is refused as a whole."""
    quorum, identity = plane.quorum, plane.quorum.identity
    data = b""
    try:
        asked = request_value(message, version, identity)
    except Refused as refused:
        quorum.note_refusal(refused.refusal, host)
        asked, response = refused.answer(quorum.epoch, quorum.leader_id)
    else:
        if isinstance(asked, raft.FetchRequest) and asked.replica_id >= 0:
            plane.controller.directories.note(asked.replica_id, message.topics[0].partitions[0].replica_directory_id)
        limit = message.max_bytes if isinstance(asked, raft.FetchRequest | raft.FetchSnapshotRequest) else 0
        answer = await quorum.answer(asked, limit)
        response, data = answer.response, answer.data
        if isinstance(asked, raft.FetchSnapshotRequest) and isinstance(response, raft.FetchSnapshotResponse):
            response, data = _with_piece(plane, host, asked, response, limit)
    return response_message(asked, response, identity, version, data=data, log_start_offset=quorum.start_offset)


def _with_piece(
    plane: ControlPlane, host: str, asked: raft.FetchSnapshotRequest, response: raft.FetchSnapshotResponse, limit: int
) -> tuple[raft.FetchSnapshotResponse, bytes]:
    """The core's consent, with the bytes; or why there are none after all."""
    if response.error is not ErrorCode.NONE:
        return response, b""
    try:
        data, size = plane.quorum.log.read_snapshot(asked.snapshot, asked.position, max(0, min(limit, _PIECE_BYTES)))
    except KafkaError as refused:
        doubt = Doubt.SNAPSHOT_GONE if refused.code is ErrorCode.SNAPSHOT_NOT_FOUND else Doubt.BEYOND_SNAPSHOT
        plane.quorum.note_refusal(Refusal(Asked.of(asked, asked.replica_id), doubt), host)
        return attrs.evolve(response, error=refused.code), b""
    return attrs.evolve(response, length=len(data), size=size), data
