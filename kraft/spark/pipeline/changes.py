"""Who changed what: the changes of the metadata, the controller that wrote each, and the client that asked for it.

A metadata record does not name a client. A request of the fitting API that was in service at the time of the record can
have made the change; if the request logs show one such client only, it is named.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kraft.spark.pipeline.quorum_answers import leaders

Read = Callable[[str], DataFrame]

_COLUMNS = ("offset", "epoch", "time", "what", "resource_type", "resource", "name", "value", "old_value")
#: A request that takes longer is not looked for.
_LONGEST_S = 60
_APIS = {
    "topic created": ("CreateTopics", "Metadata"),
    "topic deleted": ("DeleteTopics",),
    "partitions created": ("CreateTopics", "CreatePartitions", "Metadata"),
    "replicas changed": ("AlterPartitionReassignments",),
    "setting set": ("IncrementalAlterConfigs", "AlterConfigs", "CreateTopics"),
    "setting removed": ("IncrementalAlterConfigs", "AlterConfigs"),
    "feature changed": ("UpdateFeatures",),
    "ACL added": ("CreateAcls",),
    "ACL removed": ("DeleteAcls",),
    "quota changed": ("AlterClientQuotas",),
    "broker unregistered": ("UnregisterBroker",),
}
#: Changes of records that have no typed table.
_OTHERS = {
    "FEATURE_LEVEL_RECORD": ("feature changed", "feature"),
    "ACCESS_CONTROL_ENTRY_RECORD": ("ACL added", "ACL"),
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": ("ACL removed", "ACL"),
    "CLIENT_QUOTA_RECORD": ("quota changed", "quota"),
}


def changes(committed: Read, read: Read) -> DataFrame:
    """Return the changes. ``committed`` and ``read`` return a typed table: its committed rows, and all of them."""
    topics = committed("topics")
    names = topics.groupBy("topic_id").agg(F.max("topic").alias("topic"))
    parts = (
        _topics(topics, names),
        _partitions(committed("reassignments"), names),
        _replicas(committed("reassignments"), names),
        _settings(committed("config_changes")),
        _registrations(committed("registrations")),
        _others(committed("raw_metadata")),
    )
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.union(part)
    controllers = leaders(read("controller_epochs"), read("quorum_transitions")).select(
        "epoch", F.col("leader").alias("controller")
    )
    rows = rows.join(F.broadcast(controllers), "epoch", "left")
    return rows.join(_clients(rows, read("requests")), ["offset", "what"], "left")


def _shaped(rows: DataFrame, **columns: Column) -> DataFrame:
    """Return the columns of a change: those given, null for the others."""
    given = {"offset": F.col("offset"), "epoch": F.col("epoch"), "time": F.col("time"), **columns}
    return rows.select(*(given.get(name, F.lit(None).cast("string")).alias(name) for name in _COLUMNS))


def _of_log(rows: DataFrame) -> DataFrame:
    return rows.where("origin = 'log'")


def _topics(topics: DataFrame, names: DataFrame) -> DataFrame:
    rows = _of_log(topics).drop("topic").join(names, "topic_id", "left")
    what = F.when(F.col("created"), "topic created").otherwise("topic deleted")
    return _shaped(rows, what=what, resource_type=F.lit("topic"), resource=F.coalesce("topic", "topic_id"))


def _partitions(rows: DataFrame, names: DataFrame) -> DataFrame:
    """One row for the partitions that were created together: the records of a decision have one time."""
    created = (
        _of_log(rows)
        .where("created")
        .groupBy("topic_id", "epoch", "time")
        .agg(F.min("offset").alias("offset"), F.count("*").alias("count"))
        .join(names, "topic_id", "left")
    )
    return _shaped(
        created,
        what=F.lit("partitions created"),
        resource_type=F.lit("topic"),
        resource=F.coalesce("topic", "topic_id"),
        value=F.col("count").cast("string"),
    )


def _replicas(rows: DataFrame, names: DataFrame) -> DataFrame:
    changed = _of_log(rows).where("not created").join(names, "topic_id", "left")
    value = F.to_json(F.struct("replicas", "adding", "removing"))
    return _shaped(
        changed,
        what=F.lit("replicas changed"),
        resource_type=F.lit("partition"),
        resource=F.concat(F.coalesce("topic", "topic_id"), F.lit("-"), "partition"),
        value=value,
    )


def _settings(rows: DataFrame) -> DataFrame:
    by = Window.partitionBy("resource_type", "resource", "name").orderBy("offset", "origin")
    known = _of_log(rows.withColumn("old_value", F.lag("value").over(by)))
    return _shaped(
        known,
        what=F.when(F.col("value").isNull(), "setting removed").otherwise("setting set"),
        **{name: F.col(name) for name in ("resource_type", "resource", "name", "value", "old_value")},
    )


def _registrations(rows: DataFrame) -> DataFrame:
    verb = F.when(F.col("registered"), " registered").otherwise(" unregistered")
    return _shaped(
        _of_log(rows),
        what=F.concat("role", verb),
        resource_type=F.col("role"),
        resource=F.col("node").cast("string"),
        value=F.col("endpoints"),
    )


def _others(metadata: DataFrame) -> DataFrame:
    rows = _of_log(metadata).where(F.col("type").isin(*_OTHERS))
    what, kind = (
        F.create_map(*(F.lit(each) for name, pair in _OTHERS.items() for each in (name, pair[at])))[F.col("type")]
        for at in (0, 1)
    )
    resource = F.coalesce(
        *(F.get_json_object("record", f"$.data.{field}") for field in ("name", "resourceName", "id", "key"))
    )
    return _shaped(rows, what=what, resource_type=kind, resource=resource, value=F.get_json_object("record", "$.data"))


def _clients(rows: DataFrame, requests: DataFrame) -> DataFrame:
    """Return offset, ``what``, client and peer of the changes for which only one client comes into question."""
    apis = F.create_map(*(each for what, names in _APIS.items() for each in (F.lit(what), F.array(*map(F.lit, names)))))
    wanted = rows.select("offset", "what", "time", F.explode(apis[F.col("what")]).alias("api"))
    wanted = wanted.withColumn("second", F.unix_seconds("time"))
    used = sorted({name for names in _APIS.values() for name in names})
    # The times of records and lines are cut to whole ms.
    begin = F.expr("time - make_dt_interval(0, 0, 0, total_ms / 1000) - interval 1 millisecond")
    served = (
        requests.where(F.col("api").isin(*used) & F.col("total_ms").between(0, _LONGEST_S * 1000))
        .select("api", "client", "peer", begin.alias("begin"), F.col("time").alias("until"))
        .withColumn("second", F.explode(F.sequence(F.unix_seconds("begin"), F.unix_seconds("until"))))
    )
    near = wanted.join(served, ["api", "second"]).where("time between begin and until + interval 1 millisecond")
    return (
        near.groupBy("offset", "what")
        .agg(F.collect_set(F.struct("client", "peer")).alias("clients"))
        .where(F.size("clients") == 1)
        .select(
            "offset", "what", F.col("clients")[0]["client"].alias("client"), F.col("clients")[0]["peer"].alias("peer")
        )
    )
