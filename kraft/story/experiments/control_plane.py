"""The result of the experiment on KIP-291: times of the controller's requests, with and without a plane of their own.

The experiment moves leaderships one by one, and measures each combination of software, plane and load: a cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

IDLE, SATURATED = "idle", "saturated"
SHARED, DEDICATED = "shared", "dedicated"
LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA = "LeaderAndIsr", "UpdateMetadata", "StopReplica"
CONTROLLER_REQUESTS = (LEADER_AND_ISR, UPDATE_METADATA, STOP_REPLICA)

CLOCK_MS = 1.0
"""The clocks of processes of one machine differ by less. A node notes when a request was done in whole milliseconds."""
WITHIN_IDLE = 2.0
BELOW_SHARED = 100.0


@attrs.frozen
class TimedRequest:
    """A request of the controller, as the broker's request log has it. Times in milliseconds, ``done_ms`` since the
    epoch.
    """

    broker: int
    api: str
    listener: str
    done_ms: float
    queue_ms: float
    total_ms: float

    @property
    def arrived_ms(self) -> float:
        return self.done_ms - self.total_ms


@attrs.frozen
class Move:
    """The leadership of a partition moves from one broker to another. Times in milliseconds since the epoch.

    ``asked_ms`` is the time of the ElectLeaders request. At ``acknowledged_ms`` a producer received the first
    acknowledgement of the new leader. At ``known_ms`` the last of the brokers had the new leader in its Metadata
    response.
    """

    partition: int
    old: int
    new: int
    asked_ms: float
    acknowledged_ms: float
    known_ms: float


@attrs.frozen
class Quantiles:
    """p50, p99 and maximum of some values, in milliseconds, and their number."""

    count: int
    p50: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Quantiles:
        """Return those of ``values``; NaN without any. A percentile is a value that occurred (nearest rank)."""
        ordered = sorted(values)
        if not ordered:
            return cls(0, math.nan, math.nan, math.nan)
        p50, p99 = (ordered[math.ceil(len(ordered) * share) - 1] for share in (0.5, 0.99))
        return cls(len(ordered), p50, p99, ordered[-1])


@attrs.frozen
class Cell:
    """One combination, measured. ``rounds`` are those of the brokers' event loops, which only this project's have."""

    software: str
    plane: str
    load: str
    requests: Sequence[TimedRequest]
    moves: Sequence[Move]
    produced_per_s: float
    acknowledged: int
    """Batches that producers with acks=1 were acknowledged."""
    lost: int
    """Those of them that no log has."""
    lost_of_all: int
    """Batches with acks=all that were acknowledged and that no log has: never any."""
    rounds: Quantiles | None = None
    rounds_cpu: Quantiles | None = None
    """Their CPU time."""

    @property
    def queue(self) -> Quantiles:
        return Quantiles.of(request.queue_ms for request in self.requests)

    @property
    def total(self) -> Quantiles:
        return Quantiles.of(request.total_ms for request in self.requests)

    @property
    def leaderless(self) -> Quantiles:
        """From ElectLeaders until the new leader has applied LeaderAndIsr."""
        return Quantiles.of(self._until_applied(LEADER_AND_ISR, lambda move: [move.new]))

    @property
    def usurped(self) -> Quantiles:
        """From ElectLeaders until the old leader has applied LeaderAndIsr: it accepts records until then."""
        return Quantiles.of(self._until_applied(LEADER_AND_ISR, lambda move: [move.old]))

    @property
    def stale(self) -> Quantiles:
        """From ElectLeaders until the last broker has applied UpdateMetadata."""
        return Quantiles.of(self._until_applied(UPDATE_METADATA, lambda move: [move.old, move.new]))

    @property
    def unavailable(self) -> Quantiles:
        """From ElectLeaders until a producer has an acknowledgement of the new leader."""
        return Quantiles.of(move.acknowledged_ms - move.asked_ms for move in self.moves)

    @property
    def unknown(self) -> Quantiles:
        """From ElectLeaders until each broker has named the new leader to a client."""
        return Quantiles.of(move.known_ms - move.asked_ms for move in self.moves)

    def _until_applied(self, api: str, brokers_of: Callable[[Move], Sequence[int]]) -> Iterator[float]:
        """Yield for each move the time until these brokers have responded to the first such request after it."""
        for move in self.moves:
            ends: list[float] = []
            for broker in brokers_of(move):
                sent = [
                    request.done_ms
                    for request in self.requests
                    if request.api == api and request.broker == broker and request.arrived_ms > move.asked_ms - CLOCK_MS
                ]
                ends += [min(sent)] if sent else []
            if ends:
                yield max(ends) - move.asked_ms


@attrs.frozen
class ControlPlaneResult:
    """All cells of a run, and the circumstances as (name, text) pairs."""

    circumstances: Sequence[tuple[str, str]]
    cells: list[Cell]

    def cell(self, software: str, plane: str, load: str) -> Cell | None:
        wanted = (software, plane, load)
        return next((cell for cell in self.cells if (cell.software, cell.plane, cell.load) == wanted), None)

    @property
    def software(self) -> list[str]:
        return list(dict.fromkeys(cell.software for cell in self.cells))


@attrs.frozen
class PlaneGoal:
    """A limit of the proposal's promise. ``factor`` is the measured ratio."""

    software: str
    text: str
    factor: float
    is_met: bool


def goals(result: ControlPlaneResult) -> list[PlaneGoal]:
    """Return the goals of each software: the dedicated plane's p99 beside an idle broker's, and beside the shared
    plane's.
    """
    found: list[PlaneGoal] = []
    for software in result.software:
        dedicated = result.cell(software, DEDICATED, SATURATED)
        idle = result.cell(software, DEDICATED, IDLE)
        shared = result.cell(software, SHARED, SATURATED)
        if dedicated and idle:
            factor = dedicated.total.p99 / idle.total.p99
            text = f"p99 of the dedicated plane under load within {WITHIN_IDLE:.0f}× of an idle broker's"
            found.append(PlaneGoal(software, text, factor, factor <= WITHIN_IDLE))
        if dedicated and shared:
            factor = shared.total.p99 / dedicated.total.p99
            text = f"p99 of the dedicated plane at least {BELOW_SHARED:.0f}× below the shared plane's under load"
            found.append(PlaneGoal(software, text, factor, factor >= BELOW_SHARED))
    return found
