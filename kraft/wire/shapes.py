"""Read a row of structures that look alike with one ``struct`` call each.

A structure of numbers and arrays of numbers has, once the counts of its arrays are known, a fixed layout: its *shape*.
Neighbours in an array mostly share it (the partitions of a topic have equally many replicas). So the decoder reads the
first one field by field, and then asks the shape's reader for as many as look the same: one ``struct`` for the whole
structure, whose lengths and empty tag section are compared afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any

from kraft.wire.reading import default_value
from kraft.wire.schema import FIXED, Message, present_fields
from kraft.wire.source import Source
from kraft.wire.uuids import uuid_from_bytes
from kraft.wire.varint import Buffer

__all__ = ["RowReader", "Shapes", "has_shape"]

RowReader = Callable[[Buffer, int, int, int, list[Any]], tuple[int, int]]
"""``(buffer, position, end, wanted, items)``: appends what has the shape; returns the position and the number left."""


def has_shape(cls: type[Message], version: int, flexible: bool) -> bool:
    """Whether a structure holds nothing but numbers, arrays of numbers, and tagged fields."""
    plain, _ = present_fields(cls, version, flexible)
    return all(f.item_type in FIXED and not (f.is_array and f.type == "[]uuid") for f in plain)


class Shapes(dict[tuple[int, ...], RowReader | None]):
    """The readers of a structure's shapes by the counts of its arrays, -1 for null. Made when first asked for."""

    MAX_SHAPES = 64
    MAX_NUMBERS = 96
    """No reader for larger shapes: they are rare, and each reader is compiled."""

    def __init__(self, cls: type[Message], version: int, flexible: bool) -> None:
        super().__init__()
        self._cls, self._version, self._flexible = cls, version, flexible

    def __missing__(self, counts: tuple[int, ...]) -> RowReader | None:
        if len(self) >= self.MAX_SHAPES or sum(counts) > self.MAX_NUMBERS:
            return None
        reader = self[counts] = self._write(counts)
        return reader

    def _write(self, counts: tuple[int, ...]) -> RowReader:
        source = Source("read(b, p, end, left, items)")
        codes, names, checks, values = self._layout(source, counts)
        struct = Struct(f">{codes}")
        unpack = source.constant("unpack", struct.iter_unpack)
        source.line("before = len(items)")
        source.line(f"stop = p + min(left, (end - p) // {struct.size}) * {struct.size}")
        with source.block(f"for {', '.join(names)}, in {unpack}(memoryview(b)[p:stop])"):
            if checks:
                with source.block(f"if {' or '.join(checks)}"):
                    source.line("break")
            source.line(f"items.append({source.constant(self._cls.__name__, self._cls)}({', '.join(values)}))")
        source.line("done = len(items) - before")
        source.line(f"return p + done * {struct.size}, left - done")
        shape = ", ".join(map(str, counts))
        return source.compile("read", f"<rows of {self._cls.__name__} v{self._version} ({shape})>")

    def _layout(self, source: Source, counts: tuple[int, ...]) -> tuple[str, list[str], list[str], list[str]]:
        """Return the struct code, the names it is unpacked to, what they must be, and the values of the attributes."""
        names: list[str] = []
        codes: list[str] = []
        checks: list[str] = []
        values: dict[str, str] = {}
        remaining = list(counts)
        plain, _ = present_fields(self._cls, self._version, self._flexible)
        for field in plain:
            code = FIXED[field.item_type][0]
            if not field.is_array:
                names.append(source.local(field.name))
                codes.append(code)
                made = f"{source.constant('uuid_from_bytes', uuid_from_bytes)}({names[-1]})"
                values[field.name] = made if field.type == "uuid" else names[-1]
                continue
            count = remaining.pop(0)
            compact = self._flexible and field.compact
            names.append(source.local("count"))
            codes.append("B" if compact else "i")
            checks.append(f"{names[-1]} != {count + 1 if compact else count}")
            numbers = [source.local(field.name) for _ in range(count)]
            names += numbers
            codes += [code] * count
            values[field.name] = "None" if count < 0 else f"[{', '.join(numbers)}]"
        if self._flexible:
            names.append("tags")
            codes.append("B")
            checks.append("tags")
        arguments = [values.get(field.name) or default_value(source, field) for field in self._cls.FIELDS]
        return "".join(codes), names, checks, arguments
