"""JSON in znodes: typed fields, with an error that names the znode and the field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

import attrs

from kraft.wire.uuids import uuid_from_text

MAX_SHOWN = 80
"""Characters of a malformed value that an error shows."""
MAX_INTEGER, MIN_INTEGER = 2**31 - 1, -(2**31)
"""Kafka reads integers of 32 bits, and its requests have no larger ones. Larger numbers are strings in a znode."""
MAX_DIGITS = 20
"""No number of Kafka's has more, and ``int`` raises ValueError for 4,300."""
MAX_ZNODE_BYTES = 1_000_000
"""ZooKeeper closes the connection after a request of more than 1 MiB (jute.maxbuffer), which has some overhead."""
MAX_TEXT_BYTES = 2**15 - 1
"""Kafka's requests have no longer strings."""


class MalformedZnode(ValueError):
    """The data of a znode is not what Kafka writes there."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"malformed data in the znode {path}: {reason}")
        self.path = path


def encode_json(values: Mapping[str, Any]) -> bytes:
    """Return compact JSON, as Jackson writes it, in the order of the mapping."""
    return json.dumps(values, separators=(",", ":"), ensure_ascii=False).encode()


def decode_integer(path: str, data: bytes | None) -> int:
    """Read a plain decimal number. Raises MalformedZnode."""
    text = (data or b"").decode("ascii", "replace")
    if not text.removeprefix("-").isdecimal() or len(text) > MAX_DIGITS:
        raise MalformedZnode(path, f"{text[:MAX_SHOWN]!r} is not a number")
    return int(text)


def decode_object(path: str, data: bytes | None) -> Fields:
    """Read a JSON object. Raises MalformedZnode."""
    try:
        text = str(data or b"", "utf-8")
        values = json.loads(text)
        if "\\u" in text:
            encode_json(values)  # an escaped half of a surrogate pair is valid JSON, but fits in no request
    except (ValueError, RecursionError) as error:
        raise MalformedZnode(path, f"not JSON: {str(error)[:MAX_SHOWN]}") from None
    return Fields.of(path, "the data", values)


def check_text(path: str, text: str) -> None:
    """Raise MalformedZnode for a text that fits in no request."""
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise MalformedZnode(path, f"{text:.{MAX_SHOWN}}… has more than {MAX_TEXT_BYTES} bytes")


def _is_integer(value: Any) -> bool:
    return type(value) is int and MIN_INTEGER <= value <= MAX_INTEGER  # a bool is no integer in JSON


@attrs.frozen
class Fields:
    """A JSON object in a znode. Every method raises MalformedZnode for a value of another type."""

    path: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, path: str, name: str, value: Any) -> Fields:
        if not isinstance(value, dict):
            raise MalformedZnode(path, f"{name} is not an object: {value!r:.{MAX_SHOWN}}")
        return cls(path, value)

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def integer(self, name: str, default: int | None = None) -> int:
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        return self._checked(name, value, _is_integer(value), "an integer of 32 bits")  # type: ignore[no-any-return]

    def text(self, name: str) -> str:
        value = self.values.get(name)
        return self._checked(name, value, isinstance(value, str), "a string")  # type: ignore[no-any-return]

    def long_in_text(self, name: str) -> int:
        """An integer that Kafka writes as a string, because a double cannot hold it."""
        return decode_integer(f"{self.path} ({name})", self.text(name).encode())

    def integers(self, name: str) -> tuple[int, ...]:
        value = self.values.get(name)
        is_right = isinstance(value, list) and {*map(type, value)} <= {int}
        is_right = is_right and (not value or (min(value) >= MIN_INTEGER and max(value) <= MAX_INTEGER))
        return tuple(self._checked(name, value, is_right, "a list of integers of 32 bits"))

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name)
        is_right = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return tuple(self._checked(name, value, is_right, "a list of strings"))

    def uuid(self, name: str) -> UUID:
        text = self.text(name)
        try:
            return uuid_from_text(text)
        except ValueError as error:
            raise MalformedZnode(self.path, f"{name}: {error}") from None

    def object(self, name: str) -> Fields:
        """A nested object; an empty one if there is none."""
        return Fields.of(self.path, name, self.values.get(name) or {})

    def objects(self, name: str) -> Iterator[Fields]:
        """The objects of a list."""
        value = self.values.get(name)
        for each in self._checked(name, value, isinstance(value, list), "a list"):
            yield Fields.of(self.path, f"an element of {name}", each)

    def indexes(self) -> Iterator[tuple[int, str]]:
        """The names of an object whose names are partition numbers, as numbers and as they are."""
        for name in self.values:
            index = decode_integer(self.path, name.encode())
            if not 0 <= index <= MAX_INTEGER:
                raise MalformedZnode(self.path, f"{name:.{MAX_SHOWN}} is no partition number")
            yield index, name

    def _checked(self, name: str, value: Any, is_right: bool, kind: str) -> Any:
        if not is_right:
            raise MalformedZnode(self.path, f"{name} is not {kind}: {value!r:.{MAX_SHOWN}}")
        return value
