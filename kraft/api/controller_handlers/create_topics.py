"""CreateTopics (key 19): topics with partitions, replicas and settings, as brokers pass it on.

Versions 2 to 7: as at a broker.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.api.create_topics import error as error
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: CreateTopicsRequest) -> Reply:
    return decide(plane, request, message)
