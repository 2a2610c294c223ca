"""The brokers that responses name to clients."""

from __future__ import annotations

from kraft.messages.metadata_response import MetadataResponseBroker
from kraft.metadata.image import Image


def alive_brokers(image: Image, listener: str) -> list[MetadataResponseBroker]:
    """Return the brokers that are not fenced and have an endpoint for ``listener``."""
    found = []
    for broker_id in sorted(image.brokers):
        registered = image.brokers[broker_id]
        endpoint = registered.endpoint(listener)
        if not registered.fenced and endpoint is not None:
            found.append(MetadataResponseBroker(broker_id, endpoint.host, endpoint.port, registered.rack))
    return found
