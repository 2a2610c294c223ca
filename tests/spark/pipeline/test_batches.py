"""Batches: each row reaches its tables once, whatever crashes, comes twice, comes late or cannot be decoded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, timedelta
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.config_record import ConfigRecord
from kraft.messages.fence_broker_record import FenceBrokerRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from kraft.messages.topic_record import TopicRecord
from kraft.messages.unfence_broker_record import UnfenceBrokerRecord
from kraft.spark.pipeline import quorum_answers, raw
from kraft.spark.pipeline.batches import Pipeline
from kraft.spark.pipeline.changes import changes
from kraft.spark.pipeline.store import ParquetStore
from kraft.spark.pipeline.tables import TABLES
from tests.spark.killer import FILES, until_done
from tests.spark.pipeline_rows import BEGIN, Row, at, damaged, lines, metadata, row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = UUID(int=1000)
BEGIN_MS = round(BEGIN.timestamp() * 1000)


def setting(value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=2, resource_name="orders", name="retention.ms", value=value)


LOG = [
    RegisterBrokerRecord(
        1, False, UUID(int=7), 0, end_points=[BrokerEndpoint(name="A", host="h", port=9)], fenced=True
    ),
    UnfenceBrokerRecord(id=1, epoch=0),
    TopicRecord(name="orders", topic_id=T),
    PartitionRecord(
        partition_id=0, topic_id=T, replicas=[1, 2], isr=[1, 2], leader=1, leader_epoch=0, partition_epoch=0
    ),
    setting("5"),
    FenceBrokerRecord(id=1, epoch=0),
    PartitionChangeRecord(partition_id=0, topic_id=T, isr=[2], leader=-1),
    PartitionChangeRecord(partition_id=0, topic_id=T, leader=2),
    setting("6"),
]


def test_a_batch_survives_a_kill_between_any_two_steps(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exactly-once: a batch that runs again adds what is missing, and nothing twice."""
    source = metadata(spark, [row(offset, record) for offset, record in enumerate(LOG)])

    def attempt() -> None:
        pipeline = Pipeline(ParquetStore(spark, str(tmp_path)))
        pipeline.resume()
        pipeline.add("raw_metadata", "metadata1-000000", raw.metadata_rows(source))

    written = ["raw_metadata", "topics", "registrations", "fencing", "leadership_changes", "isr_changes"]
    written += ["reassignments", "config_changes"]
    kills = until_done(monkeypatch, FILES, attempt, lambda: None, [1] * 40)
    assert kills >= 2 * len(written) - 1, "a manifest and a batch for each table"
    counts = {name: spark.read.parquet(str(tmp_path / name)).count() for name in written}
    assert counts == dict(zip(written, [9, 1, 1, 2, 3, 2, 1, 2], strict=True))
    pipeline = Pipeline(ParquetStore(spark, str(tmp_path)))
    # Another query, as after the loss of a checkpoint, reads the whole log again, and two new records.
    more = [*LOG, *LOG[:1], LOG[-1]]
    again = metadata(spark, [row(offset, record) for offset, record in enumerate(more)])
    pipeline.add("raw_metadata", "metadata2-000000", raw.metadata_rows(again))
    offsets = pipeline.store.read(TABLES["raw_metadata"]).orderBy("offset").collect()
    assert [each["offset"] for each in offsets] == list(range(11))
    assert pipeline.store.read(TABLES["config_changes"]).count() == 3
    pipeline.answer()
    led = pipeline.store.read(TABLES["partition_leadership"]).orderBy("from_offset").collect()
    assert [(each["leader"], each["leader_epoch"], each["seconds"]) for each in led] == [
        (1, 0, 3),
        (-1, 1, 1),
        (2, 2, None),
    ]
    (outage,) = pipeline.store.read(TABLES["partition_unavailability"]).collect()
    assert (outage["topic"], outage["last_leader"], outage["next_leader"], outage["why"]) == ("orders", 1, 2, "fenced")
    assert (outage["started"].astimezone(UTC), outage["seconds"]) == (at(6000), 1)
    changed = pipeline.store.read(TABLES["changes"]).orderBy("offset").collect()
    assert [(each["what"], each["resource"], each["value"], each["old_value"]) for each in changed] == [
        ("broker registered", "1", "A://h:9", None),
        ("topic created", "orders", None, None),
        ("partitions created", "orders", "1", None),
        ("setting set", "orders", "5", None),
        ("setting set", "orders", "6", "5"),
        ("broker registered", "1", "A://h:9", None),
        ("setting set", "orders", "6", "6"),
    ]


UNCOMMITTED = [row(1, setting("3")), row(2, setting("lost")), row(3, BeginTransactionRecord()), row(4, setting("lost"))]
COMMITTED = [row(2, setting("4"), epoch=3), row(3, setting("5"), epoch=3)]


