"""From raw rows to typed rows. Each typed row says what one record or line says, and needs no other one.

So batches may come in any order. A field that a record leaves unchanged is null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kraft.metadata.image import ResourceType
from kraft.spark.pipeline.raw import event_of
from kraft.spark.pipeline.tables import TABLES

_OF_RECORD = ("offset", "epoch", "time", "origin")
_UNCHANGED_LEADER = -2


@attrs.frozen
class Derivation:
    """How a typed table is made: from raw rows of these types, or kinds, by a function."""

    source: str
    kinds: Sequence[str]
    rows: Callable[[DataFrame], DataFrame]


def derived(name: str, raw: DataFrame) -> DataFrame:
    """Return the rows of the typed table ``name`` that follow from rows of its raw table. A column that does not follow
    from one row alone is null.
    """
    derivation = DERIVATIONS[name]
    wanted = raw.where("error is null").where(F.col(_KIND[derivation.source]).isin(*derivation.kinds))
    return _as_declared(name, derivation.rows(wanted))


_KIND = {"raw_metadata": "type", "raw_events": "kind"}


def _as_declared(name: str, rows: DataFrame) -> DataFrame:
    known = set(rows.columns)
    return rows.select(
        *(
            (F.col(column.name) if column.name in known else F.lit(None)).cast(column.type).alias(column.name)
            for column in TABLES[name].columns
        )
    )


def _records(raw: DataFrame, fields: str) -> DataFrame:
    """Return the rows with these fields of their records as ``r``. Absent fields are null."""
    return raw.select(*_OF_RECORD, "type", F.from_json("record", f"data struct<{fields}>")["data"].alias("r"))


def _is(kind: str) -> Column:
    return F.col("type") == kind


def _topics(raw: DataFrame) -> DataFrame:
    rows = _records(raw, "name string, topicId string")
    return rows.select(
        "*", F.col("r.topicId").alias("topic_id"), F.col("r.name").alias("topic"), _is("TOPIC_RECORD").alias("created")
    )


def _registrations(raw: DataFrame) -> DataFrame:
    rows = _records(
        raw,
        "brokerId int, controllerId int, brokerEpoch bigint, incarnationId string, rack string, fenced boolean, "
        "inControlledShutdown boolean, endPoints array<struct<name: string, host: string, port: int>>",
    )
    endpoint = F.transform("r.endPoints", lambda e: F.concat(e["name"], F.lit("://"), e["host"], F.lit(":"), e["port"]))
    controller = _is("REGISTER_CONTROLLER_RECORD")
    return rows.select(
        "*",
        F.coalesce("r.brokerId", "r.controllerId").alias("node"),
        F.when(controller, "controller").otherwise("broker").alias("role"),
        F.col("r.brokerEpoch").alias("broker_epoch"),
        (~_is("UNREGISTER_BROKER_RECORD")).alias("registered"),
        F.col("r.incarnationId").alias("incarnation_id"),
        F.array_join(endpoint, ",").alias("endpoints"),
        F.col("r.rack").alias("rack"),
        F.col("r.fenced").alias("fenced"),
        F.col("r.inControlledShutdown").alias("in_controlled_shutdown"),
    )


def _fencing(raw: DataFrame) -> DataFrame:
    rows = _records(raw, "id int, epoch bigint, brokerId int, brokerEpoch bigint, fenced int, inControlledShutdown int")
    changed = F.col("r.fenced")
    return rows.select(
        "*",
        F.coalesce("r.brokerId", "r.id").alias("broker"),
        F.coalesce("r.brokerEpoch", "r.epoch").alias("broker_epoch"),
        F.when(_is("FENCE_BROKER_RECORD"), True)
        .when(_is("UNFENCE_BROKER_RECORD"), False)
        .when(changed == 1, True)
        .when(changed == -1, False)
        .alias("fenced"),
        F.when(F.col("r.inControlledShutdown") == 1, True).alias("in_controlled_shutdown"),
    )


def _partitions(raw: DataFrame) -> DataFrame:
    fields = (
        "topicId string, partitionId int, leader int, leaderEpoch int, leaderRecoveryState int, isr array<int>, "
        "replicas array<int>, addingReplicas array<int>, removingReplicas array<int>"
    )
    rows = _records(raw, fields)
    return rows.select("*", F.col("r.topicId").alias("topic_id"), F.col("r.partitionId").alias("partition"))


def _leadership_changes(raw: DataFrame) -> DataFrame:
    created = _is("PARTITION_RECORD")
    # Kafka's JSON leaves out a tagged field with its default.
    leader = F.coalesce("r.leader", F.when(created, -1).otherwise(_UNCHANGED_LEADER))
    state = F.coalesce("r.leaderRecoveryState", F.when(created, 0).otherwise(-1))
    return (
        _partitions(raw)
        .select(
            "*",
            leader.alias("leader"),
            F.col("r.leaderEpoch").alias("leader_epoch"),
            F.when(state >= 0, state == 1).alias("recovering"),
        )
        .where(F.col("leader") != _UNCHANGED_LEADER)
    )


def _isr_changes(raw: DataFrame) -> DataFrame:
    return _partitions(raw).select("*", F.col("r.isr").alias("isr")).where("isr is not null")


def _reassignments(raw: DataFrame) -> DataFrame:
    rows = _partitions(raw).select(
        "*",
        F.col("r.replicas").alias("replicas"),
        F.col("r.addingReplicas").alias("adding"),
        F.col("r.removingReplicas").alias("removing"),
        _is("PARTITION_RECORD").alias("created"),
    )
    return rows.where("replicas is not null or adding is not null or removing is not null")


def _config_changes(raw: DataFrame) -> DataFrame:
    rows = _records(raw, "resourceType int, resourceName string, name string, value string")
    number = F.col("r.resourceType")
    kind = F.when(F.lit(False), "")
    for each in ResourceType:
        kind = kind.when(number == int(each), each.name.lower().replace("_", " "))
    return rows.select(
        "*",
        kind.otherwise(number.cast("string")).alias("resource_type"),
        F.col("r.resourceName").alias("resource"),
        F.col("r.name").alias("name"),
        F.col("r.value").alias("value"),
    )


def _metadata_transactions(raw: DataFrame) -> DataFrame:
    what = F.lower(F.regexp_extract("type", "^(BEGIN|END|ABORT)", 1))
    return raw.select(*_OF_RECORD, what.alias("what"))


def _controller_epochs(raw: DataFrame) -> DataFrame:
    voters = "array<struct<voterId: int>>"
    rows = _records(raw, f"leaderId int, voters {voters}, grantingVoters {voters}")
    return rows.select(
        "*",
        F.col("r.leaderId").alias("leader"),
        F.col("r.voters.voterId").alias("voters"),
        F.col("r.grantingVoters.voterId").alias("granted_by"),
    )


def _events(raw: DataFrame) -> DataFrame:
    return raw.select("time", "node", "id", "kind", event_of(F.col("line")).alias("e"))


def _quorum_transitions(raw: DataFrame) -> DataFrame:
    return _events(raw).select(
        "*",
        F.col("e.epoch").alias("epoch"),
        F.col("e.before").alias("before"),
        F.col("e.after").alias("after"),
        F.coalesce("e.why", "e.words").alias("why"),
        F.expr("case when e.wrote_ms between 0 and 253402300799999 then timestamp_millis(e.wrote_ms) end").alias(
            "wrote"
        ),
    )


def _elections(raw: DataFrame) -> DataFrame:
    rows = _events(raw).where(F.col("e.after").isin("Candidate", "Prospective"))
    pre_vote = F.col("e.after") == "Prospective"
    return rows.select(
        "*",
        # A node that asks for pre-votes is still in the epoch before.
        (F.col("e.epoch") + pre_vote.cast("int")).alias("epoch"),
        pre_vote.alias("pre_vote"),
        F.col("e.why").alias("why"),
    )


def _votes(raw: DataFrame) -> DataFrame:
    pre_vote = F.coalesce("e.preVote", F.lit(False))
    return _events(raw).select(
        "*",
        F.col("e.request").alias("request"),
        (F.col("e.epoch") + F.when(pre_vote & (F.col("e.epoch") >= 0), 1).otherwise(0)).alias("epoch"),
        pre_vote.alias("pre_vote"),
        F.expr("try_cast(e.peer as int)").alias("peer"),
        F.col("e.granted").alias("granted"),
        F.col("e.reason").alias("reason"),
        F.col("e.words").alias("words"),
        F.coalesce("e.times", F.lit(1)).alias("times"),
    )


def _requests(raw: DataFrame) -> DataFrame:
    names = {
        "size_bytes": "sizeBytes",
        "queue_ms": "queueMs",
        "local_ms": "localMs",
        "remote_ms": "remoteMs",
        "response_queue_ms": "responseQueueMs",
        "send_ms": "sendMs",
        "total_ms": "totalMs",
        **{name: name for name in ("plane", "listener", "api", "version", "client", "peer", "sample")},
    }
    return _events(raw).select("*", *(F.col(f"e.{field}").alias(name) for name, field in names.items()))


_PARTITION_TYPES = ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD")
_BROKER_CHANGES = ("FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD")
_REGISTRATIONS = ("REGISTER_BROKER_RECORD", "REGISTER_CONTROLLER_RECORD", "UNREGISTER_BROKER_RECORD")
_TRANSACTIONS = ("BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD")

DERIVATIONS: Mapping[str, Derivation] = {
    "topics": Derivation("raw_metadata", ("TOPIC_RECORD", "REMOVE_TOPIC_RECORD"), _topics),
    "registrations": Derivation("raw_metadata", _REGISTRATIONS, _registrations),
    "fencing": Derivation("raw_metadata", _BROKER_CHANGES, _fencing),
    "leadership_changes": Derivation("raw_metadata", _PARTITION_TYPES, _leadership_changes),
    "isr_changes": Derivation("raw_metadata", _PARTITION_TYPES, _isr_changes),
    "reassignments": Derivation("raw_metadata", _PARTITION_TYPES, _reassignments),
    "config_changes": Derivation("raw_metadata", ("CONFIG_RECORD",), _config_changes),
    "metadata_transactions": Derivation("raw_metadata", _TRANSACTIONS, _metadata_transactions),
    "controller_epochs": Derivation("raw_metadata", ("LEADER_CHANGE",), _controller_epochs),
    "quorum_transitions": Derivation("raw_events", ("transition", "start", "stop", "fatal"), _quorum_transitions),
    "elections": Derivation("raw_events", ("transition",), _elections),
    "votes": Derivation("raw_events", ("verdict",), _votes),
    "requests": Derivation("raw_events", ("request",), _requests),
}
"""How each typed table is made."""
