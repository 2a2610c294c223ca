"""From typed rows to answers about elections, failovers of the active controller and response times."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

PERCENTILES = (0.5, 0.9, 0.99, 0.999)


def leaders(epochs: DataFrame, transitions: DataFrame) -> DataFrame:
    """Return epoch, leader and time of its election, from the metadata log or from the leader's own journal."""
    won = transitions.where("kind = 'transition' and after = 'Leader'")
    named = epochs.select("epoch", "leader", "time").union(won.select("epoch", "node", "time"))
    return named.groupBy("epoch").agg(F.min_by("leader", "time").alias("leader"), F.min("time").alias("elected"))


def elections_per_hour(elections: DataFrame, votes: DataFrame, leaders: DataFrame) -> DataFrame:
    """Return the elections and pre-votes by the hour. A pre-vote is won if a node then stood for election."""
    stood = elections.groupBy("epoch", "pre_vote").agg(F.min("time").alias("time"), F.count("*").alias("candidacies"))
    outcomes = (
        leaders.select("epoch", F.lit(False).alias("pre_vote"))
        .union(elections.where("not pre_vote").select("epoch", F.lit(True)))
        .distinct()
        .withColumn("won", F.lit(True))
    )
    rounds = stood.join(outcomes, ["epoch", "pre_vote"], "left").select(
        "epoch",
        "pre_vote",
        "candidacies",
        F.date_trunc("hour", "time").alias("hour"),
        F.coalesce("won", F.lit(False)).alias("won"),
    )
    refused = (
        rounds.where("not won")
        .join(votes.where("request = 'Vote' and not granted"), ["epoch", "pre_vote"])
        .groupBy("hour", "pre_vote", "reason")
        .agg(F.sum("times").alias("times"))
        .groupBy("hour", "pre_vote")
        .agg(F.map_from_entries(F.sort_array(F.collect_list(F.struct("reason", "times")))).alias("why_lost"))
    )
    counts = rounds.groupBy("hour", "pre_vote").agg(
        F.count("*").alias("elections"),
        F.count_if("won").alias("won"),
        F.count_if(~F.col("won")).alias("lost"),
        F.sum("candidacies").alias("candidacies"),
    )
    return counts.join(refused, ["hour", "pre_vote"], "left")


def controller_failovers(
    leaders: DataFrame, transitions: DataFrame, elections: DataFrame, metadata: DataFrame
) -> DataFrame:
    """Return a row for each epoch with a leader. ``metadata`` are the rows of ``raw_metadata``.

    A controller writes records once its LeaderChange is committed, so its first one dates the first commit.
    """
    order = Window.orderBy("epoch")
    terms = leaders.select(
        "epoch",
        F.col("leader").alias("new_leader"),
        "elected",
        F.lag("epoch").over(order).alias("old_epoch"),
        F.lag("leader").over(order).alias("old_leader"),
        F.lag("elected").over(order).alias("old_elected"),
    )
    decided = F.when(F.col("type") != "LEADER_CHANGE", F.col("time"))
    of_log = metadata.where("origin = 'log' and error is null")
    records = of_log.groupBy("epoch").agg(F.min(decided).alias("first"), F.max("time").alias("last"))
    left = transitions.where("kind in ('transition', 'stop', 'fatal')").where(
        "kind != 'transition' or before = 'Leader'"
    )
    ends = (
        terms.alias("t")
        .join(
            left.alias("l"),
            F.expr("l.node = t.old_leader and l.time >= t.old_elected and l.time <= t.elected"),
        )
        .groupBy("t.epoch")
        .agg(F.min("l.time").alias("left"))
    )
    rows = (
        terms.join(records.select(F.col("epoch").alias("old_epoch"), F.col("last")), "old_epoch", "left")
        .join(ends, "epoch", "left")
        .join(records.select("epoch", F.col("first").alias("first_commit")), "epoch", "left")
        .withColumn("last_sign", F.greatest("last", "left"))
        .alias("r")
    )
    stood = elections.alias("e")
    candidates = (
        rows.join(
            stood,
            F.expr(
                "e.epoch > coalesce(r.old_epoch, -1) and e.epoch <= r.epoch "
                "and e.time >= coalesce(r.last_sign, e.time) and e.time <= r.elected"
            ),
        )
        .groupBy("r.epoch")
        .agg(F.min("e.time").alias("first_candidate"))
    )
    rows = rows.join(candidates, "epoch", "left")
    return rows.withColumn("seconds", F.col("first_commit").cast("double") - F.col("last_sign").cast("double"))


def watermark(lateness_s: int) -> Column:
    """Return an aggregate: the time before which a new row is late; null without rows. A clock that is ahead cannot
    move it beyond now.
    """
    newest = F.max("time")
    newest = F.when(newest.isNotNull(), F.least(newest, F.current_timestamp()))
    return newest - F.make_dt_interval(secs=F.lit(lateness_s))


def plane_latency(requests: DataFrame, lateness_s: int) -> DataFrame:
    """Return the percentiles of each plane by the minute. A minute is closed once the watermark has passed its end.

    Each row of a sampled request log stands for 1/``sample`` requests.
    """
    weight = F.greatest(F.round(1 / F.col("sample")).cast("bigint"), F.lit(1))
    in_time = ~F.coalesce("late", F.lit(False))
    mark = requests.where(in_time).agg(watermark(lateness_s).alias("mark"))
    rows = requests.withColumn("weight", F.when(in_time, F.coalesce(weight, F.lit(1))).otherwise(0))

    def percentiles(what: str) -> Column:
        return F.percentile(f"{what}_ms", list(PERCENTILES), F.col("weight"))

    counted = rows.groupBy(F.date_trunc("minute", "time").alias("minute"), "plane").agg(
        F.sum("weight").alias("requests"),
        F.count_if(in_time).alias("sampled"),
        percentiles("total").alias("total"),
        percentiles("queue").alias("queue"),
        F.count_if(~in_time).alias("late"),
    )
    names = ("p50", "p90", "p99", "p999")
    spread = [
        F.col(what)[at].alias(f"{what}_{name}_ms") for what in ("total", "queue") for at, name in enumerate(names)
    ]
    closed = F.coalesce(F.col("minute") + F.expr("interval 1 minute") <= F.col("mark"), F.lit(False))
    return counted.crossJoin(F.broadcast(mark)).select("*", *spread, closed.alias("closed"))
