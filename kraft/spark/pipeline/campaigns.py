"""From the verdicts on seeds to answers about simulation campaigns."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_QUARTERS = 4


def campaigns(verdicts: DataFrame) -> DataFrame:
    """Return the sums of each campaign: of all seeds that ran with one code."""
    broken = (
        verdicts.where("verdict = 'failed'")
        .groupBy("campaign", "invariant")
        .count()
        .groupBy("campaign")
        .agg(F.map_from_entries(F.array_sort(F.collect_list(F.struct("invariant", "count")))).alias("invariants"))
    )
    rows = verdicts.groupBy("campaign", "commit", "python").agg(
        F.min("time").alias("started"),
        F.max("time").alias("ended"),
        F.count("*").alias("seeds"),
        F.min("seed").alias("first_seed"),
        F.max("seed").alias("last_seed"),
        F.count_if(F.col("verdict") == "failed").alias("failed"),
        F.count("agreed").alias("run_again"),
        F.count_if(~F.col("agreed")).alias("disagreed"),
        *(F.sum(name).alias(name) for name in ("events", "committed", "simulated_seconds", "cpu_seconds")),
    )
    speed = F.try_divide("seeds", "cpu_seconds").alias("seeds_per_cpu_second")
    empty = F.create_map().cast("map<string,bigint>")
    return rows.join(broken, "campaign", "left").select(
        *rows.columns, F.coalesce("invariants", empty).alias("invariants"), speed
    )


def event_spread(verdicts: DataFrame) -> DataFrame:
    """Return the number of seeds by their number of events: ``campaign``, ``quarter``, ``kind`` and ``seeds``.

    Quarter ``q`` of an octave holds the seeds with 2^(q/4) to below 2^((q+1)/4) events. The kind is ``failed``, or the
    profile of a seed that passed.
    """
    quarter = F.floor(F.log2(F.greatest("events", F.lit(1))) * _QUARTERS).cast("int")
    kind = F.when(F.col("verdict") == "failed", "failed").otherwise(F.col("profile"))
    return verdicts.groupBy("campaign", quarter.alias("quarter"), kind.alias("kind")).agg(F.count("*").alias("seeds"))
