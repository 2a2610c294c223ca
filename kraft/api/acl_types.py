"""The types in requests about access control entries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kraft.wire.decode_error import DecodeError
from kraft.world.slices import Slices

UNKNOWN: Final = 0
"""The resource type, pattern type, operation or permission type that a client does not know."""
_SLICE_ENTRIES: Final = 2_000


async def check_types(entries: Iterable[tuple[int, int, int, int]]) -> None:
    """Check the four types of each entry.

    Raises DecodeError if one is UNKNOWN: Apache's cannot read such a request, and closes the connection.
    """
    slices = Slices(_SLICE_ENTRIES)
    for types in entries:
        if UNKNOWN in types:
            raise DecodeError("an access control entry has a type that is UNKNOWN")
        await slices.spend()
