"""Requests between members of the quorum: the handler that their APIs share at a controller's listener.

The handler checks a request, submits it to the Raft core, and adds the bytes of the log or the snapshot to the
response.
"""

from __future__ import annotations

from typing import Any

import attrs

from kraft.api.context import ControllerContext
from kraft.quorum.inbound_requests import request_value, response_message
from kraft.quorum.refusals import Refusal, RefusalReason, RefusedRequest, RequestSummary
from kraft.raft import messages as raft
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

#: The limit of a response to FetchSnapshot, in bytes: the driver waits while it reads them.
_MAX_SNAPSHOT_BYTES = 2**20


async def submit_to_quorum(controller: ControllerContext, request: Request, message: Any) -> Reply:
    """Return the core's response. A Fetch may wait for the log to grow, and any response for the disk."""
    quorum, host, version = controller.quorum, request.connection.host, request.api_version
    try:
        value = request_value(message, version, quorum.identity)
    except RefusedRequest as refused:
        quorum.note_refusal(refused.refusal, host)
        return _message(controller, version, *refused.response(quorum.epoch, quorum.leader_id))
    if isinstance(value, raft.FetchRequest) and value.replica_id >= 0:
        controller.controller.directories.note(value.replica_id, message.topics[0].partitions[0].replica_directory_id)
    limit = message.max_bytes if isinstance(value, raft.FetchRequest | raft.FetchSnapshotRequest) else 0
    pending = await quorum.submit(value, limit)

    async def answer() -> Message:
        response, data = await pending.response()
        if isinstance(value, raft.FetchSnapshotRequest) and isinstance(response, raft.FetchSnapshotResponse):
            response, data = _with_bytes(controller, host, value, response, limit)
        return _message(controller, version, value, response, data)

    return Parked(answer)


def _message(
    controller: ControllerContext, version: int, request: raft.Request, response: raft.Response, data: bytes = b""
) -> Message:
    quorum = controller.quorum
    start_offset = quorum.start_offset
    return response_message(request, response, quorum.identity, version, data=data, log_start_offset=start_offset)


def _with_bytes(
    controller: ControllerContext,
    host: str,
    fetch: raft.FetchSnapshotRequest,
    response: raft.FetchSnapshotResponse,
    limit: int,
) -> tuple[raft.FetchSnapshotResponse, bytes]:
    """Add the bytes of the snapshot to the core's response, or the error that prevented that."""
    if response.error is not ErrorCode.NONE:
        return response, b""
    try:
        data, size = controller.quorum.log.read_snapshot(
            fetch.snapshot, fetch.position, max(0, min(limit, _MAX_SNAPSHOT_BYTES))
        )
    except KafkaError as refused:
        is_gone = refused.code is ErrorCode.SNAPSHOT_NOT_FOUND
        reason = RefusalReason.SNAPSHOT_GONE if is_gone else RefusalReason.BEYOND_SNAPSHOT
        controller.quorum.note_refusal(Refusal(RequestSummary.of(fetch, fetch.replica_id), reason), host)
        return attrs.evolve(response, error=refused.code), b""
    return attrs.evolve(response, length=len(data), size=size), data
