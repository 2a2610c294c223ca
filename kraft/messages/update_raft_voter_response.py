"""Generated from spec/UpdateRaftVoterResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["CurrentLeader", "UpdateRaftVoterResponse"]


class CurrentLeader(Message):
    """The leader this server knows of. (0+)

    Attributes:
        leader_id: Id of the leader, or -1 if there is none.
        leader_epoch: Newest epoch the server knows, or -1.
        host: Host name or address to connect to.
        port: Port to connect to.
    """

    __slots__ = ("leader_id", "leader_epoch", "host", "port")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("leader_id", "int32", default=-1),
        Field("leader_epoch", "int32", default=-1),
        Field("host", "string"),
        Field("port", "int32"),
    )

    def __init__(
        self,
        leader_id: int = -1,
        leader_epoch: int = -1,
        host: str = "",
        port: int = 0,
    ) -> None:
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.host = host
        self.port = port


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

    __slots__ = ("throttle_time_ms", "error_code", "current_leader")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("throttle_time_ms", "int32"),
        Field("error_code", "int16"),
        Field("current_leader", "struct", CurrentLeader, tag=0, tagged=(0, OPEN)),
    )

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        current_leader: CurrentLeader = NEW,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.current_leader = CurrentLeader() if current_leader is NEW else current_leader
