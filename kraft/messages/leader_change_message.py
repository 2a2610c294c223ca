"""Generated from spec/LeaderChangeMessage.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["LeaderChangeMessage", "Voter"]


class Voter(Message):
    """The members of the quorum. (0+)

    Attributes:
        voter_id: Node id of the voter.
        voter_directory_id (1+): Directory id of the voter; all zero when unknown.
    """

    __slots__ = ("voter_id", "voter_directory_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("voter_id", "int32"),
        Field("voter_directory_id", "uuid", versions=(1, OPEN)),
    )

    def __init__(
        self,
        voter_id: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id


class LeaderChangeMessage(Message):
    """LeaderChangeMessage (data): versions 0-1, flexible from 0.

    v1 adds directory ids.

    Attributes:
        version: Version of this record's layout.
        leader_id: Node id of the elected leader.
        voters: The members of the quorum.
        granting_voters: The voters that elected the leader.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("version", "leader_id", "voters", "granting_voters")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("version", "int16"),
        Field("leader_id", "int32"),
        Field("voters", "[]struct", Voter),
        Field("granting_voters", "[]struct", Voter),
    )

    def __init__(
        self,
        version: int = 0,
        leader_id: int = 0,
        voters: list[Voter] = NEW,
        granting_voters: list[Voter] = NEW,
    ) -> None:
        self.version = version
        self.leader_id = leader_id
        self.voters = [] if voters is NEW else voters
        self.granting_voters = [] if granting_voters is NEW else granting_voters
