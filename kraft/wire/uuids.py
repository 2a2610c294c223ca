"""Kafka's uuids: 16 bytes on the wire, 22 characters of URL-safe base64 in text."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from uuid import UUID

__all__ = ["ZERO_UUID", "uuid_from_bytes", "uuid_from_text", "uuid_to_text"]

_TEXT = re.compile(r"[A-Za-z0-9_-]{22}(==)?")

ZERO_UUID = UUID(int=0)
"""The uuid that means "no id"."""


@lru_cache(maxsize=4096)
def uuid_from_bytes(raw: bytes) -> UUID:
    """Return the uuid with these 16 bytes. Messages repeat ids, so the last 4096 are cached."""
    return UUID(bytes=raw)


def uuid_to_text(uuid: UUID) -> str:
    """Return a uuid as Kafka's tools print it, such as ``AAAAAAAAAAAAAAAAAAAAAQ``."""
    return base64.urlsafe_b64encode(uuid.bytes)[:22].decode()


def uuid_from_text(text: str) -> UUID:
    """Return the uuid with this text, as Kafka's tools print it. Padding is accepted.

    Raises ValueError if the text is not 16 bytes of URL-safe base64.
    """
    if not _TEXT.fullmatch(text):
        raise ValueError(f"not a uuid in URL-safe base64: {text[:64]!r}")
    return UUID(bytes=base64.urlsafe_b64decode(text[:22] + "=="))
