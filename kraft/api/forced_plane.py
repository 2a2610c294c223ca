"""The control plane with ``control.plane.force.controller.requests.enable``: it serves four APIs and refuses all
others, as an extension of KIP-291 proposes.

A client whose ``bootstrap.servers`` names the control plane gets POLICY_VIOLATION in the form of its first request,
which is ApiVersions for most clients. They log that error, and connect again after their backoff; the node logs the
reason. After INVALID_REQUEST librdkafka would send ApiVersions again at once, and for ever. Nodes know the versions of
the four APIs without ApiVersions.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import attrs

from kraft.api.context import ZkBrokerContext
from kraft.api.dispatcher import Dispatcher
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import CLOSE, LARGE_FRAME_BYTES, Parked, Reply, Request, ResponseAction
from kraft.rpc.rejections import RejectionLog
from kraft.wire.errors import ErrorCode
from kraft.wire.schema import Message

SERVED: Final = frozenset(
    {ApiKey.LEADER_AND_ISR, ApiKey.UPDATE_METADATA, ApiKey.STOP_REPLICA, ApiKey.CONTROLLED_SHUTDOWN}
)
"""The requests of a controller, and the one of a broker that stops."""
REASON: Final = "this is the control plane, which serves the controller alone; clients need another listener"


@attrs.frozen(eq=False)
class ForcedControlPlane:
    """Passes the APIs of SERVED to the dispatcher. ``rejections`` limits the lines about all others."""

    dispatcher: Dispatcher[ZkBrokerContext]
    rejections: RejectionLog

    async def handle(self, request: Request) -> Reply:
        if request.api_key in SERVED or not request.supported:  # the client tries another version of ApiVersions
            return await self.dispatcher.handle(request)
        self.rejections.refused(request.connection, f"{ApiKey(request.api_key).name}: {REASON}")
        if len(request.frame) >= LARGE_FRAME_BYTES:
            return CLOSE  # the request is not worth its decoding
        return Parked(partial(self._refuse, request))

    async def _refuse(self, request: Request) -> Message | ResponseAction:
        """Make the error response in the connection's task, so that the plane's one handler is free meanwhile."""
        api = await self.dispatcher.handlers.of(request)
        return api.error(request.message(), request.response_version, ErrorCode.POLICY_VIOLATION, REASON)