@pytest.mark.parametrize("batches", [(UNCOMMITTED, COMMITTED), (COMMITTED, UNCOMMITTED), ([*UNCOMMITTED, *COMMITTED],)])
def test_a_committed_record_takes_the_place_of_an_uncommitted_one(
    spark: SparkSession, tmp_path: Path, batches: Sequence[Sequence[Row]]
) -> None:
    """Raft, Leader Completeness: the leader of epoch 3 had all committed records, so those of epoch 1 at and behind its
    first one are void. One of them began a metadata transaction.
    """
    pipeline = Pipeline(ParquetStore(spark, str(tmp_path)))
    for number, batch in enumerate(batches):
        pipeline.add("raw_metadata", f"backfill-00000{number}", raw.metadata_rows(metadata(spark, batch)))
    pipeline.answer(names=("changes",))
    changed = pipeline.store.read(TABLES["changes"]).orderBy("offset").collect()
    assert [(each["offset"], each["value"], each["old_value"]) for each in changed] == [
        (1, "3", None),
        (2, "4", "3"),
        (3, "5", "4"),
    ]


def event(ms: int, node: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"ms": BEGIN_MS + ms, "node": node, "kind": kind, **fields}


def request(ms: int, seq: int, **fields: Any) -> dict[str, Any]:
    usual = {"plane": "data", "api": "Produce", "queueMs": 0.5, "totalMs": 2.0, "sample": 1.0}
    return event(ms, 1, "request", seq=seq, start=BEGIN_MS, **{**usual, **fields})


BAD_LINES = [
    b"\xff\xfe not text",
    b'{"ms": 17',
    b"[1, 2]",
    b'{"node": 1, "kind": "start"}',
    b'{"ms": 99999999999999999, "node": 1, "kind": "start"}',
    b'{"ms": "17", "node": {}, "kind": "start"}',
]


def test_undecodable_input_is_kept_with_its_reason(spark: SparkSession, tmp_path: Path) -> None:
    """Every line and record is in the raw tables; those that cannot be decoded are in ``quarantine``, with bytes."""
    pipeline = Pipeline(ParquetStore(spark, str(tmp_path)))
    good = event(0, 1, "start", extra={"unknown": [1]})
    # A backfill gives the batches of both raw tables the same name.
    pipeline.add("raw_events", "backfill-000000", raw.event_rows(lines(spark, [good, *BAD_LINES, b""])))
    bad = [
        row(0, LOG[0]),
        damaged(1, b"\x01\x99", "unknown type"),
        damaged(None, b"?", "no batch"),
        damaged(None, b"!", "no"),
    ]
    source = metadata(spark, bad)
    pipeline.add("raw_metadata", "backfill-000000", raw.metadata_rows(source))
    pipeline.add("raw_metadata", "backfill-000001", raw.metadata_rows(source))
    found = pipeline.store.read(TABLES["quarantine"]).collect()
    assert {bytes(each["bytes"]) for each in found} == {*BAD_LINES, b"\x01\x99", b"?", b"!"}
    assert len(found) == len(BAD_LINES) + 3
    reasons = {bytes(each["bytes"]): each["reason"] for each in found}
    assert [reasons[line] for line in BAD_LINES] == [
        "not UTF-8",
        "not a JSON object of an event",
        "not a JSON object of an event",
        "without ms, node or kind",
        "ms is not a time",
        "not a JSON object of an event",
    ]
    assert reasons[b"\x01\x99"] == "unknown type"
    (kept,) = pipeline.store.read(TABLES["raw_events"]).where("error is null").collect()
    assert json.loads(bytes(kept["line"])) == good


QUORUM = [
    event(0, 1, "start", wrote_ms=None),
    event(10, 1, "transition", before="Unattached", after="Prospective", epoch=0, why="no leader"),
    event(11, 2, "verdict", epoch=0, request="Vote", preVote=True, peer=1, granted=True, reason="OK", words="fine"),
    event(20, 1, "transition", before="Prospective", after="Candidate", epoch=1, why="pre-votes"),
    event(
        21, 2, "verdict", epoch=1, request="Vote", preVote=False, peer=1, granted=False, reason="LOG_BEHIND", words="…"
    ),
    event(
        22,
        3,
        "verdict",
        epoch=1,
        request="Vote",
        preVote=False,
        peer=1,
        granted=False,
        reason="LOG_BEHIND",
        words="…",
        times=2,
    ),
    event(40, 2, "transition", before="Unattached", after="Candidate", epoch=2, why="timeout"),
    event(50, 2, "transition", before="Candidate", after="Leader", epoch=2, why="majority"),
    event(5_000, 3, "transition", before="Follower", after="Prospective", epoch=2, why="silence"),
    event(5_010, 3, "transition", before="Prospective", after="Candidate", epoch=3, why="pre-votes"),
    event(5_050, 3, "transition", before="Candidate", after="Leader", epoch=3, why="majority"),
    event(5_060, 2, "transition", before="Leader", after="Follower", epoch=3, why="a newer epoch"),
]


