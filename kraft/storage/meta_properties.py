"""``meta.properties``: the owner of a log directory (KIP-631, KIP-858).

Error texts are Apache Kafka's where it has them, because ``kafka-storage info`` prints them too.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Mapping

import attrs
import javaproperties

from kraft.storage.creation import open_for_reading
from kraft.storage.errors import LogDirectoryError
from kraft.wire.uuids import uuid_from_text, uuid_to_text

META_PROPERTIES = "meta.properties"

#: Versions of the file: brokers with ZooKeeper wrote 0, nodes with a metadata quorum write 1 (KIP-631).
LEGACY, CURRENT = 0, 1
_NODE_ID = {LEGACY: "broker.id", CURRENT: "node.id"}
_OTHER_MODE = {
    LEGACY: "version 1 is that of nodes with process.roles",
    CURRENT: "version 0 is that of brokers with ZooKeeper",
}

_RESERVED_IDS = 100
"""As Kafka's ``DirectoryId.reserved``: the ids below this number have other meanings, or may get them."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,20}")
_MAX_BYTES = 2**20


@attrs.frozen
class MetaProperties:
    """``meta.properties``. A directory id is missing in files older than KIP-858.

    The two versions name the id of the node differently.
    """

    cluster_id: str
    node_id: int
    directory_id: uuid.UUID | None = None
    version: int = CURRENT

    def encode(self) -> bytes:
        """The content of the file."""
        node_id = f"{_NODE_ID[self.version]}={self.node_id}"
        lines = [f"version={self.version}", f"cluster.id={self.cluster_id}", node_id]
        if self.directory_id is not None:
            lines.append(f"directory.id={uuid_to_text(self.directory_id)}")
        return "\n".join([*lines, ""]).encode()


def read_meta_properties(path: str | os.PathLike[str], version: int = CURRENT) -> MetaProperties | None:
    """Read ``meta.properties`` of a log directory; None if it is absent. Raises LogDirectoryError, OSError."""
    name = os.path.join(path, META_PROPERTIES)
    values = read_properties(name)
    if values is None:
        return None
    try:
        return parse_meta_properties(values, version)
    except ValueError as error:
        raise LogDirectoryError(f"{name}: {str(error).rstrip('.')}; restore the file") from None


def parse_meta_properties(values: Mapping[str, str], version: int = CURRENT) -> MetaProperties:
    """Parse ``meta.properties`` of ``version``. Raises ValueError with one line, where possible Apache Kafka's."""
    if meta_version(values) != version:
        raise ValueError(_OTHER_MODE[version] if "version" in values else "version is missing")
    node_id, directory_id = read_number(values, _NODE_ID[version]), read_directory_id(values)
    if "cluster.id" not in values:
        raise ValueError("cluster.id was not found.")
    return MetaProperties(values["cluster.id"], node_id, directory_id, version)


def meta_version(values: Mapping[str, str]) -> int:
    """Return the version of a ``meta.properties``; a file without a version has version 0. Raises ValueError."""
    text = values.get("version", str(LEGACY))
    try:
        version = read_number({"version": text.strip()}, "version")
    except ValueError:
        raise ValueError(f"Invalid meta.properties version string {text!r}") from None
    if version not in (LEGACY, CURRENT):
        raise ValueError(f"Unknown meta.properties version number {version}")
    return version


def read_number(values: Mapping[str, str], name: str) -> int:
    """Return the value of a name as a Java ``int``. Raises ValueError."""
    if name not in values:
        raise ValueError(f"Failed to find {name}")
    number = int(values[name]) if _NUMBER.fullmatch(values[name]) else None
    if number is None or not -(2**31) <= number < 2**31:
        raise ValueError(f"Unable to read {name} as a base-10 number.")
    return number


def read_directory_id(values: Mapping[str, str]) -> uuid.UUID | None:
    """Return the directory id; None in files from before KIP-858. Raises ValueError."""
    try:
        return uuid_from_text(values["directory.id"]) if "directory.id" in values else None
    except ValueError as error:
        raise ValueError(f"Unable to read directory.id as a Uuid: {error}") from None


def require_own_ids(metas: Mapping[str, MetaProperties | None]) -> None:
    """Check the directory ids of one node, by path. A directory without an id gets one when it is opened.

    Raises LogDirectoryError if an id is reserved, or if two directories have the same.
    """
    paths: dict[uuid.UUID, str] = {}
    for path, meta in metas.items():
        if meta is None or meta.directory_id is None:
            continue
        text, other = uuid_to_text(meta.directory_id), paths.setdefault(meta.directory_id, path)
        if meta.directory_id.int < _RESERVED_IDS:
            what = f"Invalid reserved directory ID {text} found"
        elif other != path:
            what = f"Duplicate directory ID {text} found. It was the ID of {other}, but also of {path}"
        else:
            continue
        advice = f"remove the line directory.id from {META_PROPERTIES}, and the next start adds a new id"
        raise LogDirectoryError(f"{path}: {what}; {advice}")


def read_properties(name: str) -> dict[str, str] | None:
    """Read a properties file; None if it is absent. Raises LogDirectoryError if it is malformed, OSError."""
    try:
        with open(name, "rb", opener=open_for_reading) as file:
            return javaproperties.loads(file.read(_MAX_BYTES).decode("latin-1"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise LogDirectoryError(f"{name}: not a properties file: {error}") from None
