"""Our schemas against those of kio, which generates its classes from Apache Kafka's own specs."""

from __future__ import annotations

import io
from pkgutil import resolve_name
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from kraft.messages import registry
from kraft.messages._index import DATA, RECORDS
from kraft.wire.codec import decode, encode
from kraft.wire.schema import Message
from tests.messages.strategies import CLASSES, messages, versions
from tests.support.sweep import sweep

_KINDS = {"Request": EntityType.request, "Response": EntityType.response}
_NAMES = {
    "RequestHeader": ("request_header", EntityType.header),
    "ResponseHeader": ("response_header", EntityType.header),
}


def _kio_name(cls: type[Message]) -> tuple[str, EntityType]:
    if cls.__name__ in _NAMES:
        return _NAMES[cls.__name__]
    for suffix, kind in _KINDS.items():
        if cls.__name__.endswith(suffix):
            return _snake(cls.__name__.removesuffix(suffix)), kind
    return _snake(cls.__name__), EntityType.data


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).removeprefix("_")


def _kio_class(cls: type[Message], version: int) -> Any:
    name, kind = _kio_name(cls)
    path = schema_name_map.get(name, {}).get(version, {}).get(kind)
    return None if path is None else resolve_name(path)


KNOWN_TO_BOTH = [(cls, version) for cls in CLASSES for version in versions(cls) if _kio_class(cls, version)]


@pytest.mark.no_cover
@sweep(("cls", "version"), KNOWN_TO_BOTH)
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_kio_reads_and_writes_the_same_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    """kio takes our bytes to the last one and gives the same bytes back; we read those as the message we began with."""
    message = data.draw(messages(cls, version, tame=True))
    ours = encode(message, version)
    kio_class = _kio_class(cls, version)
    value, size = entity_reader(kio_class)(ours, 0)
    assert size == len(ours)
    theirs = io.BytesIO()
    entity_writer(kio_class)(theirs, value)
    assert theirs.getvalue() == ours
    assert decode(cls, version, theirs.getvalue()) == (message, len(ours))


def test_every_version_that_kio_knows_is_covered() -> None:
    """kio's index, read by class name rather than through our own lookup, has nothing of ours that was passed over."""
    ours = {cls.__name__: cls for cls in CLASSES}
    indexed = {
        (path.rpartition(":")[2], version)
        for by_version in schema_name_map.values()
        for version, by_kind in by_version.items()
        for path in by_kind.values()
    }
    wanted = {(name, version) for name, version in indexed if name in ours and version in versions(ours[name])}
    covered = {(cls.__name__, version) for cls, version in KNOWN_TO_BOTH}
    assert covered == wanted
    assert len(covered) >= 545


def test_fields_that_kio_lacks_are_listed() -> None:
    """The schemas without this oracle: ZooKeeper's control plane and what never crosses the network."""
    known = {cls for cls, _ in KNOWN_TO_BOTH}
    unknown = {cls.__name__ for cls in CLASSES if cls not in known}
    control_plane = {"ControlledShutdown", "LeaderAndIsr", "StopReplica", "UpdateMetadata"}
    stored = {"GroupMetadataKey", "GroupMetadataValue", "OffsetCommitKey", "OffsetCommitValue"}
    stored |= {"TransactionLogKey", "TransactionLogValue", "QuorumStateData"}
    stored |= {name for name in DATA if name.startswith(("ConsumerGroup", "Share"))}
    records = {cls.__name__ for cls in map(registry.record_class, RECORDS)}
    assert unknown == stored | records | {f"{name}{kind}" for name in control_plane for kind in _KINDS}
