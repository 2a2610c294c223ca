"""Generated from spec/UpdateRaftVoterResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["CurrentLeader", "UpdateRaftVoterResponse"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class CurrentLeader(Message):
    """The leader this server knows of. (0+)

    Attributes:
        leader_id: Id of the leader, or -1 if there is none.
        leader_epoch: Newest epoch the server knows, or -1.
        host: Host name or address to connect to.
        port: Port to connect to.
    """

    leader_id: int = -1
    leader_epoch: int = -1
    host: str = ""
    port: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32", default=-1),
        Field("leader_epoch", "int32", default=-1),
        Field("host", "string"),
        Field("port", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class UpdateRaftVoterResponse(Message):
    """UpdateRaftVoterResponse (response of API 82): versions 0, flexible from 0.

    Attributes:
        throttle_time_ms: How long a quota held this request back, in milliseconds; 0 for not at all.
        error_code: The outcome as a Kafka error code; 0 is success.
        current_leader: The leader this server knows of.
    """

    API_KEY: ClassVar[int] = 82
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    throttle_time_ms: int = 0
    error_code: int = 0
    current_leader: CurrentLeader = attrs.Factory(CurrentLeader)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("current_leader", "struct", CurrentLeader, tag=0, tagged=(0, OPEN)),
    )
