"""Generate the decoder of one message class at one version.

The generated function reads from ``b`` at ``p`` and returns the message and the position after it. One ``struct`` call
reads consecutive fixed-size fields and the length prefix after them. For any input:

- every count and length is checked against the remaining bytes before anything is allocated for it;
- reading past the end raises ``IndexError`` or ``struct.error``, which the codec turns into ``DecodeError``;
- nesting is that of the schema, so the input cannot deepen it;
- unknown tagged fields are checked and dropped (Kafka keeps them; nothing here forwards messages).

A decoder in steps is a generator for large input: it does the same, and yields after each ``STEP`` elements of arrays,
or ``STEP_BYTES``, so that its caller can let other tasks run. It copies no ``bytes`` field that is longer than a step,
and stops before a few bytes an element become too many objects.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from struct import unpack_from
from typing import Any

from kraft.wire.decode_error import DecodeError
from kraft.wire.reading import (
    SMALL_ARRAY,
    SMALL_UNPACKERS,
    bad_length,
    check_tags,
    default_value,
    read_string_length,
    read_tag,
    skip_tags,
    too_many,
    unpacker,
)
from kraft.wire.schema import FIXED, Field, Message, present_fields
from kraft.wire.shapes import Shapes, has_shape
from kraft.wire.source import Source
from kraft.wire.uuids import uuid_from_bytes
from kraft.wire.varint import Buffer, read_uvarint

__all__ = ["Decoder", "SteppedDecoder", "write_decoder", "write_stepped_decoder"]

Decoder = Callable[[Buffer, int], tuple[Any, int]]
"""Reads a message at a position. Returns it and the position after it."""
SteppedDecoder = Callable[[Buffer, int, int], Generator[int, None, tuple[Any, int, int]]]
"""The same in steps. Yields ``STEP``, the cost of a step. Returns the number of elements, too. Raises DecodeError if
there are more of them than the third argument.
"""

STEP = 500
STEP_BYTES = 1 << 20
"""The elements and the bytes of a step: about half a millisecond of work, and twice that in a node that has run for
long, whose free memory is scattered.
"""
STEP_NUMBERS = 10 * STEP
"""The elements of a step in an array of numbers, which one call reads."""
LONG_STRING_BYTES = 1024
"""A decoder in steps hashes longer strings, and they keep the hash. A handler that put 500 names of 32,000 bytes into a
set hashed them in one step of 13 ms.
"""


def write_decoder(cls: type[Message], version: int) -> Decoder:
    """Return the decoder of ``cls`` at ``version``, which must be valid."""
    return _DecoderWriter(cls, version, in_steps=False).write()


def write_stepped_decoder(cls: type[Message], version: int) -> SteppedDecoder:
    """Return the decoder of ``cls`` at ``version`` in steps."""
    return _DecoderWriter(cls, version, in_steps=True).write()


class _DecoderWriter:
    def __init__(self, cls: type[Message], version: int, *, in_steps: bool) -> None:
        self.cls = cls
        self.version = version
        self.in_steps = in_steps
        self.flexible = version >= cls.FLEXIBLE_FROM
        self.source = Source("decode(b, p, most)" if in_steps else "decode(b, p)")
        self.run: list[tuple[str, str]] = []
        self.counts: list[str] = []

    def write(self) -> Callable[..., Any]:
        line = self.source.line
        line("end = len(b)")
        if self.in_steps:
            line(f"done, due, full = 0, {STEP}, p + {STEP_BYTES}")
        if self.has_views(self.cls):
            line("view = memoryview(b)")
        made = self.structure(self.cls)
        self.flush()
        if self.in_steps:
            self.check_count()
        line(f"return {made}, p{', done' if self.in_steps else ''}")
        if self.in_steps:
            line("yield")  # never reached: it makes the function a generator
        kind = "stepped decoder" if self.in_steps else "decoder"
        return self.source.compile("decode", f"<{kind} of {self.cls.__name__} v{self.version}>")

    def count(self, elements: str) -> None:
        """Generate the count of elements or tagged fields that were read, and the end of a full step."""
        if self.in_steps:
            self.source.line(f"done += {elements}")
            with self.source.block("if done >= due or p >= full"):
                self.check_count()
                self.source.line(f"yield {STEP}")
                self.source.line(f"due, full = done + {STEP}, p + {STEP_BYTES}")

    def check_count(self) -> None:
        with self.source.block("if done > most"):
            self.source.line(f"raise {self.constant(too_many)}(most)")

    def has_views(self, cls: type[Message]) -> bool:
        kinds = ("records", "bytes") if self.in_steps else ("records",)
        return any(f.type in kinds or (f.struct and self.has_views(f.struct)) for f in cls.FIELDS)

    def constant(self, value: Any) -> str:
        return self.source.constant(value.__name__, value)

    def flush(self, last: tuple[str, str] | None = None) -> None:
        """Generate the reading of the collected run, and of ``last`` after it: a local name and its struct code."""
        run, self.run = [*self.run, *([last] if last else [])], []
        if not run:
            return
        codes = "".join(code for _, code in run)
        names = ", ".join(name for name, _ in run)
        if codes == "B":
            self.source.line(f"{names} = b[p]")
            self.source.line("p += 1")
            return
        unpack, size = unpacker(codes)
        name = self.source.constant("unpack_" + codes.replace("?", "t"), unpack)
        self.source.line(f"{names}{',' if len(run) == 1 else ''} = {name}(b, p)")
        self.source.line(f"p += {size}")

    def structure(self, cls: type[Message]) -> str:
        """Generate the reading of a structure. Return the expression that makes it, valid after the next flush."""
        plain, tagged = present_fields(cls, self.version, self.flexible)
        values = {field.name: self.field(field) for field in plain}
        if tagged:
            values |= self.tagged_fields(tagged)
        elif self.flexible:
            count = self.source.local("tags")
            self.flush((count, "B"))
            with self.source.block(f"if {count}"):
                self.source.line(f"{count}, p = {self.constant(skip_tags)}(b, p - 1)")
                self.count(count)
        arguments = (values.get(field.name) or default_value(self.source, field) for field in cls.FIELDS)
        return f"{self.constant(cls)}({', '.join(arguments)})"

    # Fields: each method returns the expression of the value, valid after the next flush.

    def field(self, field: Field) -> str:
        nullable = field.is_nullable(self.version)
        if field.is_array:
            return self.array(field, nullable)
        if field.type in FIXED:
            return self.fixed(field)
        if field.type == "struct":
            return self.nested(field, nullable)
        if field.type == "string":
            return self.string(field, nullable)
        return self.bytes_or_records(field, nullable)

    def fixed(self, field: Field) -> str:
        local = self.source.local(field.name)
        self.run.append((local, FIXED[field.type][0]))
        return f"{self.constant(uuid_from_bytes)}({local})" if field.type == "uuid" else local

    def length(self, field: Field, legacy: str) -> str:
        """Generate the reading of a length. Return the local that holds it: -1 for null, not yet checked otherwise."""
        count = self.source.local("count")
        if not self.flexible or not field.compact:
            self.flush((count, legacy))
            return count
        self.flush((count, "B"))
        with self.source.block(f"if {count} > 127"):
            slow = read_string_length if field.item_type == "string" and not field.is_array else read_uvarint
            self.source.line(f"{count}, p = {self.constant(slow)}(b, p - 1)")
        self.source.line(f"{count} -= 1")
        return count

    def string(self, field: Field, nullable: bool) -> str:
        count = self.length(field, "h")
        local = self.sized(field, nullable, count, 'str(b[p:{stop}], "utf-8")')
        if self.in_steps:
            with self.source.block(f"if {count} > {LONG_STRING_BYTES}"):
                self.source.line(f"hash({local})")
        return local

    def bytes_or_records(self, field: Field, nullable: bool) -> str:
        count = self.length(field, "i")
        made = "view[p:{stop}]" if field.type == "records" else "bytes(b[p:{stop}])"
        if self.in_steps and field.type == "bytes":
            made += f" if {count} <= {STEP_BYTES} else view[p:{{stop}}]"
        return self.sized(field, nullable, count, made)

    def sized(self, field: Field, nullable: bool, count: str, made: str) -> str:
        """Generate the reading of ``count`` bytes. The expression ``made`` converts them to the value."""
        source, local, stop = self.source, self.source.local(field.name), self.source.local("stop")

        def read() -> None:
            source.line(f"{stop} = p + {count}")
            with source.block(f"if not p <= {stop} <= end"):
                source.line(f'raise {self.constant(bad_length)}("{field.name}", {count}, end - p)')
            source.line(f"{local} = {made.format(stop=stop)}")
            source.line(f"p = {stop}")

        self.unless_null(count, local, nullable, read)
        return local

    def unless_null(self, count: str, local: str, nullable: bool, read: Callable[[], None]) -> None:
        if not nullable:
            read()
            return
        with self.source.block(f"if {count} == -1"):
            self.source.line(f"{local} = None")
        with self.source.block("else"):
            read()

    def nested(self, field: Field, nullable: bool) -> str:
        if not nullable:
            return self.structure(field.item_struct)
        local, present = self.source.local(field.name), self.source.local("present")
        self.flush((present, "b"))
        with self.source.block(f"if {present} {'< 0' if field.tag is None else '== 0'}"):
            self.source.line(f"{local} = None")
        with self.source.block("else"):
            made = self.structure(field.item_struct)
            self.flush()
            self.source.line(f"{local} = {made}")
        return local

    # Arrays

    def array(self, field: Field, nullable: bool) -> str:
        count = self.length(field, "i")
        local = self.source.local(field.name)
        kind = field.item_type
        if kind in FIXED:
            self.counts.append(count)
            self.unless_null(count, local, nullable, lambda: self.numbers(field, count, local))
        else:
            self.unless_null(count, local, nullable, lambda: self.items(field, count, local))
        return local

    def numbers(self, field: Field, count: str, local: str) -> None:
        """Generate the reading of an array of fixed-size items."""
        source, stop = self.source, self.source.local("stop")
        code, size = FIXED[field.item_type]
        source.line(f"{stop} = p + {count} * {size}")
        with source.block(f"if not p <= {stop} <= end"):
            source.line(f'raise {self.constant(bad_length)}("{field.name}", {count}, end - p)')
        if self.in_steps:
            with source.block(f"if {count} > most"):
                source.line(f"raise {self.constant(too_many)}(most)")
        if field.item_type == "uuid":
            ids = f"[{self.constant(uuid_from_bytes)}(bytes(b[i:i + {size}])) for i in range(p, {{stop}}, {size})]"
            self.pieces(local, stop, size, STEP, ids)
            return
        small = source.constant("unpack_some_" + code.replace("?", "t"), SMALL_UNPACKERS[code])
        with source.block(f"if {count} < {SMALL_ARRAY}"):
            source.line(f"{local} = list({small}[{count}](b, p))")
            source.line(f"p = {stop}")
            self.count(count)
        with source.block("else"):
            numbers = f'{self.constant(unpack_from)}(f">{{{{({{stop}} - p) // {size}}}}}{code}", b, p)'
            self.pieces(local, stop, size, STEP_NUMBERS, numbers)

    def pieces(self, local: str, stop: str, size: int, most: int, items: str) -> None:
        """Generate the reading of fixed-size items up to ``stop``, in steps of at most so many. The expression
        ``items`` reads those from ``p`` on up to the place that is filled into it.
        """
        source = self.source
        source.line(f"{local} = []")
        if not self.in_steps:
            source.line(f"{local} += {items.format(stop=stop)}")
            source.line(f"p = {stop}")
            return
        with source.block(f"while p < {stop}"):
            source.line(f"some = min({stop}, p + {most * size})")
            source.line(f"{local} += {items.format(stop='some')}")
            source.line(f"read, p = (some - p) // {size}, some")
            self.count("read")

    def items(self, field: Field, count: str, local: str) -> None:
        """Generate the reading of an array of strings or structures."""
        source = self.source
        size = self.least_size(field)
        needed = count if size == 1 else f"{count} * {size}"
        with source.block(f"if not 0 <= {needed} <= end - p"):
            source.line(f'raise {self.constant(bad_length)}("{field.name}", {count}, end - p)')
        source.line(f"{local} = []")
        if field.struct and has_shape(field.struct, self.version, self.flexible):
            self.rows(field.struct, count, local)
            return
        with source.block(f"for _ in range({count})"):
            item = self.structure(field.struct) if field.struct else self.string(_text(field), False)
            self.flush()
            source.line(f"{local}.append({item})")
            self.count("1")

    def rows(self, cls: type[Message], left: str, local: str) -> None:
        """Generate the reading of structures that may be read by their shape (see ``shapes``)."""
        source = self.source
        shapes = Shapes(cls, self.version, self.flexible)
        plain, _ = present_fields(cls, self.version, self.flexible)
        arrays = sum(field.is_array for field in plain)
        read = source.local("read_rows")
        table = source.constant("shapes", shapes)
        source.first(f"{read} = {'None' if arrays else f'{table}[()]'}")
        with source.block(f"while {left}"):
            with source.block(f"if {read} and {left} > 1"):  # a single row is faster field by field
                if self.in_steps:
                    source.line(f"wanted = min({left}, {STEP})")
                    source.line(f"p, rest = {read}(b, p, end, wanted, {local})")
                    source.line(f"{left} -= wanted - rest")
                    self.count("wanted - rest")
                else:
                    source.line(f"p, {left} = {read}(b, p, end, {left}, {local})")
                with source.block(f"if not {left}"):
                    source.line("break")
            self.counts = []
            item = self.structure(cls)
            self.flush()
            source.line(f"{local}.append({item})")
            source.line(f"{left} -= 1")
            self.count("1")
            if arrays:
                # The counts of tagged arrays follow those of the plain ones, and are no part of the shape.
                source.line(f"{read} = {table}[{', '.join(self.counts[:arrays])},]")

    def least_size(self, field: Field) -> int:
        """Return the minimum size in bytes of an item of an array. It is never 0, or no count could be checked."""
        if field.item_type == "string":
            return 1 if self.flexible and field.compact else 2
        plain, _ = present_fields(field.item_struct, self.version, self.flexible)
        size = sum(map(self.least_field_size, plain)) + int(self.flexible)
        assert size, f"an item of {field.name} may be empty in version {self.version}"
        return size

    def least_field_size(self, field: Field) -> int:
        if not field.is_array and field.type in FIXED:
            return FIXED[field.type][1]
        if field.type == "struct":
            return 1 if field.is_nullable(self.version) else self.least_size(field)
        if self.flexible and field.compact:
            return 1
        return 2 if field.type == "string" else 4

    # Tagged fields

    def tagged_fields(self, fields: list[Field]) -> dict[str, str]:
        """Generate the reading of a structure's tagged fields. Return the locals that hold their values."""
        source = self.source
        count, tag, stop = source.local("tags"), source.local("tag"), source.local("stop")
        self.flush((count, "B"))
        values = {field.name: source.local(field.name) for field in fields}
        for field in fields:
            source.line(f"{values[field.name]} = {default_value(self.source, field)}")
        with source.block(f"if {count}"):
            with source.block(f"if {count} > 127"):
                source.line(f"{count}, p = {self.constant(read_uvarint)}(b, p - 1)")
                source.line(f"{self.constant(check_tags)}({count})")
            source.line(f"{tag} = -1")
            with source.block(f"for _ in range({count})"):
                source.line(f"{tag}, p, {stop} = {self.constant(read_tag)}(b, p, {tag})")
                for number, field in enumerate(fields):
                    with source.block(f"{'elif' if number else 'if'} {tag} == {field.tag}"):
                        made = self.field(field)
                        self.flush()
                        source.line(f"{values[field.name]} = {made}")
                with source.block("else"):
                    source.line(f"p = {stop}")
                with source.block(f"if p != {stop}"):
                    source.line(f'raise {self.constant(DecodeError)}(f"tag {{{tag}}} is not of the size it claims")')
            self.count(count)
        return values


def _text(field: Field) -> Field:
    """Return the field that describes an item of an array of strings."""
    return Field(field.name, "string", compact=field.compact)
