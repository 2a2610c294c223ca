"""From typed rows to answers about partitions, brokers and changes. Each answer is a function of whole typed tables.

Records are ordered by offset, so a record is never late here. A controller's clock may be behind that of the one before
it; an interval then has a length of 0, never a negative one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

_FLAPPING_FROM = 3
_NO_LEADER = -1
#: A snapshot at an offset repeats what the log says up to it.
_IN_ORDER = ("offset", "origin")


@attrs.frozen
class Void:
    """The records of the log between two offsets, without both, that change nothing. ``until`` is None if they go on to
    the end. Only the records of ``epoch`` if it is given.
    """

    begin: int
    until: int | None = None
    epoch: int | None = None


def replaced_records(metadata: DataFrame) -> list[Void]:
    """Return the records that were never committed, because a later epoch has other ones in their place.

    A leader has all committed records (Raft's Leader Completeness). So no record of an epoch is committed at, or
    behind, the offset at which a later epoch begins. ``metadata`` are the rows of ``raw_metadata``.
    """
    of_epoch = (
        metadata.where("origin = 'log' and error is null")
        .groupBy("epoch")
        .agg(F.min("offset").alias("first"), F.max("offset").alias("last"))
        .collect()
    )
    replaced, begin = [], math.inf
    for row in sorted(of_epoch, key=lambda row: -row["epoch"]):
        if row["last"] >= begin:
            replaced.append(Void(int(begin) - 1, epoch=row["epoch"]))
        begin = min(begin, row["first"])
    return replaced


def void_transactions(transactions: DataFrame) -> list[Void]:
    """Return the metadata transactions that were aborted, or have no end yet (KIP-868).

    ``transactions`` are the rows of ``metadata_transactions``, without replaced ones.
    """
    order = Window.orderBy("offset")
    pairs = transactions.select(
        "what",
        F.col("offset").alias("begin"),
        F.lead("offset").over(order).alias("until"),
        F.lead("what").over(order).alias("ended"),
    )
    void = pairs.where("what = 'begin' and (ended is null or ended = 'abort')").select("begin", "until")
    return [Void(row["begin"], row["until"]) for row in void.collect()]


def committed(rows: DataFrame, void: Sequence[Void]) -> DataFrame:
    """Return the rows that are not void. Usually all of them are, and the plan of an answer is short."""
    if not void:
        return rows
    spans = rows.sparkSession.createDataFrame([*map(attrs.astuple, void)], "begin bigint, until bigint, of int")
    inside = (rows["offset"] > spans["begin"]) & (spans["until"].isNull() | (rows["offset"] < spans["until"]))
    replaced = (rows["origin"] == "log") & (rows["epoch"] == spans["of"])
    return rows.join(F.broadcast(spans), inside & (spans["of"].isNull() | replaced), "left_anti")


def _until_next(by: WindowSpec, last_time: Column | None = None, last_offset: Column | None = None) -> list[Column]:
    """Return the columns of an interval that begins with a row and ends with the next one."""
    none = F.lit(None)
    ended = F.coalesce(F.lead("time").over(by), last_time if last_time is not None else none.cast("timestamp"))
    ended = F.greatest(ended, F.when(ended.isNotNull(), F.col("time")))
    return [
        F.col("time").alias("started"),
        ended.alias("ended"),
        (ended.cast("double") - F.col("time").cast("double")).alias("seconds"),
        F.col("offset").alias("from_offset"),
        F.coalesce(F.lead("offset").over(by), last_offset if last_offset is not None else none.cast("bigint")).alias(
            "to_offset"
        ),
    ]


def partition_leadership(changes: DataFrame, topics: DataFrame) -> DataFrame:
    """Return the intervals of leadership. ``changes`` and ``topics`` are committed."""
    by = Window.partitionBy("topic_id", "partition").orderBy(*_IN_ORDER)
    sets_epoch = F.col("leader_epoch").isNotNull()
    rows = changes.withColumn("since", F.sum(sets_epoch.cast("int")).over(by))
    within = Window.partitionBy("topic_id", "partition", "since").orderBy(*_IN_ORDER)
    rows = rows.select(
        *("topic_id", "partition", "leader", "offset", "time", "origin"),
        sets_epoch.alias("sets_epoch"),
        (F.first("leader_epoch").over(within) + F.row_number().over(within) - 1).alias("leader_epoch"),
    )
    # A snapshot repeats the leader and its epoch.
    same = (F.lag("leader").over(by) == F.col("leader")) & (F.lag("leader_epoch").over(by) == F.col("leader_epoch"))
    rows = rows.withColumn("repeated", F.col("sets_epoch") & F.coalesce(same, F.lit(False))).where("not repeated")
    names = topics.groupBy("topic_id").agg(
        F.max("topic").alias("topic"),
        F.min(F.when(~F.col("created"), F.col("time"))).alias("removed"),
        F.min(F.when(~F.col("created"), F.col("offset"))).alias("removed_offset"),
    )
    rows = rows.join(names, "topic_id", "left")
    intervals = _until_next(by, F.col("removed"), F.col("removed_offset"))
    return rows.select("topic_id", "topic", "partition", "leader", "leader_epoch", *intervals)


def broker_states(registrations: DataFrame, fencing: DataFrame) -> DataFrame:
    """Return the states of each broker, one after the other. The arguments are committed."""
    events = registrations.where("role = 'broker'").withColumnRenamed("node", "broker")
    events = events.unionByName(fencing, allowMissingColumns=True)
    within = Window.partitionBy("broker", "broker_epoch").orderBy(*_IN_ORDER)
    by = Window.partitionBy("broker").orderBy(*_IN_ORDER)

    def now(name: str) -> Column:
        return F.last(name, ignorenulls=True).over(within)

    state = (
        F.when(~now("registered"), "unregistered")
        .when(now("fenced") & F.max(~F.col("fenced")).over(within), "fenced")
        .when(now("fenced"), "registered")
        .when(now("in_controlled_shutdown"), "controlled shutdown")
        .otherwise("unfenced")
    )
    rows = events.withColumn("state", state)
    same = (F.lag("state").over(by) == F.col("state")) & (F.lag("broker_epoch").over(by) == F.col("broker_epoch"))
    rows = rows.withColumn("repeated", F.coalesce(same, F.lit(False))).where("not repeated")
    return rows.select("broker", "state", "broker_epoch", *_until_next(by))


def broker_unavailability(states: DataFrame) -> DataFrame:
    """Return the runs of states in which a broker led nothing, after it was unfenced for the first time."""
    by = Window.partitionBy("broker").orderBy("from_offset")
    rows = states.withColumn("run", F.sum((F.col("state") == "unfenced").cast("int")).over(by))
    runs = (
        rows.where("run > 0 and state != 'unfenced'")
        .groupBy("broker", "run")
        .agg(
            F.min("started").alias("started"),
            F.max_by("ended", "from_offset").alias("ended"),
            F.min_by("state", "from_offset").alias("why"),
            F.min("from_offset").alias("from_offset"),
        )
    )
    return runs.withColumn("seconds", F.col("ended").cast("double") - F.col("started").cast("double"))


def broker_flapping(states: DataFrame) -> DataFrame:
    """Return the fencings and registrations of each broker by the hour."""
    by = Window.partitionBy("broker").orderBy("from_offset")
    changed = F.coalesce(F.lag("broker_epoch").over(by) != F.col("broker_epoch"), F.lit(True))
    rows = states.withColumn("registers", changed & (F.col("state") != "unregistered"))
    counts = rows.groupBy(F.date_trunc("hour", "started").alias("hour"), "broker").agg(
        F.count_if(F.col("state") == "fenced").alias("fencings"),
        F.count_if("registers").alias("registrations"),
        F.min(F.when(F.col("state") == "unfenced", F.col("seconds"))).alias("shortest_up_seconds"),
    )
    often = (F.col("fencings") >= _FLAPPING_FROM) | (F.col("registrations") >= _FLAPPING_FROM)
    return counts.withColumn("flapping", often)


def partition_unavailability(leadership: DataFrame, states: DataFrame) -> DataFrame:
    """Return the intervals without a leader. The state of the last leader at the start is the reason."""
    by = Window.partitionBy("topic_id", "partition").orderBy("from_offset")
    rows = leadership.select(
        "*", F.lag("leader").over(by).alias("before"), F.lead("leader").over(by).alias("next_leader")
    ).where(F.col("leader") == _NO_LEADER)
    rows = rows.withColumn("last_leader", F.when(F.col("before") != _NO_LEADER, F.col("before"))).alias("r")
    s = states.alias("s")
    # The controller writes the record that fences a broker together with those that take its partitions away.
    meanwhile = (
        (F.col("s.broker") == F.col("r.last_leader"))
        & (F.col("s.started") <= F.col("r.started"))
        & (F.col("s.ended").isNull() | (F.col("s.ended") > F.col("r.started")))
    )
    joined = rows.join(s, meanwhile, "left").groupBy("r.topic_id", "r.partition", "r.from_offset")
    kept = ("topic", "started", "ended", "seconds", "last_leader", "next_leader")
    return joined.agg(
        *(F.first(f"r.{name}").alias(name) for name in kept), F.max_by("s.state", "s.from_offset").alias("why")
    )
