"""The order of settings in a znode: that of Java's ``Properties``, which Kafka encodes as they are.

``Properties`` is a ``ConcurrentHashMap`` with 16 slots at first, which doubles them when three quarters are used. It
lists its keys by slot, and in the order of their insertion within a slot.
"""

from __future__ import annotations

from collections.abc import Mapping

_SLOTS = 16


def in_order_of_properties(values: Mapping[str, str]) -> dict[str, str]:
    slots = _SLOTS
    while len(values) >= slots * 3 // 4:
        slots *= 2
    return dict(sorted(values.items(), key=lambda item: _spread(_hash_code(item[0])) % slots))


def _hash_code(text: str) -> int:
    """``String.hashCode``, as an unsigned number."""
    units, code = text.encode("utf-16-be"), 0
    for index in range(0, len(units), 2):
        code = (31 * code + int.from_bytes(units[index : index + 2])) & 0xFFFFFFFF
    return code


def _spread(code: int) -> int:
    return code ^ (code >> 16)
