"""Requests that change metadata are the controller's: any broker takes them and passes them on (KIP-590).

To the controller of another node they go as they came, in an Envelope that says who sent them.
"""

from __future__ import annotations

import logging
from typing import Any

from kraft.api.context import BrokerContext
from kraft.api.envelope import disclose, seal
from kraft.messages.envelope_response import EnvelopeResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import CLOSE, Parked, Request
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.node")


def forward(broker: BrokerContext, request: Request, message: Any) -> Parked:
    """The controller's answer, once it is committed."""

    async def answer() -> Any:
        response = await broker.change(message, request.api_version, envelope=seal(request))
        if not isinstance(response, EnvelopeResponse):
            return response
        try:
            return disclose(request, response)
        except KafkaError as refused:
            if refused.code is ErrorCode.UNSUPPORTED_VERSION:
                # What was offered to this client holds no more: let it connect and ask anew.
                return CLOSE
            logger.error("an Envelope with %s was refused: %s", ApiKey(request.api_key).name, refused)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from refused

    return Parked(answer)
