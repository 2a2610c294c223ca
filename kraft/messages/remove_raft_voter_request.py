"""Generated from spec/RemoveRaftVoterRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["RemoveRaftVoterRequest"]


class RemoveRaftVoterRequest(Message):
    """RemoveRaftVoterRequest (request of API 81): versions 0, flexible from 0.

    Attributes:
        cluster_id: Id of the cluster the sender belongs to, or null to skip the check.
        voter_id: Node id of the voter to remove.
        voter_directory_id: Directory id of the voter to remove.
    """

    API_KEY: ClassVar[int] = 81
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("cluster_id", "voter_id", "voter_directory_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("cluster_id", "string", nullable=(0, OPEN)),
        Field("voter_id", "int32"),
        Field("voter_directory_id", "uuid"),
    )

    def __init__(
        self,
        cluster_id: str | None = "",
        voter_id: int = 0,
        voter_directory_id: UUID = ZERO_UUID,
    ) -> None:
        self.cluster_id = cluster_id
        self.voter_id = voter_id
        self.voter_directory_id = voter_directory_id
