"""/controller, the ephemeral znode of the active controller, and /controller_epoch.

Version 2 of /controller has the epoch of the KRaft controller that took over in a migration (KIP-866); -1 without one.
"""

from __future__ import annotations

import attrs

from kraft.zookeeper.znodes.fields import MAX_INTEGER, MalformedZnode, decode_integer, decode_object, encode_json

CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
INITIAL_EPOCH = 0
NO_KRAFT_EPOCH = -1


@attrs.frozen
class ControllerZnode:
    """The data of /controller."""

    broker_id: int
    timestamp_ms: int
    kraft_epoch: int = NO_KRAFT_EPOCH


def encode_controller(controller: ControllerZnode) -> bytes:
    return encode_json(
        {
            "version": 2,
            "brokerid": controller.broker_id,
            "timestamp": str(controller.timestamp_ms),
            "kraftControllerEpoch": controller.kraft_epoch,
        }
    )


def decode_controller(data: bytes | None) -> ControllerZnode:
    """Read versions 1 and 2. Raises MalformedZnode."""
    fields = decode_object(CONTROLLER, data)
    return ControllerZnode(
        fields.integer("brokerid"),
        fields.long_in_text("timestamp") if "timestamp" in fields else 0,
        fields.integer("kraftControllerEpoch", NO_KRAFT_EPOCH),
    )


def encode_controller_epoch(epoch: int) -> bytes:
    return str(epoch).encode()


def decode_controller_epoch(data: bytes | None) -> int:
    """Raises MalformedZnode."""
    epoch = decode_integer(CONTROLLER_EPOCH, data)
    if not 0 <= epoch < MAX_INTEGER:
        raise MalformedZnode(CONTROLLER_EPOCH, f"no controller can follow one of epoch {epoch}")
    return epoch
