"""The tree of ``kraft shell``: an image as directories and files, which are made when they are read.

The paths are those of kafka-metadata-shell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from kraft import __version__
from kraft.cli.shell_text import (
    MECHANISMS,
    acl_text,
    broker_text,
    controller_text,
    partition_text,
    provenance_text,
    quota_entity_name,
    scram_text,
    token_text,
)
from kraft.config.features import METADATA_VERSION, NAME_OF_LEVEL
from kraft.metadata.image import Image, ResourceType, Topic
from kraft.wire.uuids import uuid_to_text

_NO_PRODUCER_ID = -1


@attrs.frozen
class File:
    """A file. ``read`` makes its text."""

    read: Callable[[], str]


@attrs.frozen
class Directory:
    """A directory. ``entries`` makes its files and directories, by name."""

    entries: Callable[[], Mapping[str, Node]]

    def names(self) -> list[str]:
        return sorted(self.entries())


Node = File | Directory


@attrs.frozen
class Place:
    """A file or a directory, and its path: the names from the root on."""

    path: tuple[str, ...]
    node: Node

    def __str__(self) -> str:
        return "/" + "/".join(self.path)

    @property
    def name(self) -> str:
        return self.path[-1] if self.path else "/"

    def children(self) -> Iterator[Place]:
        """Yield the entries of a directory, by name; nothing for a file."""
        if isinstance(self.node, Directory):
            entries = self.node.entries()
            for name in sorted(entries):
                yield Place((*self.path, name), entries[name])


def tree_of(image: Image) -> Directory:
    """Return the root directory of an image."""
    return _directory(image=_image(image), local=_directory(version=_file(__version__)))


def resolve(root: Directory, start: Sequence[str], path: str) -> list[Place]:
    """Return the places that match a path, relative to ``start`` unless the path is absolute. May be none.

    ``*`` stands for any text within a name, ``?`` for any character, ``{a,b}`` for either.
    """
    places = [Place((), root)]
    names = path.split("/")
    for name in [*([] if path.startswith("/") else start), *names]:
        places = [found for place in places for found in _step(root, place, name)]
    return places


def _step(root: Directory, place: Place, name: str) -> Iterable[Place]:
    if name in ("", "."):
        return (place,)
    if name == "..":
        return resolve(root, (), "/" + "/".join(place.path[:-1]))
    if not isinstance(place.node, Directory):
        return ()
    entries = place.node.entries()
    if name in entries:
        return (Place((*place.path, name), entries[name]),)
    pattern = _glob(name)
    if pattern is None:
        return ()
    return (child for child in place.children() if pattern.fullmatch(child.name))


def _glob(name: str) -> re.Pattern[str] | None:
    """Return the pattern for a name with wildcards, or None if the name has none."""
    if not any(wildcard in name for wildcard in "*?{"):
        return None
    parts = {"*": ".*", "?": ".", "{": "(?:", "}": ")", ",": "|"}
    braced = name.count("{") == name.count("}") == 1 and name.index("{") < name.index("}")
    if not braced:
        for character in "{},":
            del parts[character]
    return re.compile("".join(parts.get(character, re.escape(character)) for character in name), re.DOTALL)


def _file(text: object) -> File:
    return File(lambda: str(text))


def _directory(**entries: Node) -> Directory:
    return Directory(lambda: entries)


def _image(image: Image) -> Directory:
    return _directory(
        acls=_directory(byId=_table(image.acls, uuid_to_text, acl_text)),
        clientQuotas=_quotas(image),
        cluster=_directory(
            brokers=_table(image.brokers, str, broker_text),
            controllers=_table(image.controllers, str, controller_text),
        ),
        configs=_configs(image),
        delegationToken=_table(image.delegation_tokens, str, token_text),
        features=_features(image),
        producerIds=_directory(nextProducerId=_file(image.next_producer_id or _NO_PRODUCER_ID)),
        provenance=File(lambda: provenance_text(image)),
        scram=_scram(image),
        topics=_directory(
            byId=Directory(lambda: {uuid_to_text(key): _topic(topic) for key, topic in image.topics.items()}),
            byName=Directory(lambda: {topic.name: _topic(topic) for topic in image.topics.values()}),
        ),
    )


def _table(table: Mapping[Any, Any], name: Callable[..., str], text: Callable[..., str]) -> Directory:
    """Return a directory with one file per entry."""

    def file(value: object) -> File:
        return File(lambda: text(value))

    return Directory(lambda: {name(key): file(value) for key, value in table.items()})


def _values(values: Mapping[str, object]) -> Directory:
    return Directory(lambda: {name: _file(value) for name, value in values.items()})


def _topic(topic: Topic) -> Directory:
    def entries() -> Mapping[str, Node]:
        partitions = _table(topic.partitions, str, partition_text).entries()
        return {**partitions, "id": _file(uuid_to_text(topic.id)), "name": _file(topic.name)}

    return Directory(entries)


def _quotas(image: Image) -> Directory:
    return Directory(lambda: {quota_entity_name(entity): _values(v) for entity, v in image.client_quotas.items()})


def _configs(image: Image) -> Directory:
    def name(kind: int, resource: str) -> str:
        kinds = {each.value: each.name for each in ResourceType}
        return f"{kinds.get(kind, kind)}:{resource}" if resource else str(kinds.get(kind, kind))

    return Directory(lambda: {name(*resource): _values(values) for resource, values in image.configs.items()})


def _features(image: Image) -> Directory:
    def entries() -> Mapping[str, Node]:
        level = image.metadata_version
        known = f"Optional[{NAME_OF_LEVEL.get(level, level)}]" if level else "Optional.empty"
        others = {f"finalized_{name}": _file(n) for name, n in image.features.items() if name != METADATA_VERSION}
        return {"metadataVersion": _file(known), **others}

    return Directory(entries)


def _scram(image: Image) -> Directory:
    def of(mechanism: int) -> Directory:
        records = {user: record for (user, kind), record in image.scram_credentials.items() if kind == mechanism}
        return _table(records, str, scram_text)

    return _directory(**{name: of(mechanism) for mechanism, name in MECHANISMS.items()})
