"""Generated from spec/AlterUserScramCredentialsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["AlterUserScramCredentialsRequest", "ScramCredentialDeletion", "ScramCredentialUpsertion"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ScramCredentialDeletion(Message):
    """The credentials to remove. (0+)

    Attributes:
        name: Name of the user.
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
    """

    name: str = ""
    mechanism: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("mechanism", "int8"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class ScramCredentialUpsertion(Message):
    """The credentials to add or replace. (0+)

    Attributes:
        name: Name of the user.
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
        iterations: Rounds of hashing used for the credential.
        salt: Random salt the client chose.
        salted_password: The password after salting and hashing.
    """

    name: str = ""
    mechanism: int = 0
    iterations: int = 0
    salt: bytes = b""
    salted_password: bytes = b""

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("mechanism", "int8"),
        Field("iterations", "int32"),
        Field("salt", "bytes"),
        Field("salted_password", "bytes"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class AlterUserScramCredentialsRequest(Message):
    """AlterUserScramCredentialsRequest (request of API 51): versions 0, flexible from 0.

    Attributes:
        deletions: The credentials to remove.
        upsertions: The credentials to add or replace.
    """

    API_KEY: ClassVar[int] = 51
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    deletions: list[ScramCredentialDeletion] = attrs.Factory(list)
    upsertions: list[ScramCredentialUpsertion] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("deletions", "[]struct", ScramCredentialDeletion),
        Field("upsertions", "[]struct", ScramCredentialUpsertion),
    )
