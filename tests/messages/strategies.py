"""Hypothesis strategies built from the schemas: any message of a class at a version."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from kraft.messages import registry
from kraft.wire.codec import decode, decode_in_steps, encode, encode_in_steps
from kraft.wire.schema import Field, Message

CLASSES = sorted(registry.all_classes(), key=lambda cls: cls.__name__)

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def versions(cls: type[Message]) -> range:
    return range(cls.VALID_VERSIONS[0], cls.VALID_VERSIONS[1] + 1)


def pairs() -> list[Any]:
    """Every (class, version), to parametrize a test with."""
    return [(cls, version) for cls in CLASSES for version in versions(cls)]


def compile_codecs() -> None:
    """Use both encoders and both decoders of every version once: the first use compiles them."""
    for cls, version in pairs():
        encoded = encode(cls(), version)
        list(encode_in_steps(cls(), version, bytearray(), []))
        decode(cls, version, encoded)
        list(decode_in_steps(cls, version, encoded, max_elements=0))


@cache
def messages(cls: type[Message], version: int, tame: bool = False) -> st.SearchStrategy[Any]:
    """Messages that differ from the default only in fields of the version.

    Args:
        cls: The class.
        version: One of its versions.
        tame: Only values that libraries with stricter types can hold: known error codes, times within some centuries.
    """
    fields = {field.name: _values(field, version, tame) for field in cls.FIELDS if field.is_present(version)}
    return st.builds(cls, **fields)


def _values(field: Field, version: int, tame: bool) -> st.SearchStrategy[Any]:
    item = messages(field.struct, version, tame) if field.struct else _scalars(field, tame)
    whole = _arrays(item, field) if field.is_array else item
    return st.none() | whole if field.is_nullable(version) else whole


def _arrays(item: st.SearchStrategy[Any], field: Field) -> st.SearchStrategy[Any]:
    """Short ones; rows of the same item; and of scalars such as need a length of two bytes."""
    some = st.lists(item, max_size=3)
    if field.struct:
        return some | st.builds(lambda item, count: [item] * count, item, st.integers(2, 4))
    return some | st.builds(lambda item, count: [item] * count, item, st.sampled_from([32, 33, 126, 127, 200]))


def _scalars(field: Field, tame: bool) -> st.SearchStrategy[Any]:
    kind = field.item_type
    if kind in _BITS:
        return _integers(field.name, kind, tame)
    strategies: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(),
        "uint16": st.integers(0, 2**16 - 1),
        "uint32": st.integers(0, 2**32 - 1),
        "float64": st.floats(allow_nan=False),
        "uuid": st.uuids(),
        "string": st.text(st.characters(codec="utf-8"), max_size=8)
        | st.sampled_from(["a" * 126, "a" * 127, "é" * 100]),
        "bytes": st.binary(max_size=8) | st.just(bytes(130)),
        "records": st.binary(max_size=8) | st.just(bytes(130)),
    }
    return strategies[kind]


def _integers(name: str, kind: str, tame: bool) -> st.SearchStrategy[int]:
    if tame and name.endswith("error_code"):
        return st.integers(-1, 119)
    if tame and kind == "int64" and ("time" in name or name.endswith("_ms")):
        return st.integers(0, 2**42)
    limit = 2 ** (_BITS[kind] - 1)
    return st.integers(-limit, limit - 1)
