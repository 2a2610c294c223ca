"""Inspect a node's directories for ``kraft storage info``, in the words and the format of kafka-storage info."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import attrs

from kraft.storage.errors import StorageError
from kraft.storage.meta_properties import (
    CURRENT,
    LEGACY,
    META_PROPERTIES,
    meta_version,
    parse_meta_properties,
    read_directory_id,
    read_number,
    read_properties,
)
from kraft.wire.uuids import uuid_to_text

_OTHER_MODE = {
    LEGACY: "The kafka configuration file appears to be for a legacy cluster, "
    "but the directories are formatted for a cluster in KRaft mode.",
    CURRENT: "The kafka configuration file appears to be for a cluster in KRaft mode, "
    "but the directories are formatted for legacy mode.",
}
"""The problem of directories with another version of ``meta.properties`` than the configuration has."""


@attrs.define
class Findings:
    """The existing directories, the ``meta.properties`` of the first, and the problems."""

    found: list[str] = attrs.Factory(list)
    metadata: Mapping[str, str] | None = None
    problems: list[str] = attrs.Factory(list)

    def lines(self) -> Iterator[str]:
        """Yield the lines to print."""
        yield from _headed("Found log director", "y:", "ies:", self.found)
        if self.metadata is not None:
            yield f"Found metadata: {{{', '.join(f'{name}={self.metadata[name]}' for name in sorted(self.metadata))}}}"
            yield ""
        yield from _headed("Found problem", ":", "s:", self.problems)


def look_at(directories: Iterable[str], node_id: int, version: int) -> Findings:
    """Inspect the directories of a node whose ``meta.properties`` should have ``version``.

    Some findings go beyond Apache Kafka's: the directories belong to another node than the configuration names; or a
    directory other than the first has the format of the other mode.
    """
    findings, metas = Findings(), list[Mapping[str, str]]()
    for directory in sorted(directories):
        if not os.path.isdir(directory):
            state = "is not a directory" if os.path.exists(directory) else "does not exist"
            findings.problems.append(f"{directory} {state}")
            continue
        findings.found.append(directory)
        try:
            metas.append(_described(directory))
            findings.problems += _mismatch(metas[0], metas[-1])
        except StorageError as error:
            findings.problems.append(str(error))
    if metas:
        findings.metadata = metas[0]
        owner = _node_of(metas[0])
        if any(meta["version"] != str(version) for meta in metas):
            findings.problems.append(_OTHER_MODE[version])
        elif owner != str(node_id):
            findings.problems.append(f"The directories belong to node {owner}, and this is node {node_id}.")
    return findings


def _described(directory: str) -> dict[str, str]:
    """Return the known values of ``meta.properties`` by name. Raises StorageError if the file is absent or invalid."""
    path = os.path.join(directory, META_PROPERTIES)
    try:
        values = read_properties(path)
        if values is None:
            raise StorageError(f"{directory} is not formatted.")
        return _known(values)
    except OSError as error:
        raise StorageError(f"Error loading {path}: {error.strerror}") from None
    except ValueError as error:
        raise StorageError(f"Error loading {path}: {error}") from None


def _known(values: Mapping[str, str]) -> dict[str, str]:
    """Return the known values of ``meta.properties`` by name. Raises ValueError if one is invalid."""
    version = meta_version(values)
    if version == LEGACY:
        cluster_id, directory_id = values.get("cluster.id"), read_directory_id(values)
        node_id = read_number(values, "broker.id") if "broker.id" in values else None
    else:
        meta = parse_meta_properties(values)
        cluster_id, node_id, directory_id = meta.cluster_id, meta.node_id, meta.directory_id
    described = {
        "version": str(version),
        "cluster.id": cluster_id,
        "broker.id" if version == LEGACY else "node.id": None if node_id is None else str(node_id),
        "directory.id": None if directory_id is None else uuid_to_text(directory_id),
    }
    return {name: value for name, value in described.items() if value is not None}


def _mismatch(first: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return a problem if two directories of a node contradict each other."""
    if first.get("cluster.id") != other.get("cluster.id"):
        return ["Mismatched cluster IDs between storage directories."]
    if _node_of(first) != _node_of(other):
        return ["Mismatched node IDs between storage directories."]
    return []


def _node_of(meta: Mapping[str, str]) -> str | None:
    return meta.get("node.id", meta.get("broker.id"))


def _headed(heading: str, one: str, many: str, lines: list[str]) -> Iterator[str]:
    """Yield lines under a heading, if there are any."""
    if lines:
        yield heading + (one if len(lines) == 1 else many)
        yield from (f"  {line}" for line in lines)
        yield ""
