"""What the codec raises.

Rule: whatever the input, a decoder returns a message or raises ``DecodeError``. The peer is at fault in a
``DecodeError``; the caller is at fault in an ``UnsupportedVersionError``.
"""

from __future__ import annotations

__all__ = ["DecodeError", "UnsupportedVersionError"]


class DecodeError(ValueError):
    """The bytes are not what their sender says they are. Answer with an error code or close the connection."""


class UnsupportedVersionError(ValueError):
    """The message has no such version, or holds a value that this version cannot say."""
