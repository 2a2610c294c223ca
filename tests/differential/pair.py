"""The two brokers, and one scenario played to both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import attrs

from kraft.messages.registry import ApiKey
from tests.differential.talk import Line, Side, Talk, Versions

Ranges = Mapping[int, tuple[int, int]]


def offered(port: int) -> Ranges:
    """API key to lowest and highest version, from ApiVersions 0."""
    line = Line(port)
    try:
        line.send(ApiKey.API_VERSIONS, 0, {})
        answer = line.receive(ApiKey.API_VERSIONS, 0)
    finally:
        line.close()
    assert not isinstance(answer, str), answer
    return {api["apiKey"]: (api["minVersion"], api["maxVersion"]) for api in answer["apiKeys"]}


def answers(port: int) -> bool:
    """Return whether a process listens there."""
    try:
        return bool(offered(port))
    except (OSError, AssertionError):
        return False


def common(one: Ranges, other: Ranges) -> Versions:
    """The versions of each API that both offer."""
    return {
        key: range(max(one[key][0], other[key][0]), min(one[key][1], other[key][1]) + 1) for key in one if key in other
    }


@attrs.frozen
class Pair:
    """Apache Kafka and our node.

    Attributes:
        beside: The version of Apache Kafka.
        versions: The compared versions.
        latest: The versions for the set-up.
    """

    beside: str
    apache: Side
    ours: Side
    versions: Versions
    latest: Mapping[int, int]

    @classmethod
    def of(cls, beside: str, apache: Side, ours: Side) -> Pair:
        shared = common(offered(apache.port), offered(ours.port))
        latest = {key: versions[-1] for key, versions in shared.items() if len(versions)}
        return cls(beside, apache, ours, shared, latest)

    def play(self, scenario: Callable[[Talk], None]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The responses of Apache Kafka, and ours. The scenario runs on both sides at the same time."""
        with ThreadPoolExecutor(2) as players:
            theirs, ours = players.map(partial(self._play_on, scenario), (self.apache, self.ours))
        return theirs, ours

    def _play_on(self, scenario: Callable[[Talk], None], side: Side) -> dict[str, Any]:
        talk = Talk(side, self.versions, self.latest)
        try:
            scenario(talk)
        finally:
            talk.hang_up()
        return talk.transcript
