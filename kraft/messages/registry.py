"""Find a message class by its key, and say what surrounds it: header versions and the listeners that answer it.

Modules are imported when they are first asked for; a node that never sees an API never pays for it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module

from kraft.messages._index import DATA, FLEXIBLE_FROM, LISTENERS, RECORDS, REQUESTS, RESPONSES, ApiKey
from kraft.wire.schema import NEVER, Message

__all__ = [
    "ApiKey",
    "all_classes",
    "data_class",
    "listeners",
    "record_class",
    "record_classes",
    "request_class",
    "request_header_version",
    "response_class",
    "response_header_version",
]


_REMEMBERED = 1024
"""More than there are versions of all APIs. A peer may send any number as a version."""


@cache
def request_class(key: int) -> type[Message]:
    """Return the class of an API's requests. Raises ``KeyError`` for an unknown API."""
    return _load(*REQUESTS[key])


@cache
def response_class(key: int) -> type[Message]:
    """Return the class of an API's responses. Raises ``KeyError`` for an unknown API."""
    return _load(*RESPONSES[key])


@cache
def record_class(record_type: int) -> type[Message]:
    """Return the class of a metadata record (KIP-631). Raises ``KeyError`` for an unknown type."""
    return _load(*RECORDS[record_type])


def record_classes() -> list[type[Message]]:
    """Return the classes of all metadata records, by their types."""
    return [record_class(record_type) for record_type in sorted(RECORDS)]


@cache
def data_class(name: str) -> type[Message]:
    """Return the class of a schema that has no key, such as ``OffsetCommitValue``. Raises ``KeyError``."""
    return _load(DATA[name], name)


def all_classes() -> list[type[Message]]:
    """Return every message class there is, importing them all."""
    keyed = [_load(*entry) for table in (REQUESTS, RESPONSES, RECORDS) for entry in table.values()]
    return keyed + [data_class(name) for name in DATA]


@lru_cache(_REMEMBERED)
def request_header_version(key: int, version: int) -> int:
    """Return the version of the request header: 2 for flexible versions (KIP-482), else 1.

    ControlledShutdown 0 predates the client id and has header 0. For an API that is not known here it is 1, which
    begins like every newer one, so that the request can be refused by name.
    """
    if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if version >= FLEXIBLE_FROM.get(key, NEVER) else 1


@lru_cache(_REMEMBERED)
def response_header_version(key: int, version: int) -> int:
    """Return the version of the response header: 1 for flexible versions, else 0.

    Always 0 for ApiVersions: its client does not know yet what the broker speaks (KIP-511).
    """
    return 0 if key == ApiKey.API_VERSIONS else int(version >= FLEXIBLE_FROM.get(key, NEVER))


def listeners(key: int) -> tuple[str, ...]:
    """Return the kinds of listener that answer an API (``broker``, ``controller``, ``zkBroker``); none if unknown."""
    return LISTENERS.get(key, ())


def _load(module: str, name: str) -> type[Message]:
    cls = getattr(import_module(f"kraft.messages.{module}"), name)
    assert isinstance(cls, type)
    assert issubclass(cls, Message)
    return cls
