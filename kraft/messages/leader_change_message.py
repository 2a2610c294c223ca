"""Generated from spec/LeaderChangeMessage.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

import attrs

from kraft.wire.schema import OPEN, Field, Message
from kraft.wire.uuids import ZERO_UUID

__all__ = ["LeaderChangeMessage", "Voter"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class Voter(Message):
    """The members of the quorum. (0+)

    Attributes:
        voter_id: Node id of the voter.
        voter_directory_id (1+): Directory id of the voter; all zero when unknown.
    """

    voter_id: int = 0
    voter_directory_id: UUID = ZERO_UUID

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("voter_id", "int32"),
        Field("voter_directory_id", "uuid", versions=(1, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
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

    version: int = 0
    leader_id: int = 0
    voters: list[Voter] = attrs.Factory(list)
    granting_voters: list[Voter] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("version", "int16"),
        Field("leader_id", "int32"),
        Field("voters", "[]struct", Voter),
        Field("granting_voters", "[]struct", Voter),
    )
