"""The codec's errors.

Rule: for any input, a decoder returns a message or raises ``DecodeError``. The peer is at fault in a ``DecodeError``;
the caller is at fault in an ``UnsupportedVersionError``.
"""

from __future__ import annotations

__all__ = ["DecodeError", "UnsupportedVersionError"]


class DecodeError(ValueError):
    """The bytes are not a valid message of the expected type. Respond with an error code or close the connection."""


class UnsupportedVersionError(ValueError):
    """The message does not have this version, or holds a value that this version cannot carry."""
