"""Generate the encoder of one message class at one version.

The generated function appends to a ``bytearray``. Consecutive fixed-size fields, length prefixes and arrays of numbers
form a *run*, which one ``struct`` call writes. A run with arrays has one ``struct`` per combination of their counts
(``Packers``). A compact length of one byte is part of the run; a longer one splits it.

An encoder in steps is a generator for messages of any size: it does the same, and yields after each ``STEP`` elements
of arrays, or ``STEP_BYTES``, so that its caller can let other tasks run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import lru_cache
from struct import Struct, pack
from typing import Any

import attrs

from kraft.wire.decode_error import UnsupportedVersionError
from kraft.wire.schema import FIXED, Field, Message, present_fields
from kraft.wire.source import Source
from kraft.wire.splice import FileSlice
from kraft.wire.varint import uvarint

__all__ = ["Encoder", "SteppedEncoder", "write_encoder", "write_stepped_encoder"]

Encoder = Callable[[Any, bytearray, list[tuple[int, FileSlice]]], None]
"""Appends a message to the bytes, and each file slice, with its offset in the bytes, to the list."""

SteppedEncoder = Callable[[Any, bytearray, list[tuple[int, FileSlice]]], Generator[None, None, None]]
"""The same in steps."""

MAX_STRING_BYTES = 0x7FFF
STEP = 500
STEP_BYTES = 1 << 20
"""The elements and the bytes of a step, as in the decoder."""


def write_encoder(cls: type[Message], version: int) -> Encoder:
    """Return the encoder of ``cls`` at ``version``, which must be valid."""
    return _EncoderWriter(cls, version, in_steps=False).write()


def write_stepped_encoder(cls: type[Message], version: int) -> SteppedEncoder:
    """Return the encoder of ``cls`` at ``version`` in steps."""
    return _EncoderWriter(cls, version, in_steps=True).write()


@lru_cache(maxsize=1024)
def packer(code: str) -> Callable[..., bytes]:
    """Return the ``pack`` of big-endian ``code``."""
    return Struct(f">{code}").pack


class Packers(dict[tuple[int, ...], Callable[..., bytes]]):
    """The ``pack`` of a run for each combination of array counts, at most ``LIMIT`` of them."""

    LIMIT = 1024

    def __init__(self, *codes: str) -> None:
        """``codes`` are the formats of the run's parts. The format of an array has ``{}`` in place of its count."""
        super().__init__()
        self._format = ">" + "".join(codes)

    def __missing__(self, counts: tuple[int, ...]) -> Callable[..., bytes]:
        if len(self) >= self.LIMIT:
            self.clear()
        found = self[counts] = Struct(self._format.format(*(max(count, 0) for count in counts))).pack
        return found


@lru_cache(maxsize=1024)
def packers(*codes: str) -> Packers:
    """Return the ``Packers`` of a run. Runs with the same formats share them."""
    return Packers(*codes)


def compact_length(count: int) -> bytes:
    """Return the compact form of a length: one more than the length, so that 0 means null (KIP-482)."""
    return uvarint(count + 1)


def compact_string_length(count: int) -> bytes:
    """Return the compact length of a string of ``count`` bytes. As in Kafka, a string has at most 32767 bytes."""
    if count > MAX_STRING_BYTES:
        raise ValueError(f"a string of {count} bytes; at most {MAX_STRING_BYTES} can be sent")
    return uvarint(count + 1)


def cannot_encode(message: Message, name: str, version: int) -> UnsupportedVersionError:
    return UnsupportedVersionError(f"{type(message).__name__}.{name} is set, which version {version} cannot say")


@attrs.frozen
class _Part:
    """A part of a run: its struct ``code`` and the expression of its value.

    Attributes:
        count: For an array or a compact length, the local that holds the count.
        compact: For a compact length, the expression of its bytes, used if one byte is too short.
    """

    code: str
    value: str
    count: str = ""
    compact: str = ""


