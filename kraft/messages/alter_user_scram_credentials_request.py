"""Generated from spec/AlterUserScramCredentialsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, Field, Message

__all__ = ["AlterUserScramCredentialsRequest", "ScramCredentialDeletion", "ScramCredentialUpsertion"]


class ScramCredentialDeletion(Message):
    """The credentials to remove. (0+)

    Attributes:
        name: Name of the user.
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
    """

    __slots__ = ("name", "mechanism")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("mechanism", "int8"),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism


class ScramCredentialUpsertion(Message):
    """The credentials to add or replace. (0+)

    Attributes:
        name: Name of the user.
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
        iterations: Rounds of hashing used for the credential.
        salt: Random salt the client chose.
        salted_password: The password after salting and hashing.
    """

    __slots__ = ("name", "mechanism", "iterations", "salt", "salted_password")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("mechanism", "int8"),
        Field("iterations", "int32"),
        Field("salt", "bytes"),
        Field("salted_password", "bytes"),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        iterations: int = 0,
        salt: bytes = b"",
        salted_password: bytes = b"",
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.iterations = iterations
        self.salt = salt
        self.salted_password = salted_password


class AlterUserScramCredentialsRequest(Message):
    """AlterUserScramCredentialsRequest (request of API 51): versions 0, flexible from 0.

    Attributes:
        deletions: The credentials to remove.
        upsertions: The credentials to add or replace.
    """

    API_KEY: ClassVar[int] = 51
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("deletions", "upsertions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("deletions", "[]struct", ScramCredentialDeletion),
        Field("upsertions", "[]struct", ScramCredentialUpsertion),
    )

    def __init__(
        self,
        deletions: list[ScramCredentialDeletion] = NEW,
        upsertions: list[ScramCredentialUpsertion] = NEW,
    ) -> None:
        self.deletions = [] if deletions is NEW else deletions
        self.upsertions = [] if upsertions is NEW else upsertions
