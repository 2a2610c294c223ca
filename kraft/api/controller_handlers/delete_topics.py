"""DeleteTopics (key 20): topics go, with all that was in them; as brokers pass it on.

Versions 1 to 6: as at a broker.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.api.delete_topics import error as error
from kraft.messages.delete_topics_request import DeleteTopicsRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: DeleteTopicsRequest) -> Reply:
    return decide(plane, request, message)
