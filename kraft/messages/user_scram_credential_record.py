"""Generated from spec/UserScramCredentialRecord.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import Field, Message

__all__ = ["UserScramCredentialRecord"]


class UserScramCredentialRecord(Message):
    """UserScramCredentialRecord (metadata record, type 11): versions 0, flexible from 0.

    Attributes:
        name: Name of the user.
        mechanism: SCRAM mechanism: 1 is SHA-256, 2 is SHA-512.
        salt: Salt of the credential.
        stored_key: Key to check the client's proof with.
        server_key: Key to sign the server's answer with.
        iterations: Rounds of hashing used for the credential.
    """

    API_KEY: ClassVar[int] = 11
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    __slots__ = ("name", "mechanism", "salt", "stored_key", "server_key", "iterations")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("name", "string"),
        Field("mechanism", "int8"),
        Field("salt", "bytes"),
        Field("stored_key", "bytes"),
        Field("server_key", "bytes"),
        Field("iterations", "int32"),
    )

    def __init__(
        self,
        name: str = "",
        mechanism: int = 0,
        salt: bytes = b"",
        stored_key: bytes = b"",
        server_key: bytes = b"",
        iterations: int = 0,
    ) -> None:
        self.name = name
        self.mechanism = mechanism
        self.salt = salt
        self.stored_key = stored_key
        self.server_key = server_key
        self.iterations = iterations
