"""Our schemas against those of kafka-python 3, which carries its own specs and codecs."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kafka.protocol.api_data import ApiData
from kafka.protocol.api_message import ApiMessage

from kraft.wire.codec import decode, encode
from kraft.wire.schema import Message
from tests.messages.strategies import CLASSES, messages, versions
from tests.support.sweep import sweep


def _theirs() -> dict[str, Any]:
    """kafka-python's message classes by Kafka's names; its modules register them when they are imported."""
    for package in ("admin", "consumer", "metadata", "producer"):
        path = importlib.import_module(f"kafka.protocol.{package}").__path__
        for module in pkgutil.iter_modules(path, f"kafka.protocol.{package}."):
            importlib.import_module(module.name)
    importlib.import_module("kafka.protocol.sasl")
    return {cls.name: cls for base in (ApiMessage, ApiData) for cls in _subclasses(base)}


def _subclasses(base: Any) -> Iterator[Any]:
    for cls in base.__subclasses__():
        if getattr(cls, "_json", None):
            yield cls


THEIRS = _theirs()
KNOWN_TO_BOTH = [
    (cls, version)
    for cls in CLASSES
    if cls.__name__ in THEIRS
    for version in versions(cls)
    if THEIRS[cls.__name__].valid_versions[0] <= version <= THEIRS[cls.__name__].valid_versions[1]
]


@pytest.mark.no_cover
@sweep(("cls", "version"), KNOWN_TO_BOTH)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_kafka_python_reads_and_writes_the_same_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    """kafka-python takes our bytes and gives the same bytes back; we read those as the message we began with."""
    message = data.draw(messages(cls, version))
    ours = encode(message, version)
    theirs = _through_kafka_python(THEIRS[cls.__name__], version, ours)
    assert theirs == ours
    assert decode(cls, version, theirs) == (message, len(ours))


def _through_kafka_python(cls: Any, version: int, ours: bytes) -> bytes:
    if issubclass(cls, ApiData):
        return bytes(cls.decode(ours, version=version, header=False).encode(version=version, header=False))
    flexible = cls.flexible_version_q(version)
    read = cls._struct.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=cls[None])
    value, size = read(memoryview(ours), 0)
    assert size == len(ours)
    value._header = None
    return bytes(value.encode(version=version))


def test_every_spec_of_kafka_python_that_we_have_is_covered() -> None:
    """Its spec files, read by name, hold nothing of ours that was passed over."""
    resources = importlib.import_module("kafka.protocol.schemas.resources")
    specs = {path.name.removesuffix(".json") for path in files(resources).iterdir()}
    covered = {cls.__name__ for cls, _ in KNOWN_TO_BOTH}
    # Its headers have no version of their own: they are coded together with a message.
    assert covered == {cls.__name__ for cls in CLASSES} & specs - {"RequestHeader", "ResponseHeader"}
    assert len(KNOWN_TO_BOTH) >= 400
