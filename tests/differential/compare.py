"""Compare two transcripts, and weigh each difference against the table of those that are meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import attrs

MISSING = "(missing)"
#: Fields that identify the items of a list, so that one extra item is one difference.
KEYS = ("name", "apiKey", "topicName", "configName", "groupId", "partitionIndex", "topic", "key")


@attrs.frozen
class Difference:
    """One value of one answer that is not the same. ``path`` names it, as in ``topics[0].errorCode``."""

    label: str
    path: str
    theirs: Any
    ours: Any

    def __str__(self) -> str:
        return f"{self.label} | {self.path} | Apache {self.theirs!r} | kraft {self.ours!r}"


@attrs.frozen
class Allowed:
    """A difference that is meant: where (shell patterns; ``[`` and ``]`` of a path are left out), and why.

    ``beside`` is the version of Apache Kafka that alone differs so; None: whichever.
    """

    label: str
    path: str
    why: str
    beside: str | None = None

    def is_about(self, version: str) -> bool:
        return self.beside in (None, version)

    def covers(self, difference: Difference) -> bool:
        path = difference.path.replace("[", ".").replace("]", "")
        return fnmatchcase(difference.label, self.label) and fnmatchcase(path, self.path)


def differences(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[Difference]:
    found = []
    for label in dict.fromkeys([*theirs, *ours]):
        pairs = _walk("", theirs.get(label, MISSING), ours.get(label, MISSING))
        found += [Difference(label, path, *pair) for path, *pair in pairs]
    return found


def _walk(path: str, theirs: Any, ours: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in dict.fromkeys([*theirs, *ours]):
            yield from _walk(f"{path}.{key}".lstrip("."), theirs.get(key, MISSING), ours.get(key, MISSING))
    elif (keyed := _keyed(theirs, ours)) is not None:
        for key in dict.fromkeys([*keyed[0], *keyed[1]]):
            yield from _walk(f"{path}[{key}]", keyed[0].get(key, MISSING), keyed[1].get(key, MISSING))
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from _walk(f"{path}[{index}]", one, other)
    elif theirs != ours or type(theirs) is not type(ours):
        yield path, theirs, ours


def _keyed(theirs: Any, ours: Any) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    """Align both lists by the first field that identifies their items."""
    if not (isinstance(theirs, list) and isinstance(ours, list) and theirs and ours):
        return None
    for key in KEYS:
        both = []
        for items in (theirs, ours):
            by_key = {item[key]: item for item in items if isinstance(item, dict) and key in item}
            if len(by_key) == len(items):
                both.append(by_key)
        if len(both) == 2:
            return both[0], both[1]
    return None


def weighed(found: Sequence[Difference], allowed: Sequence[Allowed]) -> tuple[list[Difference], list[Allowed]]:
    """The differences that nothing allows, and the entries that allow nothing."""
    unmeant = [each for each in found if not any(entry.covers(each) for entry in allowed)]
    unused = [entry for entry in allowed if not any(entry.covers(each) for each in found)]
    return unmeant, unused
