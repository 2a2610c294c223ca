"""Messages as JSON text, in the form of ``kraft.messages.plain`` and many times as fast.

The writer of a class and version is put together at its first use, so that a million records do not ask each field what
it is. ``plain.to_plain`` is the specification.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from kraft.messages.plain import json_name
from kraft.wire.schema import Field, Message
from kraft.wire.uuids import uuid_to_text

__all__ = ["json_text"]

_Writer = Callable[[Any], str]

_writers: dict[tuple[type[Message], int], _Writer] = {}


def json_text(message: Message, version: int) -> str:
    """Return the fields of this version as JSON without spaces, as Kafka's tools print it."""
    return (_writers.get((message.__class__, version)) or _new_writer(message.__class__, version))(message)


def _new_writer(cls: type[Message], version: int) -> _Writer:
    writer = _writers[cls, version] = _struct_writer(cls, version)
    return writer


def _struct_writer(cls: type[Message], version: int) -> _Writer:
    fields = [
        (
            field.name,
            f'"{json_name(field)}":',
            _value_writer(field, version),
            field.is_tagged(version),
            field.make_default(),
        )
        for field in cls.FIELDS
        if field.is_present(version)
    ]

    def write(message: Any) -> str:
        texts = []
        for name, prefix, text_of, is_tagged, default in fields:
            value = getattr(message, name)
            if not is_tagged or value != default:
                texts.append(prefix + ("null" if value is None else text_of(value)))
        return "{" + ",".join(texts) + "}"

    return write


def _value_writer(field: Field, version: int) -> _Writer:
    if field.struct is not None:
        item = _struct_writer(field.struct, version)
    else:
        item = _SCALARS.get(field.item_type, int.__repr__)
    if not field.is_array:
        return item
    return lambda values: "[" + ",".join(map(item, values)) + "]"


@lru_cache(maxsize=4096)
def _uuid_text(value: Any) -> str:
    return f'"{uuid_to_text(value)}"'


def _bytes_text(value: bytes) -> str:
    return f'"{b64encode(value).decode()}"'


_SCALARS: dict[str, _Writer] = {
    "bool": lambda value: "true" if value else "false",
    "float64": json.dumps,
    "string": encode_basestring,
    "uuid": _uuid_text,
    "bytes": _bytes_text,
}
