"""The largest legal requests, from the message specs: each array of each API and version as long as it may be.

The values come from the fuzzer (``tests.fuzz.frames``), which knows those that get past the first check. A test decodes
each request, so that none is refused for its form.
"""

from __future__ import annotations

import copy
import enum
import random
import uuid
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import attrs

from kraft.messages.registry import FLEXIBLE_FROM, ApiKey, request_class
from kraft.rpc.channel import MAX_ELEMENTS
from kraft.wire.codec import encode
from kraft.wire.reading import MAX_TAGGED_FIELDS
from kraft.wire.schema import NEVER, OPEN, Field, Message, present_fields
from kraft.wire.uuids import ZERO_UUID
from kraft.wire.varint import uvarint
from tests.abuse.attack import Attack
from tests.fuzz.frames import Apis, framed, header, item, message

Path = tuple[Field, ...]
"""The fields from a message down to one of an inner structure."""

FRAME_BYTES = 48 << 20
"""The size of the frames that only bytes make large: half of ``socket.request.max.bytes``."""
LONG_NAME_BYTES = 32_000
_MARKER = b"the place of the tagged fields"
_MARKER_TAG = 100


class Shape(enum.StrEnum):
    """The elements of the array that is long."""

    DISTINCT = "distinct elements"
    REPEATED = "one element again and again"
    LONG = "long names"
    TAGGED = "1,000 tagged fields in each element"
    NESTED = "all arrays around it equally long"
    LARGE = "bytes"
    """Not an array: a field of bytes."""


class Likeliest(random.Random):
    """Draws the likeliest value of each field, always the same: no null, and no tagged field."""

    def __init__(self, topic_id: uuid.UUID = ZERO_UUID) -> None:
        super().__init__(0)
        self._topic_id = topic_id

    def random(self) -> float:
        return 0.6

    def choice(self, seq: Sequence[Any]) -> Any:
        return self._topic_id if seq[0] == ZERO_UUID else seq[0]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return (start if stop is None else stop) - 1


