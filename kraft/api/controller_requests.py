"""The handlers that the APIs of the active controller share: at a controller's listener, and at that of a broker with
ZooKeeper, which may be the controller.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from kraft.api.context import ControllerContext, ZkBrokerContext
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError

MAX_ENTRIES: Final = 1_000
"""Not a Kafka setting. The listeners, the features or the log directories of one node: the largest have some tens."""


async def decide(controller: ControllerContext, request: Request, message: Any) -> Reply:
    """Return the controller's response once it is committed, or raise KafkaError, as ``Controller.request`` does.

    The connection's own task decides, so no handler waits for the end of a large decision: a plane's handlers also
    serve the quorum.
    """
    return Parked(partial(controller.controller.request, message, request.api_version))


async def decide_for_node(controller: ControllerContext, request: Request, message: Any) -> Reply:
    """Do the same as :func:`decide` for what a node reports of itself, which the controller decides in one step.

    Raises KafkaError INVALID_REQUEST for more than ``MAX_ENTRIES`` in an array.
    """
    for field in message.FIELDS:
        if field.is_array and len(getattr(message, field.name) or ()) > MAX_ENTRIES:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"A node has at most {MAX_ENTRIES} {field.name}.")
    return await decide(controller, request, message)


async def ask_controller(broker: ZkBrokerContext, request: Request, message: Any) -> Reply:
    """Return the response of this broker's controller, which is NOT_CONTROLLER unless it is the active one.

    Other requests are handled meanwhile: the decision may wait for ZooKeeper.
    """
    return Parked(partial(broker.controller.answer, message, request.api_version))
