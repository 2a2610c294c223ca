"""The seconds of each tier of tests, its budget and its slowest tests, printed at the end of a run.

A budget is a sum of seconds over all tests of a tier, for any number of processes, with branch coverage on. The sum of
the README's test command is 960 s: eight minutes on two cores. A tier over its budget gets a mark, and no test fails: a
timed assertion is a flaky test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

_SLOWEST = 3
_DATA_ROOMS = frozenset({"codegen", "messages", "records", "wire"})
_CORES = frozenset({"broker", "config", "controller", "coordinator", "metadata", "metrics", "raft", "transcripts"})
_TOOLS = frozenset({"cli", "client", "clients", "differential", "story", "testing"})


@attrs.frozen
class Tier:
    """A tier, and the seconds that its tests may take in all."""

    name: str
    budget_s: float


CODECS = Tier("codecs", 90)
CORES = Tier("cores and transcripts", 140)
DRIVERS = Tier("drivers, files and sockets", 200)
SIMULATION = Tier("simulation", 160)
TOOLS = Tier("tools, clients, examples", 130)
PROCESS = Tier("process", 240)
INTEROP = Tier("interop", 1500)
SPARK = Tier("spark", 1100)
TIERS = (CODECS, CORES, DRIVERS, SIMULATION, TOOLS, PROCESS, INTEROP, SPARK)


def tier_of(path: str, *, interop: bool) -> Tier:
    """The tier of a test in the file ``path`` (``tests/…``), which has the mark ``interop`` or not."""
    if interop:
        return INTEROP
    room = path.split("/")[1]
    if room == "spark":
        return SPARK
    if room in _DATA_ROOMS:
        return CODECS
    if room in _CORES:
        return CORES
    if room in ("process", "simulation"):
        return PROCESS if room == "process" else SIMULATION
    return TOOLS if room in _TOOLS or room.endswith(".py") else DRIVERS


@attrs.define
class Durations:
    """The seconds that each test took: its setup, its call and its teardown together."""

    _seconds: dict[str, float] = attrs.Factory(dict)
    _tiers: dict[str, Tier] = attrs.Factory(dict)

    def add(self, test: str, seconds: float, *, interop: bool) -> None:
        self._seconds[test] = self._seconds.get(test, 0.0) + seconds
        self._tiers.setdefault(test, tier_of(test.partition("::")[0], interop=interop))

    def lines(self) -> Iterator[str]:
        """A line for each tier that ran: its tests, seconds and budget; below it the slowest tests."""
        for tier in TIERS:
            tests = {test: seconds for test, seconds in self._seconds.items() if self._tiers[test] is tier}
            if tests:
                total = sum(tests.values())
                mark = "  OVER ITS BUDGET" if total > tier.budget_s else ""
                yield f"{tier.name}: {len(tests)} tests, {total:.0f} s of {tier.budget_s:.0f} s{mark}"
                yield from self._slowest(tests)

    def _slowest(self, tests: Mapping[str, float]) -> Iterator[str]:
        for test in sorted(tests, key=lambda test: -tests[test])[:_SLOWEST]:
            yield f"  {tests[test]:6.1f} s  {test}"
