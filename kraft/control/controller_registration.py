"""Registers this controller with the active controller (KIP-919)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from uuid import UUID

import attrs
import trio

from kraft.config.features import SUPPORTED_FEATURES
from kraft.config.listeners import PLAINTEXT_ID, Endpoint
from kraft.control.controller_channel import ControllerChannel
from kraft.control.metadata import Metadata
from kraft.messages.controller_registration_request import ControllerRegistrationRequest, Feature, Listener
from kraft.messages.controller_registration_response import ControllerRegistrationResponse
from kraft.metadata.levels import CONTROLLER_REGISTRATION
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.controller")

_RETRY_S = 0.5


def registration_request(
    node_id: int, incarnation_id: UUID, advertised: Iterable[Endpoint]
) -> ControllerRegistrationRequest:
    """Return the request with which a controller registers its advertised listeners and its features."""
    return ControllerRegistrationRequest(
        controller_id=node_id,
        incarnation_id=incarnation_id,
        listeners=[Listener(each.listener, each.host, each.port, PLAINTEXT_ID) for each in advertised],
        features=[Feature(name, low, high) for name, (low, high) in SUPPORTED_FEATURES.items()],
    )


@attrs.frozen(eq=False)
class ControllerRegistration:
    """Keeps the registration ``request`` of this incarnation in the metadata."""

    channel: ControllerChannel
    metadata: Metadata
    request: ControllerRegistrationRequest

    async def run(self) -> None:
        """Register once metadata.version allows it, and again when the image has another incarnation's registration;
        forever.

        Error handling: a refused registration is logged and tried again.
        """
        subscription = self.metadata.subscribe()
        image = self.metadata.image
        while True:
            known = image.controllers.get(self.request.controller_id)
            wanted = known is None or known.incarnation_id != self.request.incarnation_id
            if wanted and image.metadata_version >= CONTROLLER_REGISTRATION:
                await self._register()
                with trio.move_on_after(_RETRY_S):
                    image, _ = await subscription.next()
            else:
                image, _ = await subscription.next()

    async def _register(self) -> None:
        try:
            response: ControllerRegistrationResponse = await self.channel.request(self.request)
        except KafkaError as error:
            logger.info("cannot register this controller, trying again: %s", error)
            return
        if response.error_code:
            name = ErrorCode(response.error_code).name
            logger.warning(
                "registration of this controller refused, trying again: %s %s", name, response.error_message or ""
            )
