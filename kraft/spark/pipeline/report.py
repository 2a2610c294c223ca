"""From the tables to the input of the report page (``kraft.story.report``)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kraft.spark.pipeline.campaigns import campaigns, event_spread
from kraft.spark.pipeline.store import StoreError, TableStore
from kraft.spark.pipeline.tables import TABLES
from kraft.story.quorum_timeline import JournalLine, merged
from kraft.story.report.journals import failovers, quorum_history
from kraft.story.report.model import (
    BrokerPeriod,
    BrokerState,
    Change,
    ClusterNode,
    ClusterReport,
    EventSpread,
    FailedSeed,
    LatencyWindow,
    LeadershipPeriod,
    NotableEvent,
    Quarantined,
    SimulationCampaign,
    Unavailability,
)

MAX_CAMPAIGNS = 100
MAX_ROWS = 100_000
"""The newest rows of a table that the page gets. The page itself shows fewer, and says so."""
_MINUTE_MS = 60_000
_NO_LEADER = -1
_STATES = {
    "registered": BrokerState.REGISTERED,
    "unfenced": BrokerState.UNFENCED,
    "controlled shutdown": BrokerState.CONTROLLED_SHUTDOWN,
    "fenced": BrokerState.FENCED,
}
_CAMPAIGN_COUNTS = ("seeds", "first_seed", "last_seed", "failed", "run_again", "disagreed", "events", "committed")
_JOURNAL = ("start", "transition", "verdict", "fatal", "stop")


def cluster_report(store: TableStore, cluster_id: str) -> ClusterReport:
    """Return the report on everything that the tables have.

    Raises StoreError: they have nothing.
    """
    tables = _Tables(store)
    simulated = list(tables.campaigns())
    span = tables.span()
    if span is None and simulated:
        begins, ends = [each.start_ms for each in simulated], [each.end_ms for each in simulated]
        return ClusterReport(None, min(begins), max(ends), campaigns=simulated)
    if span is None:
        raise StoreError("The tables are empty; fill them with kraft pipeline run or kraft pipeline backfill")
    start_ms, end_ms = span
    lines = tables.journal()
    history = quorum_history(lines)
    leadership = list(tables.leadership())
    return ClusterReport(
        cluster_id,
        start_ms,
        end_ms,
        nodes=list(tables.nodes({line.node for line in lines})),
        leadership=leadership,
        unavailability=list(tables.unavailability()),
        brokers=list(tables.brokers()),
        quorum=history,
        failovers=failovers(history),
        latency=list(tables.latency()),
        changes=list(tables.changes()),
        quarantined=list(tables.quarantined()),
        events=list(tables.events()),
        partitions=len({(each.topic, each.partition) for each in leadership}),
        campaigns=simulated,
    )


class _Tables:
    def __init__(self, store: TableStore) -> None:
        self._store = store

    def _read(self, name: str) -> DataFrame:
        return self._store.read(TABLES[name])

    def _newest(self, name: str, order: str) -> list[Any]:
        rows: list[Any] = self._read(name).orderBy(F.col(order).desc()).limit(MAX_ROWS).collect()
        return rows

    def span(self) -> tuple[int, int] | None:
        """Return the time of the first and of the last record or line. None if there is none."""
        times = [
            self._read(name)
            .where("error is null")
            .agg(F.min("time").alias("first"), F.max("time").alias("last"))
            .first()
            for name in ("raw_metadata", "raw_events")
        ]
        first = [_ms(each["first"]) for each in times if each is not None and each["first"] is not None]
        last = [_ms(each["last"]) for each in times if each is not None and each["last"] is not None]
        return (min(first), max(last)) if first else None

    def journal(self) -> list[JournalLine]:
        """Return the lines of the quorum's journals, in the order in which each node wrote them."""
        rows = self._read("raw_events").where(F.col("kind").isin(*_JOURNAL))
        newest = rows.orderBy(F.col("time").desc()).limit(MAX_ROWS).select("time", "node", "kind", "line").collect()
        by_node: dict[int, list[JournalLine]] = {}
        for row in sorted(newest, key=lambda row: (row["time"], row["node"])):
            line = JournalLine(_ms(row["time"]), row["node"], row["kind"], json.loads(bytes(row["line"])))
            by_node.setdefault(line.node, []).append(line)
        return merged(by_node.values())

    def nodes(self, voters: set[int]) -> Iterator[ClusterNode]:
        roles: dict[int, set[str]] = {node: {"controller"} for node in voters}
        addresses: dict[int, str] = {}
        for row in self._read("registrations").where("registered").orderBy("offset").collect():
            roles.setdefault(row["node"], set()).add(row["role"])
            if row["role"] == "broker" or row["node"] not in addresses:
                addresses[row["node"]] = (row["endpoints"] or "").split(",")[0].rpartition("//")[2]
        for node in sorted(roles):
            yield ClusterNode(node, sorted(roles[node]), addresses.get(node, ""))

    def leadership(self) -> Iterator[LeadershipPeriod]:
        for row in self._newest("partition_leadership", "started"):
            leader = None if row["leader"] == _NO_LEADER else row["leader"]
            epoch = -1 if row["leader_epoch"] is None else row["leader_epoch"]
            yield LeadershipPeriod(_topic(row), row["partition"], leader, epoch, *_interval(row))

    def unavailability(self) -> Iterator[Unavailability]:
        for row in self._newest("partition_unavailability", "started"):
            why = (
                f"broker {row['last_leader']} was {row['why']}" if row["why"] and row["last_leader"] is not None else ""
            )
            yield Unavailability(_topic(row), row["partition"], row["last_leader"], *_interval(row), why)

    def brokers(self) -> Iterator[BrokerPeriod]:
        for row in self._newest("broker_states", "started"):
            if row["state"] in _STATES:
                yield BrokerPeriod(row["broker"], _STATES[row["state"]], *_interval(row))

    def latency(self) -> Iterator[LatencyWindow]:
        for row in self._newest("plane_latency", "minute"):
            if row["sampled"]:
                spread = [row[f"total_{name}_ms"] for name in ("p50", "p90", "p99", "p999")]
                yield LatencyWindow(row["plane"], _ms(row["minute"]), _MINUTE_MS, row["requests"], *spread)

    def changes(self) -> Iterator[Change]:
        for row in self._newest("changes", "offset"):
            who = f"client {row['client']}" if row["client"] else ""
            if not who:
                who = "unknown" if row["controller"] is None else f"unknown, by controller {row['controller']}"
            value = row["value"] or ""
            before = f" (was {row['old_value']})" if row["old_value"] is not None else ""
            details = f"{row['name']}={value}{before}" if row["name"] else value
            yield Change(_ms(row["time"]), who, row["what"], f"{row['resource_type']} {row['resource']}", details)

    def quarantined(self) -> Iterator[Quarantined]:
        counts = self._read("quarantine").groupBy("source", "reason").agg(F.count("*").alias("rows"))
        for row in counts.orderBy(F.col("rows").desc()).limit(MAX_ROWS).collect():
            yield Quarantined(os.path.basename(row["source"]), row["reason"], row["rows"])

    def events(self) -> Iterator[NotableEvent]:
        """The begins of broker outages."""
        for row in self._newest("broker_unavailability", "started"):
            yield NotableEvent(_ms(row["started"]), f"broker {row['broker']}: {row['why']}", row["broker"])

    def campaigns(self) -> Iterator[SimulationCampaign]:
        if not self._store.batches(TABLES["campaign_verdicts"]):
            return
        verdicts = self._read("campaign_verdicts")
        newest = campaigns(verdicts).orderBy(F.col("ended").desc()).limit(MAX_CAMPAIGNS).collect()
        verdicts = verdicts.where(F.col("campaign").isin([row["campaign"] for row in newest]))
        failures = _by_campaign(verdicts.where("verdict = 'failed'").orderBy("seed").limit(MAX_ROWS))
        spread = _by_campaign(event_spread(verdicts))
        for row in newest:
            failed = [
                FailedSeed(each["seed"], each["profile"], each["invariant"], each["reason"])
                for each in failures.get(row["campaign"], ())
            ]
            events = [
                EventSpread(each["quarter"], each["kind"], each["seeds"]) for each in spread.get(row["campaign"], ())
            ]
            yield SimulationCampaign(
                commit=row["commit"],
                python=row["python"],
                start_ms=_ms(row["started"]),
                end_ms=_ms(row["ended"]),
                **{name: row[name] for name in _CAMPAIGN_COUNTS},
                simulated_s=row["simulated_seconds"],
                cpu_s=row["cpu_seconds"],
                failures=failed,
                spread=events,
            )


def _by_campaign(rows: DataFrame) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows.collect():
        found.setdefault(row["campaign"], []).append(row)
    return found


def _ms(time: datetime) -> int:
    """Return the time in ms. PySpark gives times without a time zone, in that of this process."""
    return round(time.timestamp() * 1000)


def _interval(row: Any) -> tuple[int, int | None]:
    return _ms(row["started"]), None if row["ended"] is None else _ms(row["ended"])


def _topic(row: Any) -> str:
    return str(row["topic"] or row["topic_id"])
