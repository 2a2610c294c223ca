"""The regular expressions of consumer groups (KIP-848) and of ListTransactions (KIP-1152), in RE2 on worker threads.

RE2 takes a time that is linear in the length of a topic's name, and bounded memory. It releases the interpreter's lock
while it matches. Java's brokers use RE2/J, which has the same syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import attrs
import re2

from kraft.coordination.task_starter import TaskStarter
from kraft.coordinator.groups.consumer.group import ResolvedRegex
from kraft.coordinator.groups.consumer.regexes import RegexesResolved
from kraft.coordinator.groups.effects import RegexSearch
from kraft.wire.errors import ErrorCode, KafkaError, shortened
from kraft.world.world import World

_MAX_MEMORY: Final = 1 << 19
"""Not a Kafka setting. The memory in bytes that RE2 may use for an expression: one that needs more is refused."""
MAX_LENGTH: Final = 4096
"""Not a Kafka setting. RE2 holds the interpreter's lock while it compiles: up to 110 ms for 16,000 characters."""
MAX_CLASSES: Final = 64
"""Not a Kafka setting. The Unicode classes (``\\pL``) of an expression, each of which takes RE2 some 0.1 ms."""
_NAMES_AT_ONCE: Final = 200
"""The names that a worker thread compares before it takes other work: less than a millisecond for most expressions."""


_UNICODE_CLASS: Final = re.compile(r"\\[pP]")


def _options() -> re2.Options:
    options = re2.Options()
    options.max_mem = _MAX_MEMORY
    options.log_errors = False
    options.never_capture = True  # submatches take RE2 a thousand times as long
    return options


_OPTIONS: Final = _options()


def _compiled(regex: str) -> Any:
    """Return the compiled expression. RE2 keeps the last ones. Raises re2.error if it is invalid or too large."""
    if len(regex) > MAX_LENGTH:
        raise re2.error(f"it has {len(regex)} characters, and {MAX_LENGTH} are allowed")
    if (classes := len(_UNICODE_CLASS.findall(regex))) > MAX_CLASSES:
        raise re2.error(f"it has {classes} Unicode classes, and {MAX_CLASSES} are allowed")
    return re2.compile(regex, _OPTIONS)


async def check(world: World, regex: str, what: str = "SubscribedTopicRegex") -> None:
    """Raises KafkaError with INVALID_REGULAR_EXPRESSION. Its text begins with ``what``, the name of the expression."""
    try:
        await world.compute(_compiled, regex)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        text = shortened(f"{what} `{regex}` is not a valid regular expression: {why}.")
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, text) from None


def _matching(regex: str, names: Sequence[str]) -> list[str]:
    """Return the names that match. None match an expression that RE2 refuses, which another coordinator accepted."""
    try:
        pattern = _compiled(regex)
    except re2.error:
        return []
    return [name for name in names if pattern.fullmatch(name) is not None]


async def matching(world: World, regex: str, names: Sequence[str]) -> frozenset[str]:
    """Return the names that match as a whole."""
    found: list[str] = []
    for start in range(0, len(names), _NAMES_AT_ONCE):
        found += await world.compute(_matching, regex, names[start : start + _NAMES_AT_ONCE])
    return frozenset(found)


async def _resolve(world: World, search: RegexSearch) -> RegexesResolved:
    names = list(search.image.topic_ids)
    resolved = {}
    for regex in search.regexes:
        topics = await matching(world, regex, names)
        resolved[regex] = ResolvedRegex(topics, search.image.offset, search.timestamp_ms)
    return RegexesResolved(search.group_id, resolved, search.image)


@attrs.define(eq=False)
class RegexSearches:
    """The searches of this broker. The worker threads are shared between them."""

    world: World
    _tasks: TaskStarter = attrs.Factory(TaskStarter)

    def begin(self, search: RegexSearch, report: Callable[[RegexesResolved], None]) -> None:
        """Search in the background, then report. A group has one search at a time, so the tasks are bounded."""
        self._tasks.start(partial(self._search, search, report), f"topics of the expressions of {search.group_id}")

    async def run(self) -> None:
        await self._tasks.run()

    async def _search(self, search: RegexSearch, report: Callable[[RegexesResolved], None]) -> None:
        report(await _resolve(self.world, search))
