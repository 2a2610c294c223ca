"""Requests of the quorum's members to each other: the handler that their APIs share at a controller's listener.

A request is checked, put to the Raft core, and answered with the bytes of the log or the snapshot that belong to it.
"""

from __future__ import annotations

from typing import Any

import attrs

from kraft.api.context import ControllerContext
from kraft.quorum.refusals import Asked, Doubt, Refusal, Refused
from kraft.quorum.service import request_value, response_message
from kraft.raft import messages as raft
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

#: The most of a snapshot in one answer: few enough to be read at once, while the quorum waits.
_PIECE_BYTES = 2**20


async def ask_quorum(controller: ControllerContext, request: Request, message: Any) -> Reply:
    """The quorum's answer. A Fetch may wait for the log to grow, and any answer for the disk."""
    quorum, host, version = controller.quorum, request.connection.host, request.api_version
    try:
        value = request_value(message, version, quorum.identity)
    except Refused as refused:
        quorum.note_refusal(refused.refusal, host)
        return _message(controller, version, *refused.answer(quorum.epoch, quorum.leader_id))
    if isinstance(value, raft.FetchRequest) and value.replica_id >= 0:
        controller.controller.directories.note(value.replica_id, message.topics[0].partitions[0].replica_directory_id)
    limit = message.max_bytes if isinstance(value, raft.FetchRequest | raft.FetchSnapshotRequest) else 0
    question = await quorum.ask(value, limit)

    async def answer() -> Message:
        answer = await question.answer()
        response, data = answer.response, answer.data
        if isinstance(value, raft.FetchSnapshotRequest) and isinstance(response, raft.FetchSnapshotResponse):
            response, data = _with_piece(controller, host, value, response, limit)
        return _message(controller, version, value, response, data)

    return Parked(answer)


def _message(
    controller: ControllerContext, version: int, request: raft.Request, response: raft.Response, data: bytes = b""
) -> Message:
    quorum = controller.quorum
    start_offset = quorum.start_offset
    return response_message(request, response, quorum.identity, version, data=data, log_start_offset=start_offset)


def _with_piece(
    controller: ControllerContext,
    host: str,
    asked: raft.FetchSnapshotRequest,
    response: raft.FetchSnapshotResponse,
    limit: int,
) -> tuple[raft.FetchSnapshotResponse, bytes]:
    """The core's consent, with the bytes; or why there are none after all."""
    if response.error is not ErrorCode.NONE:
        return response, b""
    try:
        data, size = controller.quorum.log.read_snapshot(
            asked.snapshot, asked.position, max(0, min(limit, _PIECE_BYTES))
        )
    except KafkaError as refused:
        doubt = Doubt.SNAPSHOT_GONE if refused.code is ErrorCode.SNAPSHOT_NOT_FOUND else Doubt.BEYOND_SNAPSHOT
        controller.quorum.note_refusal(Refusal(Asked.of(asked, asked.replica_id), doubt), host)
        return attrs.evolve(response, error=refused.code), b""
    return attrs.evolve(response, length=len(data), size=size), data
