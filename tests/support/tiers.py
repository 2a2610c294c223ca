"""The seconds of each tier of tests, its budget and its slowest tests, printed at the end of a run.

A budget is a sum of seconds over all tests of a tier, with branch coverage on, where three processes share two idle
cores. Those of the README's test command fit into three times its eight minutes. A tier over its budget gets a mark,
and no test fails: a timed assertion is a flaky test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import attrs

_SLOWEST = 3


@attrs.frozen
class Tier:
    """A tier, and the seconds that its tests may take in all."""

    name: str
    budget_s: float


CODECS = Tier("codecs", 90)
CORES = Tier("cores and transcripts", 130)
DRIVERS = Tier("drivers, files and sockets", 260)
SIMULATION = Tier("simulation", 130)
TOOLS = Tier("tools, clients, examples", 200)
PROCESS = Tier("process", 340)
LEGACY = Tier("ZooKeeper era, without a server", 25)
HARNESS = Tier("harness", 65)
COMMAND = (CODECS, CORES, DRIVERS, SIMULATION, TOOLS, PROCESS, LEGACY, HARNESS)
"""The tiers of the README's test command."""

INTEROP = Tier("interop", 1500)
ZOOKEEPER = Tier("ZooKeeper era", 1100)
SPARK = Tier("spark", 1100)
UNKNOWN = Tier("directories without a tier", 0)
TIERS = (*COMMAND, INTEROP, ZOOKEEPER, SPARK, UNKNOWN)

COMMAND_S = 8 * 60
"""The time of the README's test command on two idle cores, at most."""

ROOMS = {
    room: tier
    for tier, rooms in {
        CODECS: ("codegen", "messages", "records", "wire"),
        CORES: ("broker", "config", "controller", "coordinator", "metadata", "metrics", "raft", "transcripts"),
        DRIVERS: (
            *("api", "control", "coordination", "node", "quorum", "replication"),
            *("request_log", "rpc", "storage", "world"),
        ),
        SIMULATION: ("simulation",),
        TOOLS: ("cli", "client", "clients", "differential", "interop", "story", "testing"),
        PROCESS: ("process",),
        LEGACY: ("zookeeper",),
        HARNESS: ("abuse", "bench", "experiment", "fuzz", "support", "transactions_workload"),
        SPARK: ("spark",),
    }.items()
    for room in rooms
}
"""The tier of each directory of tests, for tests without a mark."""


def tier_of(path: str, marks: Collection[str] = ()) -> Tier:
    """The tier of a test in the file ``path`` (``tests/…``) with these marks."""
    if "zookeeper" in marks:
        return ZOOKEEPER
    if "interop" in marks:
        return INTEROP
    room = path.split("/")[1]
    return TOOLS if room.endswith(".py") else ROOMS.get(room, UNKNOWN)


@attrs.define
class Durations:
    """The seconds that each test took: its setup, its call and its teardown together."""

    _seconds: dict[str, float] = attrs.Factory(dict)
    _tiers: dict[str, Tier] = attrs.Factory(dict)

    def add(self, test: str, seconds: float, marks: Collection[str] = ()) -> None:
        self._seconds[test] = self._seconds.get(test, 0.0) + seconds
        self._tiers.setdefault(test, tier_of(test.partition("::")[0], marks))

    def lines(self, elapsed_s: float) -> Iterator[str]:
        """A line for each tier that ran: its tests, seconds and budget; below it the slowest tests. The last line is
        about the whole run, ``elapsed_s`` long, if all its tests belong to the README's test command.
        """
        for tier in TIERS:
            tests = {test: seconds for test, seconds in self._seconds.items() if self._tiers[test] is tier}
            if tests:
                total = sum(tests.values())
                yield f"{tier.name}: {len(tests)} tests, {_of(total, tier.budget_s)}{_mark(total > tier.budget_s)}"
                yield from self._slowest(tests)
        if self._tiers and set(self._tiers.values()) <= set(COMMAND):
            total, budget_s = sum(self._seconds.values()), sum(tier.budget_s for tier in COMMAND)
            mark = _mark(total > budget_s or elapsed_s > COMMAND_S)
            sums = f"{_of(total, budget_s)}, elapsed {_of(elapsed_s, COMMAND_S)}"
            yield f"whole run: {len(self._tiers)} tests, {sums}{mark}"

    def _slowest(self, tests: Mapping[str, float]) -> Iterator[str]:
        for test in sorted(tests, key=lambda test: -tests[test])[:_SLOWEST]:
            yield f"  {tests[test]:6.1f} s  {test}"


def _of(seconds: float, budget_s: float) -> str:
    return f"{seconds:.0f} s of {budget_s:.0f} s"


def _mark(over: bool) -> str:
    return "  OVER ITS BUDGET" if over else ""
