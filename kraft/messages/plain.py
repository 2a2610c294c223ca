"""Messages as plain JSON and back, for dump tools, traces and tests.

The form is that of Kafka's own JSON tools: field names in camel case, uuids in URL-safe base64. ``bytes`` and
``records`` are base64. Records that lie in a file become its position and length, which cannot be read back.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, Final, TypeVar
from uuid import UUID

from kraft.wire.schema import NO_VERSIONS, Field, Message, camel_case
from kraft.wire.splice import FileSlice
from kraft.wire.uuids import uuid_from_text, uuid_to_text

__all__ = ["from_plain", "json_name", "to_plain"]

M = TypeVar("M", bound=Message)


def json_name(field: Field) -> str:
    """Return Kafka's name of a field in JSON."""
    return field.json_name or camel_case(field.name)


def to_plain(message: Message, version: int | None = None) -> dict[str, Any]:
    """Return a message as what ``json.dumps`` takes.

    Args:
        message: The message.
        version: Show only the fields of this version, and of its tagged ones only those that differ from their
            defaults, as Kafka's tools do; every field if not given.
    """
    plain = {}
    for field in message.FIELDS:
        value = getattr(message, field.name)
        if version is None or (
            field.is_present(version) and not (field.is_tagged(version) and field.is_default(value))
        ):
            plain[json_name(field)] = _value_to_plain(field, value, version)
    return plain


def _value_to_plain(field: Field, value: Any, version: int | None) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [_item_to_plain(field, item, version) for item in value]
    return _item_to_plain(field, value, version)


def _item_to_plain(field: Field, item: Any, version: int | None) -> Any:
    if field.struct is not None:
        return to_plain(item, version)
    convert = _TO_PLAIN.get(field.item_type)
    return item if convert is None else convert(item)


def _to_base64(value: bytes | memoryview | FileSlice) -> object:
    if isinstance(value, FileSlice):
        return {"filePosition": value.position, "fileLength": value.length}
    return base64.b64encode(value).decode()


_TO_PLAIN: Final[dict[str, Callable[[Any], object]]] = {
    "uuid": uuid_to_text,
    "bytes": _to_base64,
    "records": _to_base64,
}


def from_plain(cls: type[M], data: object) -> M:
    """Make a message from its plain form; fields that are missing get their defaults.

    Raises ValueError if a name is unknown or a value is not of its field's type. One line, with the place of the first.
    """
    return _message(cls, data, "message")


def _message(cls: type[M], data: object, place: str) -> M:
    if not isinstance(data, dict):
        raise ValueError(f"{cls.__name__} is an object, not {type(data).__name__} @ {place}")
    fields = {json_name(field): field for field in cls.FIELDS}
    unknown = data.keys() - fields.keys()
    if unknown:
        raise ValueError(f"no field is called {', '.join(sorted(unknown))} @ {place}")
    return cls(**{fields[name].name: _value(fields[name], value, f"{place}.{name}") for name, value in data.items()})


def _value(field: Field, data: object, place: str) -> Any:
    if data is None and (field.nullable != NO_VERSIONS or field.default_is_null):
        return None
    if not field.is_array:
        return _item(field, data, place)
    if not isinstance(data, list):
        raise ValueError(f"want list, not {type(data).__name__} @ {place}")
    return [_item(field, item, f"{place}[{index}]") for index, item in enumerate(data)]


def _item(field: Field, data: object, place: str) -> Any:
    if field.struct is not None:
        return _message(field.struct, data, place)
    try:
        return _FROM_PLAIN.get(field.item_type, _integer)(data)
    except ValueError as error:
        raise ValueError(f"{error} @ {place}") from None


def _only(*kinds: type) -> Callable[[object], Any]:
    """Take JSON's values as they are: ``int`` would make 1 of ``"1"``, and ``bool`` true of ``"false"``."""

    def check(value: Any) -> Any:
        if type(value) not in kinds:
            raise ValueError(f"want {kinds[0].__name__}, not {type(value).__name__}")
        return kinds[0](value)

    return check


def _from_base64(value: object) -> bytes:
    if not isinstance(value, str):
        raise ValueError(f"bytes are base64 text, not {type(value).__name__}")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("not base64") from None


def _uuid(value: object) -> UUID:
    if not isinstance(value, str):
        raise ValueError(f"a uuid is text, not {type(value).__name__}")
    return uuid_from_text(value)


_integer: Final = _only(int)
_FROM_PLAIN: Final[dict[str, Callable[[object], Any]]] = {
    "bool": _only(bool),
    "float64": _only(float, int),
    "string": _only(str),
    "uuid": _uuid,
    "bytes": _from_base64,
    "records": _from_base64,
}
