"""CreatePartitions (key 37): more partitions for a topic, as brokers pass it on.

Versions 0 to 3: as at a broker.
"""

from __future__ import annotations

from kraft.messages.create_partitions_request import CreatePartitionsRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.deciding import decide
from kraft.node.handlers.create_partitions import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: CreatePartitionsRequest) -> Reply:
    return decide(plane, request, message)
