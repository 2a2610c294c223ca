"""Refusals of names of topics: illegal ones, and those that collide in metrics."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator

from kraft.metadata.topic_name import topic_name_fault
from kraft.wire.errors import ErrorCode, KafkaError

#: With so many of '.' and '_' a name collides with 2**8 - 1 others: looking these up costs less than a scan of all
#: topics.
_FEW_SEPARATORS = 8


def check_topic_name(name: str) -> None:
    """Raise KafkaError INVALID_TOPIC_EXCEPTION, with the reason, if no topic may have this name."""
    fault = topic_name_fault(name)
    if fault is not None:
        _refuse(fault)


class Collisions:
    """Names of topics that differ only in '.' against '_': such topics have the same metric names.

    Each colliding name is looked up in ``topics``. Where these are too many, all topics are scanned instead, once for
    all names of a request.
    """

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = topics
        self._created: dict[str, str] = {}
        self._existing: dict[str, str] | None = None

    def check(self, name: str) -> None:
        """Raise KafkaError INVALID_TOPIC_EXCEPTION if a topic collides with the new name ``name``."""
        if not _separators(name):
            return
        other = self._created.get(_merged(name)) or self._find(name)
        if other is not None:
            _refuse(f"topic '{name}' collides with existing topic: {other}")

    def add(self, name: str) -> None:
        """Add a checked topic of the same request."""
        self._created[_merged(name)] = name

    def _find(self, name: str) -> str | None:
        if _separators(name) <= _FEW_SEPARATORS:
            return next((other for other in _variants(name) if other in self._topics), None)
        if self._existing is None:
            alike = sorted(other for other in self._topics if _separators(other) > _FEW_SEPARATORS)
            self._existing = {_merged(other): other for other in reversed(alike)}
        return self._existing.get(_merged(name))


def _separators(name: str) -> int:
    return name.count(".") + name.count("_")


def _merged(name: str) -> str:
    return name.replace(".", "_")


def _variants(name: str) -> Iterator[str]:
    """All names that differ from ``name`` at most in '.' against '_', in their own order."""
    words = _merged(name).split("_")
    for separators in itertools.product("._", repeat=len(words) - 1):
        yield "".join(itertools.chain.from_iterable(zip(words, (*separators, ""), strict=True)))


def _refuse(reason: str) -> None:
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
