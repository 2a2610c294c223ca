"""The partition of an internal topic that holds the state of a group or a transactional id."""

from __future__ import annotations

from operator import mul

HASHED_CHARACTERS = 100
"""The characters of a key whose hash takes as long as the look-up of a group."""
_POWERS = [31**exponent % 2**32 for exponent in reversed(range(64))]
"""The hash takes as many characters at once: a key may have 32,767 of them."""


def coordinator_partition(key: str, partitions: int) -> int:
    """Return the partition that holds a group or a transactional id: ``abs(hashCode) % partitions``.

    The hash is Java's ``String.hashCode`` of the key. As in ``Utils.abs``, the least int32 counts as 0.
    """
    value = 0
    units = memoryview(key.encode("utf-16")).cast("H")[1:]  # the first one is the mark of the byte order
    for start in range(0, len(units), len(_POWERS)):
        part = units[start : start + len(_POWERS)]
        powers = _POWERS[-len(part) :]
        value = (31 * value * powers[0] + sum(map(mul, part, powers))) & 0xFFFFFFFF
    absolute = value if value < 2**31 else 2**32 - value
    return absolute % 2**31 % partitions
