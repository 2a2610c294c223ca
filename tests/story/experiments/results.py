"""Small results of experiments, for tests."""

from __future__ import annotations

from kraft.story.experiments.control_plane import (
    DEDICATED,
    IDLE,
    SATURATED,
    SHARED,
    Cell,
    ControlPlaneResult,
    Move,
    Quantiles,
    TimedRequest,
)


def cell(software: str = "kraft", *, plane: str = SHARED, load: str = IDLE, total_ms: float = 2.0) -> Cell:
    """A cell with one move and its requests, all of which take ``total_ms``."""
    requests = [
        TimedRequest(broker, api, "CONTROLLER", 1000.0 + total_ms, total_ms / 2, total_ms)
        for broker in (1, 2)
        for api in ("LeaderAndIsr", "UpdateMetadata")
    ]
    move = Move(7, 1, 2, 1000.0, 1010.0 + total_ms, 1005.0 + total_ms)
    rounds = Quantiles(10, 1.0, 4.0, 5.0) if software == "kraft" else None
    cpu = Quantiles(10, 0.9, 2.0, 2.5) if software == "kraft" else None
    return Cell(software, plane, load, requests, [move], 1234.5, 5000, 3, 0, rounds, cpu)


def measured() -> ControlPlaneResult:
    """All cells of both kinds of software."""
    times = {(SHARED, IDLE): 2.0, (SHARED, SATURATED): 800.0, (DEDICATED, IDLE): 2.0, (DEDICATED, SATURATED): 3.0}
    cells = [
        cell(software, plane=plane, load=load, total_ms=total_ms)
        for software in ("kraft", "Apache Kafka 3.9")
        for (plane, load), total_ms in times.items()
    ]
    return ControlPlaneResult([("machine", "2 CPUs")], cells)