class _EncoderWriter:
    def __init__(self, cls: type[Message], version: int, *, in_steps: bool) -> None:
        self.cls = cls
        self.version = version
        self.in_steps = in_steps
        self.flexible = version >= cls.FLEXIBLE_FROM
        self.source = Source("encode(m, out, splices)")
        self.run: list[_Part] = []

    def write(self) -> Callable[..., Any]:
        if self.in_steps:
            self.source.line(f"done, full = 0, len(out) + {STEP_BYTES}")
        self.structure(self.cls, "m")
        self.flush()
        self.source.line("return")
        if self.in_steps:
            self.source.line("yield")  # never reached: it makes the function a generator
        kind = "stepped encoder" if self.in_steps else "encoder"
        return self.source.compile("encode", f"<{kind} of {self.cls.__name__} v{self.version}>")

    def structure(self, cls: type[Message], var: str) -> None:
        plain, tagged = present_fields(cls, self.version, self.flexible)
        for field in cls.FIELDS:
            if not field.is_present(self.version) and not field.ignorable:
                self.check_absent(field, var)
        for field in plain:
            self.field(field, f"{var}.{field.name}")
        if tagged:
            self.tagged_fields(tagged, var)
        elif self.flexible:
            self.run.append(_Part("x", ""))

    def check_absent(self, field: Field, var: str) -> None:
        with self.source.block(f"if {self.differs(field, f'{var}.{field.name}')}"):
            error = self.source.constant("cannot_encode", cannot_encode)
            self.source.line(f'raise {error}({var}, "{field.name}", {self.version})')

    def differs(self, field: Field, value: str) -> str:
        """Return the expression for whether a value is not the default."""
        if field.default_is_null:
            return f"{value} is not None"
        # In every version in which null is allowed, it is not the default.
        null = f"{value} is None or " if field.nullable[1] >= field.nullable[0] else ""
        if field.is_array:
            return f"({null}len({value}) > 0)"
        if field.type == "struct":
            inner = (self.differs(f, f"{value}.{f.name}") for f in field.item_struct.FIELDS)
            return f"({null}{' or '.join(inner)})"
        if field.type == "uuid":
            return f"{value}.int != 0"
        return f"{value} != {field.make_default()!r}"

    # Fields

    def field(self, field: Field, value: str) -> None:
        nullable = field.is_nullable(self.version)
        if field.is_array:
            self.array(field, value, nullable)
        elif field.type in FIXED:
            self.fixed(field.type, value)
        elif field.type == "struct":
            self.nested(field, value, nullable)
        elif field.type == "string":
            self.string(field, value, nullable)
        else:
            self.bytes_or_records(field, value, nullable)

    def fixed(self, kind: str, value: str) -> None:
        self.run.append(_Part(FIXED[kind][0], f"{value}.bytes" if kind == "uuid" else value))

    def length(self, field: Field, count: str, legacy: str) -> None:
        """Add a length to the run. The local ``count`` holds it: -1 for null."""
        if not self.flexible or not field.compact:
            self.run.append(_Part(legacy, count))
            return
        slow = compact_string_length if field.type == "string" else compact_length
        self.run.append(_Part("B", f"{count} + 1", count, f"{self.source.constant(slow.__name__, slow)}({count})"))

    def load(
        self, field: Field, value: str, nullable: bool, convert: str = "{}", empty: str = 'b""'
    ) -> tuple[str, str]:
        """Generate lines that put a value and its count into locals. Return their names."""
        source = self.source
        local, count = source.local(field.name), source.local("count")
        source.line(f"{local} = {value if nullable else convert.format(value)}")
        if not nullable:
            source.line(f"{count} = len({local})")
            return local, count
        with source.block(f"if {local} is None"):
            source.line(f"{local} = {empty}")
            source.line(f"{count} = -1")
        with source.block("else"):
            if convert != "{}":
                source.line(f"{local} = {convert.format(local)}")
            source.line(f"{count} = len({local})")
        return local, count

    def string(self, field: Field, value: str, nullable: bool) -> None:
        local, count = self.load(field, value, nullable, convert="{}.encode()")
        self.length(field, count, "h")
        self.flush()
        self.source.line(f"out += {local}")

    def bytes_or_records(self, field: Field, value: str, nullable: bool) -> None:
        local, count = self.load(field, value, nullable)
        self.length(field, count, "i")
        self.flush()
        if field.type == "bytes":
            self.append(local, count)
            return
        with self.source.block(f"if type({local}) is {self.source.constant('FileSlice', FileSlice)}"):
            self.source.line(f"splices.append((len(out), {local}))")
        with self.source.block("else"):
            self.append(local, count)

    def append(self, local: str, count: str) -> None:
        """Generate the copy of ``count`` bytes, of many in steps."""
        if not self.in_steps:
            self.source.line(f"out += {local}")
            return
        with self.source.block(f"if {count} <= {STEP_BYTES}"):
            self.source.line(f"out += {local}")
        with self.source.block("else"):
            with self.source.block(f"for i in range(0, {count}, {STEP_BYTES})"):
                self.source.line(f"out += memoryview({local})[i:i + {STEP_BYTES}]")
                self.source.line("yield")
            self.source.line(f"full = len(out) + {STEP_BYTES}")

    def array(self, field: Field, value: str, nullable: bool) -> None:
        local, count = self.load(field, value, nullable, empty="()")
        self.length(field, count, "i")
        kind = field.item_type
        if kind in FIXED and kind != "uuid":
            self.run.append(_Part("{}" + FIXED[kind][0], f"*{local}", count))
            return
        self.flush()
        item = self.source.local("item")
        with self.source.block(f"for {item} in {local}"):
            if kind == "struct":
                self.structure(field.item_struct, item)
            elif kind == "uuid":
                self.fixed(kind, item)
            else:
                self.string(attrs.evolve(field, name="text", type=kind), item, False)
            self.flush()
            if self.in_steps:
                self.source.line("done += 1")
                with self.source.block(f"if done == {STEP} or len(out) > full"):
                    self.source.line("yield")
                    self.source.line(f"done, full = 0, len(out) + {STEP_BYTES}")

    def nested(self, field: Field, value: str, nullable: bool) -> None:
        local = self.source.local(field.name)
        self.source.line(f"{local} = {value}")
        if not nullable:
            self.structure(field.item_struct, local)
            return
        self.flush()
        with self.source.block(f"if {local} is None"):
            # A tagged structure has an unsigned varint as its mark, another one a signed byte.
            self.source.line('out += b"\\xff"' if field.tag is None else 'out += b"\\x00"')
        with self.source.block("else"):
            self.source.line('out += b"\\x01"')
            self.structure(field.item_struct, local)
            self.flush()

    def tagged_fields(self, fields: list[Field], var: str) -> None:
        """Generate the tagged fields that differ from their defaults, each after its tag and its size (KIP-482)."""
        self.flush()
        source = self.source
        flags = []
        for field in fields:
            flags.append(source.local("has_" + field.name))
            source.line(f"{flags[-1]} = {self.differs(field, f'{var}.{field.name}')}")
        with source.block(f"if {' or '.join(flags)}"):
            source.line(f"out.append({' + '.join(flags)})")
            for flag, field in zip(flags, fields, strict=True):
                with source.block(f"if {flag}"):
                    self.tagged_field(field, f"{var}.{field.name}")
        with source.block("else"):
            source.line("out.append(0)")

    def tagged_field(self, field: Field, value: str) -> None:
        """Generate one tagged field after its tag and its size. An unknown size is filled in afterwards."""
        source, size = self.source, self.fixed_size(field)
        if size is not None:
            self.run += [_Part("B", str(field.tag)), _Part("B", str(size))]
            self.field(field, value)
            self.flush()
            return
        source.line(f"out.append({field.tag})")
        start = source.local("start")
        source.line(f"{start} = len(out)")
        self.field(field, value)
        self.flush()
        source.line(f"out[{start}:{start}] = {source.constant('uvarint', uvarint)}(len(out) - {start})")

    def fixed_size(self, field: Field) -> int | None:
        """Return the size in bytes of a field if all values have the same, and if it fits one byte."""
        if field.type in FIXED:
            return FIXED[field.type][1]
        if field.type != "struct" or field.is_nullable(self.version):
            return None
        plain, tagged = present_fields(field.item_struct, self.version, self.flexible)
        total = int(self.flexible)
        for each in plain:
            size = self.fixed_size(each)
            if size is None:
                return None
            total += size
        return None if tagged or total > 127 else total

    # Runs

    def flush(self) -> None:
        """Generate the writing of the collected run."""
        parts, self.run = self.run, []
        if not parts:
            return
        compact = [part for part in parts if part.compact]
        if not compact:
            self.pack(parts)
            return
        with self.source.block(f"if {' and '.join(f'{part.count} < 127' for part in compact)}"):
            self.pack(parts)
        with self.source.block("else"):
            pending: list[_Part] = []
            for part in parts:
                if part.compact:
                    self.pack(pending)
                    self.source.line(f"out += {part.compact}")
                    pending = []
                elif part.count:
                    self.pack(pending)
                    code = part.code.replace("{}", f"{{len({part.value[1:]})}}")
                    self.source.line(f'out += {self.source.constant("pack", pack)}(f">{code}", {part.value})')
                    pending = []
                else:
                    pending.append(part)
            self.pack(pending)

    def pack(self, parts: list[_Part]) -> None:
        """Generate one struct call for parts whose compact lengths need one byte each."""
        if not parts:
            return
        values = ", ".join(part.value for part in parts if part.value)
        arrays = [part.count for part in parts if "{}" in part.code]
        codes = "".join(part.code for part in parts)
        if not values:
            self.source.line(f"out += {bytes(len(parts))!r}")
        elif codes == "B":
            self.source.line(f"out.append({values})")
        elif arrays:
            table = self.source.constant("packers", packers(*(part.code for part in parts)))
            self.source.line(f"out += {table}[{', '.join(arrays)},]({values})")
        else:
            name = "pack_" + codes.replace("?", "t")
            self.source.line(f"out += {self.source.constant(name, packer(codes))}({values})")
