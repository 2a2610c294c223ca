"""CreatePartitions (key 37): more partitions for a topic, as brokers pass it on.

Versions 0 to 3: as at a broker.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_requests import decide
from kraft.api.create_partitions import error as error
from kraft.messages.create_partitions_request import CreatePartitionsRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: CreatePartitionsRequest) -> Reply:
    return decide(plane, request, message)