def test_the_quorum_is_the_same_from_journals_and_from_request_logs(spark: SparkSession, tmp_path: Path) -> None:
    """A request log has the lines of the journal, with numbers. Each counts once, in any order of reading."""
    pipeline = Pipeline(ParquetStore(spark, str(tmp_path)))
    in_log = [{**line, "seq": seq, "start": BEGIN_MS} for seq, line in enumerate(QUORUM[:8])]
    pipeline.add("raw_events", "backfill-000000", raw.event_rows(lines(spark, QUORUM[:6])), history=True)
    pipeline.add("raw_events", "events1-000000", raw.event_rows(lines(spark, [*in_log, *QUORUM[4:]])))
    assert pipeline.store.read(TABLES["raw_events"]).count() == len(QUORUM)
    log = [row(1, LOG[0], epoch=2, ms=100), row(2, LOG[1], epoch=2, ms=2_000), row(3, LOG[0], epoch=3, ms=5_070)]
    pipeline.add("raw_metadata", "metadata1-000000", raw.metadata_rows(metadata(spark, log)))
    elections, votes, transitions, epochs, records = (
        pipeline.store.read(TABLES[name])
        for name in ("elections", "votes", "quorum_transitions", "controller_epochs", "raw_metadata")
    )
    leaders = quorum_answers.leaders(epochs, transitions)
    found = quorum_answers.elections_per_hour(elections, votes, leaders).collect()
    hours = {each["pre_vote"]: each.asDict() for each in found}
    assert [hours[False][name] for name in ("elections", "won", "lost", "candidacies")] == [3, 2, 1, 3]
    assert hours[False]["why_lost"] == {"LOG_BEHIND": 3}
    assert [hours[True][name] for name in ("elections", "won", "lost", "why_lost")] == [2, 2, 0, None]
    first, second = (
        quorum_answers.controller_failovers(leaders, transitions, elections, records).orderBy("epoch").collect()
    )
    assert (first["epoch"], first["old_leader"], first["new_leader"], first["seconds"]) == (2, None, 2, None)
    assert (second["epoch"], second["old_leader"], second["new_leader"]) == (3, 2, 3)
    timeline = [second[name].astimezone(UTC) for name in ("last_sign", "first_candidate", "elected", "first_commit")]
    assert timeline == [at(2_000), at(5_000), at(5_050), at(5_070)]
    assert second["seconds"] == pytest.approx(3.07)


def test_late_requests_are_counted_and_change_no_closed_minute(spark: SparkSession, tmp_path: Path) -> None:
    """The watermark is the newest time less the lateness. A minute before it is closed: its row is final."""
    pipeline = Pipeline(ParquetStore(spark, str(tmp_path)), lateness_s=120)
    times = [float(number) for number in range(1, 101)]
    early = [request(number * 100, number, totalMs=times[number], sample=0.5) for number in range(100)]
    pipeline.add("raw_events", "events1-000000", raw.event_rows(lines(spark, early)))
    newest = request(600_000, 1000, plane="controller")
    pipeline.add("raw_events", "events1-000001", raw.event_rows(lines(spark, [newest])))
    late, in_time = request(50, 1001, totalMs=99_999.0), request(500_000, 1002, totalMs=7.0)
    pipeline.add("raw_events", "events1-000002", raw.event_rows(lines(spark, [late, in_time])))
    requests = pipeline.store.read(TABLES["requests"])
    found = quorum_answers.plane_latency(requests, 120).orderBy("minute").collect()
    minutes = [(each["minute"].astimezone(UTC) - BEGIN, each["plane"], each["closed"]) for each in found]
    minute = timedelta(minutes=1)
    assert minutes == [(0 * minute, "data", True), (8 * minute, "data", False), (10 * minute, "controller", False)]
    assert [(each["requests"], each["sampled"], each["late"]) for each in found] == [
        (200, 100, 1),
        (1, 1, 0),
        (1, 1, 0),
    ]
    weighted = sorted(times * 2)
    cut = quantiles(weighted, n=10, method="inclusive")
    assert found[0]["total_p50_ms"] == pytest.approx(cut[4])
    assert found[0]["total_p90_ms"] == pytest.approx(cut[8])
    assert found[0]["total_p999_ms"] <= 100, "the late request is not counted"


def test_a_change_names_the_only_client_that_can_have_made_it(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Pipeline(ParquetStore(spark, str(tmp_path)))
    pipeline.add(
        "raw_metadata", "metadata1-000000", raw.metadata_rows(metadata(spark, [row(2, LOG[2]), row(4, LOG[4])]))
    )
    served = [
        request(2_040, 0, api="CreateTopics", client="admin", peer="10.0.0.9:4000", totalMs=50.0),
        request(9_000, 1, api="CreateTopics", client="other", peer="10.0.0.8:4000", totalMs=50.0),
        request(4_010, 2, api="IncrementalAlterConfigs", client="one", peer="a:1", totalMs=20.0),
        request(4_011, 3, api="IncrementalAlterConfigs", client="two", peer="b:2", totalMs=20.0),
    ]
    pipeline.add("raw_events", "events1-000000", raw.event_rows(lines(spark, served)))

    def read(name: str) -> DataFrame:
        return pipeline.store.read(TABLES[name])

    found = {each["what"]: (each["client"], each["peer"]) for each in changes(read, read).collect()}
    assert found == {"topic created": ("admin", "10.0.0.9:4000"), "setting set": (None, None)}