@attrs.frozen
class Case:
    """One request. ``path`` leads to its long array, or to its field of many bytes."""

    key: ApiKey
    version: int
    path: Path
    shape: Shape
    at_controller: bool = False

    @property
    def array(self) -> str:
        return ".".join(field.name for field in self.path)

    def __str__(self) -> str:
        listener = " at the controller" if self.at_controller else ""
        return f"{api_name(self.key)} {self.version}{listener}, {self.array}: {self.shape}"

    def attack(self, rng: random.Random, most: int = MAX_ELEMENTS) -> Attack:
        return Attack(str(self), lambda: iter([self.frame(rng, most)]), at_controller=self.at_controller)

    def message(self, rng: random.Random, most: int = MAX_ELEMENTS) -> Message:
        """Return a request with at most ``most`` elements in its arrays. A tagged field counts as an element."""
        if self.shape is Shape.NESTED:
            return self._nested(rng, most)
        field = self.path[-1]
        if self.shape is Shape.LARGE:
            value: Any = bytes(min(FRAME_BYTES, 480 * most))
        else:
            element = likely_element(rng, field, self.version)
            each = 1 + _inner_elements(element, field, self.version)
            fixed = elements(with_value(rng, self.key, self.version, self.path, [element]), self.version) - each
            if self.shape is Shape.TAGGED:
                each += MAX_TAGGED_FIELDS
            count = (most - fixed) // each
            if self.shape is Shape.LONG:
                count = min(count, FRAME_BYTES // LONG_NAME_BYTES)
            value = [self._element(element, number) for number in range(count)]
        return with_value(rng, self.key, self.version, self.path, value)

    def frame(self, rng: random.Random, most: int = MAX_ELEMENTS) -> bytes:
        made = self.message(rng, most)
        head = header(self.key, self.version, 0, b"abuse")
        if self.shape is not Shape.TAGGED:
            return framed(head + encode(made, self.version))
        body = encode(_marked(made, self.path), self.version)
        # One tagged field with the marker, as it is on the wire: count, tag, size, compact length, bytes.
        size = len(_MARKER) + 1
        return framed(head + body.replace(bytes([1, _MARKER_TAG, size, size]) + _MARKER, many_tags()))

    def _element(self, element: Any, number: int) -> Any:
        if self.shape in (Shape.REPEATED, Shape.TAGGED):
            return element
        length = LONG_NAME_BYTES if self.shape is Shape.LONG else 0
        return renamed(element, self.path[-1], self.version, number, length)

    def _nested(self, rng: random.Random, most: int) -> Message:
        """Return a request whose arrays on the path are equally long, with ``most`` elements together."""
        depth = sum(field.is_array for field in self.path)
        each = int((most / 2) ** (1 / depth))

        def grown(path: Path) -> Any:
            field, *rest = path
            element = likely_element(rng, field, self.version)
            if rest:
                setattr(element, rest[0].name, grown(tuple(rest)))
            return (
                [renamed(element, field, self.version, number) for number in range(each)] if field.is_array else element
            )

        return with_value(rng, self.key, self.version, self.path[:1], grown(self.path))


def api_name(key: int) -> str:
    return request_class(key).__name__.removesuffix("Request")


def cases(apis: Apis, *, at_controller: bool, every_version: bool) -> Iterator[Case]:
    """Yield the cases of the APIs in all versions, or in those at which a form begins or ends."""
    for key, (oldest, newest) in apis.items():
        first_flexible = FLEXIBLE_FROM.get(key, NEVER)
        edges = {oldest, first_flexible - 1, first_flexible, newest}
        for version in range(oldest, newest + 1):
            if every_version or version in edges:
                for path, shape in shapes(request_class(key), version):
                    yield Case(ApiKey(key), version, path, shape, at_controller)


def shapes(cls: type[Message], version: int) -> Iterator[tuple[Path, Shape]]:
    flexible = version >= cls.FLEXIBLE_FROM
    deepest: Path = ()
    for path in paths(cls, version):
        field = path[-1]
        if not field.is_array:
            yield path, Shape.LARGE
            continue
        yield path, Shape.DISTINCT
        yield path, Shape.REPEATED
        if (identity := _identity_of(field, version)) is not None and identity.item_type == "string":
            yield path, Shape.LONG
        if flexible and field.struct is not None:
            yield path, Shape.TAGGED
        deepest = max(deepest, path, key=lambda each: sum(field.is_array for field in each))
    if sum(field.is_array for field in deepest) > 1:
        yield deepest, Shape.NESTED


def paths(cls: type[Message], version: int, above: Path = ()) -> Iterator[Path]:
    """Yield the paths to all arrays and to all fields of bytes."""
    for field in cls.FIELDS:
        if field.is_present(version):
            path = (*above, field)
            if field.is_array or field.type in ("bytes", "records"):
                yield path
            if field.struct is not None:
                yield from paths(field.struct, version, path)


def with_value(rng: random.Random, key: int, version: int, path: Path, value: Any) -> Message:
    """Return a likely request with one element in each array above the end of the path, and there the value."""

    def draw(cls: type[Message], path: Path) -> Message:
        made = message(rng, cls, version)
        field, *rest = path
        inner = draw(field.item_struct, tuple(rest)) if rest else value
        setattr(made, field.name, [inner] if rest and field.is_array else inner)
        return made

    return draw(request_class(key), path)


def elements(made: Message, version: int) -> int:
    """Count the elements of all arrays, and the tagged fields, as a node's decoder does."""
    count = 0
    for field in made.FIELDS:
        value = getattr(made, field.name)
        if value is None or not field.is_present(version):
            continue
        count += field.is_tagged(version) and not field.is_default(value)
        if field.is_array:
            count += len(value) + sum(_inner_elements(each, field, version) for each in value)
        elif field.struct is not None:
            count += elements(value, version)
    return count


def _inner_elements(element: Any, field: Field, version: int) -> int:
    return 0 if field.struct is None else elements(element, version)


def likely_element(rng: random.Random, field: Field, version: int) -> Any:
    """Draw an element. If a topic may have a name or an id, it has a name."""
    element = item(rng, field, version)
    identity = _identity_of(field, version)
    if field.struct is not None and identity is not None and identity.name == "name" and hasattr(element, "topic_id"):
        element.topic_id = ZERO_UUID
    return element


def renamed(element: Any, field: Field, version: int, number: int, length: int = 0) -> Any:
    """Return a copy of an array's element with another identity: its name, its id or its number."""
    if field.struct is None:
        return _identity(element, field.item_type, number, length)
    changed = copy.copy(element)
    identity = _identity_of(field, version)
    if identity is not None:
        setattr(changed, identity.name, _identity(getattr(element, identity.name), identity.type, number, length))
    return changed


def _identity_of(field: Field, version: int) -> Field | None:
    """The field that identifies an element: the element itself, or the first name, id or number in it.

    An id before a name is an alternative to it.
    """
    if field.struct is None:
        return field
    found = [each for each in _untagged(field.struct, version) if each.type in ("string", "uuid", "int32", "int64")]
    names = [each for each in found if each.name == "name"]
    return next(iter(names + found), None)


def _untagged(cls: type[Message], version: int) -> list[Field]:
    return present_fields(cls, version, flexible=True)[0]


def _identity(value: Any, kind: str, number: int, length: int) -> Any:
    match kind:
        case "string":
            return f"{value}-{number}".ljust(length, "x")
        case "uuid":
            return uuid.UUID(int=number + 2)
        case "int8" | "int16":
            return number % 100
        case _ if kind.startswith("int"):
            return number
    return value


# Tagged fields that no version of Kafka has. The encoder writes one with a marker, which is replaced.


@cache
def many_tags() -> bytes:
    """As many empty tagged fields as a structure may have, after their count."""
    return uvarint(MAX_TAGGED_FIELDS) + b"".join(uvarint(tag + 100) + b"\0" for tag in range(MAX_TAGGED_FIELDS))


def _marked(made: Message, path: Path) -> Message:
    """Return a copy of the message whose elements at the end of the path have the marker in a tagged field."""
    return _copied(made, _marked_class(type(made), path), path)


@cache
def _marked_class(cls: type[Message], path: Path) -> type[Message]:
    marker = Field("marker", "bytes", tag=_MARKER_TAG, tagged=(0, OPEN))
    if not path:
        fields: tuple[Field, ...] = (*cls.FIELDS, marker)
    else:
        inner = _marked_class(path[0].item_struct, path[1:])
        fields = tuple(attrs.evolve(each, struct=inner) if each is path[0] else each for each in cls.FIELDS)
    names = {"FIELDS": fields, "API_KEY": cls.API_KEY, "VALID_VERSIONS": cls.VALID_VERSIONS}
    return type(cls.__name__, (Message,), {**names, "FLEXIBLE_FROM": cls.FLEXIBLE_FROM})


def _copied(made: Message, cls: type[Message], path: Path) -> Message:
    copied = cls()
    for field in made.FIELDS:
        setattr(copied, field.name, getattr(made, field.name))
    if not path:
        copied.marker = _MARKER  # type: ignore[attr-defined]
        return copied
    field = path[0]
    inner = next(each.item_struct for each in cls.FIELDS if each.name == field.name)
    value = getattr(made, field.name)
    each_copied = [_copied(each, inner, path[1:]) for each in (value if field.is_array else [value])]
    setattr(copied, field.name, each_copied if field.is_array else each_copied[0])
    return copied
