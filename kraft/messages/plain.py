"""Messages as plain JSON and back, for dump tools, traces and tests.

The form is that of Kafka's own JSON tools: field names in camel case, uuids in URL-safe base64. ``bytes`` and
``records`` are base64. Records that lie in a file become its position and length, which cannot be read back.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from kraft.wire.schema import Field, Message, camel_case
from kraft.wire.splice import FileSlice, Records
from kraft.wire.uuids import uuid_from_text, uuid_to_text

__all__ = ["from_plain", "json_name", "to_plain"]

M = TypeVar("M", bound=Message)


def to_plain(message: Message, version: int | None = None) -> dict[str, Any]:
    """Return a message as what ``json.dumps`` takes.

    Args:
        message: The message.
        version: Show only the fields of this version, and of its tagged ones only those that differ from their
            defaults, as Kafka's tools do; every field if not given.
    """
    plain: dict[str, Any] = _converter.unstructure(message)
    return plain if version is None else _at_version(message, plain, version)


def from_plain(cls: type[M], data: object) -> M:
    """Make a message from its plain form; fields that are missing get their defaults.

    Raises:
        ValueError: A name is unknown or a value is not of its field's type. One line, with the place of each.
    """
    try:
        return _converter.structure(data, cls)
    except TypeError as error:
        raise ValueError(str(error)) from None
    except cattrs.BaseValidationError as error:
        raise ValueError("; ".join(cattrs.transform_error(error, "message", _problem))) from None


def _problem(error: BaseException, _: object) -> str:
    if isinstance(error, cattrs.ForbiddenExtraKeysError):
        return f"no field is called {', '.join(sorted(error.extra_fields))}"
    return str(error)


def _at_version(message: Message, plain: dict[str, Any], version: int) -> dict[str, Any]:
    shown = {}
    for field in message.FIELDS:
        value = getattr(message, field.name)
        if not field.is_present(version) or (field.is_tagged(version) and field.is_default(value)):
            continue
        name = json_name(field)
        shown[name] = plain[name]
        if field.struct and value is not None:
            if field.is_array:
                shown[name] = [_at_version(*pair, version) for pair in zip(value, plain[name], strict=True)]
            else:
                shown[name] = _at_version(value, plain[name], version)
    return shown


def json_name(field: Field) -> str:
    """Return Kafka's name of a field in JSON."""
    return field.json_name or camel_case(field.name)


def _names(cls: type[Message]) -> dict[str, Any]:
    attrs.resolve_types(cls)  # type: ignore[type-var]  # Message itself is not an attrs class, those that inherit are
    return {field.name: override(rename=json_name(field)) for field in cls.FIELDS}


def _unstructure_message(cls: type[Message]) -> Callable[[Any], dict[str, Any]]:
    return make_dict_unstructure_fn(cls, _converter, **_names(cls))


def _structure_message(cls: type[Message]) -> Callable[[Any, Any], Message]:
    structure = make_dict_structure_fn(cls, _converter, _cattrs_forbid_extra_keys=True, **_names(cls))

    def checked(data: Any, kind: Any) -> Message:
        if not isinstance(data, dict):
            raise TypeError(f"{cls.__name__} is an object, not {type(data).__name__}")
        return structure(data, kind)

    return checked


def _to_base64(value: Records) -> object:
    if value is None:
        return None
    if isinstance(value, FileSlice):
        return {"filePosition": value.position, "fileLength": value.length}
    return base64.b64encode(value).decode()


def _from_base64(value: object, _: object) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"bytes are base64 text, not {type(value).__name__}")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("not base64") from None


def _uuid(value: object, _: object) -> UUID:
    if not isinstance(value, str):
        raise TypeError(f"a uuid is text, not {type(value).__name__}")
    return uuid_from_text(value)


def _only(*kinds: type) -> Callable[[Any, Any], Any]:
    """Take JSON's values as they are: cattrs would make 1 of ``"1"`` and true of ``"false"``."""

    def check(value: Any, _: object) -> Any:
        if type(value) not in kinds:
            raise TypeError(f"want {kinds[0].__name__}, not {type(value).__name__}")
        return kinds[0](value)

    return check


def _make_converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    for kind in (int, bool, str):
        converter.register_structure_hook(kind, _only(kind))
    converter.register_structure_hook(float, _only(float, int))
    converter.register_structure_hook(bytes, _from_base64)
    converter.register_structure_hook(UUID, _uuid)
    converter.register_structure_hook_func(
        lambda kind: kind == Records, lambda value, kind: None if value is None else _from_base64(value, kind)
    )
    converter.register_unstructure_hook(bytes, _to_base64)
    converter.register_unstructure_hook(UUID, uuid_to_text)
    converter.register_unstructure_hook_func(lambda kind: kind == Records, _to_base64)
    converter.register_unstructure_hook_factory(_is_message, _unstructure_message)
    converter.register_structure_hook_factory(_is_message, _structure_message)
    return converter


def _is_message(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Message)


_converter = _make_converter()
