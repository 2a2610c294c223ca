"""The schema of a message. Encoder, decoder and JSON converter are derived from it.

Every generated class is a ``Message`` with one attribute per field of any version. Its ``FIELDS`` has one ``Field`` per
attribute in wire order. The version alone decides which fields exist, which are tagged, and whether lengths are
compact.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Self

import attrs

from kraft.wire.uuids import ZERO_UUID

__all__ = [
    "FIXED",
    "NEVER",
    "NEW",
    "NO_VERSIONS",
    "OPEN",
    "Field",
    "Message",
    "Versions",
    "camel_case",
    "present_fields",
]

Versions = tuple[int, int]
"""First and last version, both included."""

OPEN: Final = 0x7FFF
"""Last version of a range without an end."""

NEVER: Final = 0x7FFF
"""First version of a range that is empty."""

NO_VERSIONS: Final[Versions] = (0, -1)

FIXED: Final = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
"""Types of fixed size: their ``struct`` code and their size in bytes."""

_ZERO: Final[dict[str, object]] = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), 0),
    "bool": False,
    "float64": 0.0,
    "uuid": ZERO_UUID,
    "string": "",
    "bytes": b"",
    "records": None,
}
_UNSET: Final[Any] = object()
NEW: Final[Any] = object()
"""The default of an array or a structure in a constructor: each message gets its own."""


class Message:
    """Base of all generated classes: whole messages and the structures inside them."""

    __slots__ = ()

    FIELDS: ClassVar[tuple[Field, ...]] = ()
    API_KEY: ClassVar[int] = -1
    """API key or type of the metadata record; -1 for other classes."""
    VALID_VERSIONS: ClassVar[Versions] = NO_VERSIONS
    FLEXIBLE_FROM: ClassVar[int] = NEVER
    """First version with compact lengths and tagged fields (KIP-482)."""

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def evolve(self, **changes: Any) -> Self:
        """Return a copy with other values of some fields. Raises TypeError for an unknown field."""
        for field in self.FIELDS:
            if field.name not in changes:
                changes[field.name] = getattr(self, field.name)
        return self.__class__(**changes)

    def __repr__(self) -> str:
        """Show only the fields that differ from their defaults, since a message has many that are rarely set."""
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in self.FIELDS if not f.is_default(getattr(self, f.name)))
        return f"{self.__class__.__name__}({', '.join(shown)})"


MessageClass = type[Message]


@attrs.frozen(eq=False, repr=False)
class Field:
    """One field of a message.

    Attributes:
        name: The attribute of the class.
        type: Kafka's name of the type, with ``[]`` in front for an array; ``struct`` for a nested structure.
        struct: The class of the structure, for ``struct`` and ``[]struct``.
        versions: Versions that have the field.
        nullable: Versions in which it may be null.
        tag: Its tag, if it is tagged.
        tagged: Versions in which it is tagged.
        default: Its value when absent. It is omitted for an empty array or structure and for the zero of the type.
        ignorable: Whether the encoder may drop it silently for a version that lacks it.
        compact: Whether its length is compact in flexible versions.
        json_name: Kafka's name in JSON, if it is not the attribute in camel case.
    """

    name: str
    type: str
    struct: MessageClass | None = None
    versions: Versions = (0, OPEN)
    nullable: Versions = NO_VERSIONS
    tag: int | None = None
    tagged: Versions = NO_VERSIONS
    default: Any = _UNSET
    ignorable: bool = False
    compact: bool = True
    json_name: str = ""

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def item_type(self) -> str:
        """The type without its ``[]``."""
        return self.type.removeprefix("[]")

    @property
    def item_struct(self) -> MessageClass:
        """The class of the structure. Raises if the field has none."""
        assert self.struct is not None, f"{self.name} is no structure"
        return self.struct

    @property
    def default_is_null(self) -> bool:
        return self.default is None or (self.default is _UNSET and self.type == "records")

    def make_default(self) -> Any:
        """Return the default value; a new one if it is mutable."""
        if self.default is not _UNSET:
            return self.default
        if self.is_array:
            return []
        return self.item_struct() if self.type == "struct" else _ZERO[self.type]

    def is_default(self, value: object) -> bool:
        """Whether this value may be left out of the bytes."""
        return bool(value == self.make_default())

    def is_present(self, version: int) -> bool:
        return self.versions[0] <= version <= self.versions[1]

    def is_tagged(self, version: int) -> bool:
        return self.is_present(version) and self.tagged[0] <= version <= self.tagged[1]

    def is_nullable(self, version: int) -> bool:
        return self.nullable[0] <= version <= self.nullable[1]


def present_fields(cls: type[Message], version: int, flexible: bool) -> tuple[list[Field], list[Field]]:
    """Return the fields of a version in wire order: first the untagged ones, then the tagged ones by their tags."""
    plain = [f for f in cls.FIELDS if f.is_present(version) and not (flexible and f.is_tagged(version))]
    tagged = [f for f in cls.FIELDS if flexible and f.is_tagged(version)]
    return plain, sorted(tagged, key=lambda f: f.tag or 0)


def camel_case(name: str) -> str:
    """Return the attribute's name as Kafka's JSON tools print it: ``topic_id`` is ``topicId``."""
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)
