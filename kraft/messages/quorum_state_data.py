"""Generated from spec/QuorumStateData.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import NEW, OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["QuorumStateData", "Voter"]


class Voter(Message):
    """The voters, as far as known. (0)

    Attributes:
        voter_id (0): Node id of the voter.
    """

    __slots__ = ("voter_id",)

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("voter_id", "int32", versions=(0, 0)),)

    def __init__(
        self,
        voter_id: int = 0,
    ) -> None:
        self.voter_id = voter_id


class QuorumStateData(Message):
    """QuorumStateData (data): versions 0-1, flexible from 0.

    The quorum-state file, written as JSON. v0 with kraft.version 0, v1 with directory ids.

    Attributes:
        cluster_id (0): Always empty; kept for older readers.
        leader_id: Leader of the epoch, or -1 if not known.
        leader_epoch: Newest epoch seen, or -1.
        voted_id: Candidate this node voted for in the epoch, or -1.
        voted_directory_id (1+): Directory id of that candidate.
        applied_offset (0): Always 0; kept for older readers.
        current_voters (0): The voters, as far as known.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = (
        "cluster_id",
        "leader_id",
        "leader_epoch",
        "voted_id",
        "voted_directory_id",
        "applied_offset",
        "current_voters",
    )

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", versions=(0, 0)),
        Field("leader_id", "int32", default=-1),
        Field("leader_epoch", "int32", default=-1),
        Field("voted_id", "int32", default=-1),
        Field("voted_directory_id", "uuid", versions=(1, OPEN)),
        Field("applied_offset", "int64", versions=(0, 0)),
        Field("current_voters", "[]struct", Voter, versions=(0, 0), nullable=(0, 0)),
    )

    def __init__(
        self,
        cluster_id: str = "",
        leader_id: int = -1,
        leader_epoch: int = -1,
        voted_id: int = -1,
        voted_directory_id: UUID = ZERO_UUID,
        applied_offset: int = 0,
        current_voters: list[Voter] | None = NEW,
    ) -> None:
        self.cluster_id = cluster_id
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.voted_id = voted_id
        self.voted_directory_id = voted_directory_id
        self.applied_offset = applied_offset
        self.current_voters = [] if current_voters is NEW else current_voters
