"""Read each row of an array of similar structures with one ``struct`` call.

A structure of numbers and arrays of numbers has a fixed layout for given counts of its arrays: its *shape*. Neighbours
in an array mostly share it (the partitions of a topic have equally many replicas). The decoder reads the first row
field by field. Then the shape's reader reads all following rows of this shape. Its ``struct`` covers a whole structure;
the reader then compares the lengths and the empty tag section.
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
"""``(buffer, position, end, wanted, items)``: appends the rows of the shape. Returns the position and the rows left."""


def has_shape(cls: type[Message], version: int, flexible: bool) -> bool:
    """Whether a structure has only numbers, arrays of numbers, and tagged fields."""
    plain, _ = present_fields(cls, version, flexible)
    return all(f.item_type in FIXED and not (f.is_array and f.type == "[]uuid") for f in plain)


class Shapes(dict[tuple[int, ...], RowReader | None]):
    """The readers of a structure's shapes, by the counts of its arrays (-1 for null). A reader is made at first use."""

    MAX_SHAPES = 64
    MAX_NUMBERS = 96
    """Larger shapes get no reader: they are rare, and each reader must be compiled."""

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
        """Return the struct code, the unpacked names, the checks of these names, and the values of the attributes."""
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
