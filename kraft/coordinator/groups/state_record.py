"""A record of ``__consumer_offsets`` whose key and value are messages, for groups whose coordinator replays records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import attrs

from kraft.coordinator.framing import VERSION, framed, unframed, version_of
from kraft.metadata.steps import Steps
from kraft.wire.codec import encode_in_steps

_VALUE_VERSION = 0
_ENCODING_COST = 100
"""The cost of a step of :func:`encode_in_steps`."""


@attrs.frozen(eq=False)
class StateRecord:
    """One record. It is a tombstone if ``message`` is None."""

    key_message: Any
    message: Any
    key: bytes
    value: bytes | None

    @property
    def group_id(self) -> str:
        group_id: str = self.key_message.group_id
        return group_id

    @property
    def size(self) -> int:
        return len(self.key) + len(self.value or b"")


R = TypeVar("R", bound=StateRecord)


class RecordKinds(Generic[R]):
    """The kinds of records of one type of group: the classes of key and value by the key's version."""

    def __init__(self, cls: type[R], kinds: Mapping[int, tuple[type[Any], type[Any]]]) -> None:
        self._cls = cls
        self._kinds = kinds
        self._versions = {key: version for version, (key, _) in kinds.items()}

    def record(self, key: Any, message: Any = None) -> R:
        """Encode a record."""
        value = None if message is None else framed(message, _VALUE_VERSION)
        return self._cls(key, message, framed(key, self._versions[type(key)]), value)

    def in_steps(self, key: Any, message: Any) -> Steps[R]:
        """:meth:`record` for a large message."""
        value = bytearray(VERSION.pack(_VALUE_VERSION))
        for _ in encode_in_steps(message, _VALUE_VERSION, value, []):
            yield _ENCODING_COST
        return self._cls(key, message, framed(key, self._versions[type(key)]), bytes(value))

    def decode(self, key: bytes, value: bytes | None) -> R | None:
        """Return a record, or None if it is of another kind. Raises DecodeError if the record is damaged."""
        kind = self._kinds.get(version_of(key))
        if kind is None:
            return None
        message = None if value is None else unframed(kind[1], value)
        return self._cls(unframed(kind[0], key), message, key, value)
