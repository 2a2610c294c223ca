"""Fetch (key 1): the metadata log, as voters and observers replicate it (KIP-595).

Versions 12 to 18: 13 names the topic by its id, 15 says who asks in a tagged field (KIP-903), 17 has directory ids and
says where the leader is (KIP-853), 18 says which high watermark the replica knows (KIP-1166).

Only the metadata log is here. Parked until the log grows beyond the offset, or ``max_wait_ms`` is over.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.quorum_requests import ask
from kraft.messages.fetch_request import FetchRequest
from kraft.messages.fetch_response import FetchResponse
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode


async def handle(plane: ControllerContext, request: Request, message: FetchRequest) -> Reply:
    return await ask(plane, request, message)


def error(message: FetchRequest, version: int, code: ErrorCode, text: str | None = None) -> FetchResponse:
    return FetchResponse(error_code=code)
