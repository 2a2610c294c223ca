"""Settings described and altered."""

from __future__ import annotations

import itertools
from typing import Any

from kraft.config.accepted_settings import AcceptedSettings
from kraft.config.setting import table
from kraft.messages.registry import ApiKey
from tests.differential.scenarios.produce import made
from tests.differential.talk import Talk

TOPIC, BROKER = 2, 4
BROKER_LOGGER, CLIENT_METRICS = 8, 16
#: Cluster, client metrics, loggers, groups, and an undefined type.
OTHER_KINDS = (0, 1, 3, 8, 16, 32, 99, -1)
BROKER_KEYS = [
    "log.retention.ms",
    "log.retention.hours",
    "log.segment.bytes",
    "num.partitions",
    "auto.create.topics.enable",
    "message.max.bytes",
    "min.insync.replicas",
    "compression.type",
    "offsets.topic.num.partitions",
    "group.initial.rebalance.delay.ms",
    "group.max.session.timeout.ms",
    "max.connections",
    "unclean.leader.election.enable",
    "log.cleanup.policy",
    "listener.security.protocol.map",
    "log.dir",
    "node.id",
    "broker.id",
    "process.roles",
    "controller.listener.names",
    "log.flush.interval.messages",
    "default.replication.factor",
    "delete.topic.enable",
    "connections.max.idle.ms",
    "socket.request.max.bytes",
    "queued.max.requests",
    "background.threads",
    "num.io.threads",
    "ssl.keystore.password",
    "leader.replication.throttled.rate",
    "follower.replication.throttled.rate",
    "replica.alter.log.dirs.io.max.bytes.per.second",
    "replication.quota.window.num",
    "replication.quota.window.size.seconds",
    "no.such.key",
]
NEWER_KEYS = ["group.consumer.assignment.interval.ms", "group.share.assignment.interval.ms", *table(AcceptedSettings)]


def describe_topic_configs(talk: Talk) -> None:
    made(talk, "described", retention_ms="1000", cleanup_policy="compact,delete")

    def ask(name: str, keys: list[str] | None, kind: int = TOPIC, **more: Any) -> dict[str, Any]:
        return {"resources": [{"resourceType": kind, "resourceName": name, "configurationKeys": keys}], **more}

    talk.sweep("all", ApiKey.DESCRIBE_CONFIGS, ask("described", None))
    everything = {"includeSynonyms": True, "includeDocumentation": True}
    talk.sweep("all with synonyms", ApiKey.DESCRIBE_CONFIGS, ask("described", None, **everything))
    talk.sweep("none", ApiKey.DESCRIBE_CONFIGS, ask("described", []))
    talk.sweep("some", ApiKey.DESCRIBE_CONFIGS, ask("described", ["retention.ms", "no.such", "", "retention.ms"]))
    for name in ("described-unknown", "a b", "", "x" * 250):
        talk.sweep(f"name {name[:10]} {len(name)}", ApiKey.DESCRIBE_CONFIGS, ask(name, None))
    for kind in OTHER_KINDS:
        for name in ("", "x", "1"):
            talk.sweep(f"kind {kind} of {name}", ApiKey.DESCRIBE_CONFIGS, ask(name, ["x"], kind))
    twice = ask("described", ["retention.ms"])["resources"] * 2
    talk.sweep("twice", ApiKey.DESCRIBE_CONFIGS, {"resources": twice})
    talk.sweep("nothing", ApiKey.DESCRIBE_CONFIGS, {"resources": []})


def describe_broker_configs(talk: Talk) -> None:
    for name in ("1", "", "2", "x", "-1"):
        for synonyms in (False, True):
            resource = {"resourceType": BROKER, "resourceName": name, "configurationKeys": BROKER_KEYS}
            body = {"resources": [resource], "includeSynonyms": synonyms}
            talk.sweep(f"broker {name!r} {synonyms}", ApiKey.DESCRIBE_CONFIGS, body)


def describe_newer_configs(talk: Talk) -> None:
    """Settings that Kafka 3.9 does not have, or without effect here: their types and defaults."""
    resource = {"resourceType": BROKER, "resourceName": "1", "configurationKeys": NEWER_KEYS}
    talk.sweep("newer settings", ApiKey.DESCRIBE_CONFIGS, {"resources": [resource]})


#: Apache Kafka's broker applies a change after its response. A new topic that it leads shows that it has caught up.
SETTLERS = itertools.count()
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
CHANGES: dict[str, list[tuple[str, int, str | None]]] = {
    "set": [("retention.ms", SET, "5000")],
    "set again": [("retention.ms", SET, "5000")],
    "set bad": [("retention.ms", SET, "soon")],
    "set out of range": [("retention.ms", SET, "-5")],
    "set null": [("retention.ms", SET, None)],
    "set empty": [("retention.ms", SET, "")],
    "set unknown": [("no.such.key", SET, "1")],
    "set empty key": [("", SET, "1")],
    "delete": [("retention.ms", DELETE, None)],
    "delete again": [("retention.ms", DELETE, None)],
    "delete with value": [("retention.ms", DELETE, "1")],
    "delete unknown": [("no.such.key", DELETE, None)],
    "append": [("cleanup.policy", APPEND, "compact")],
    "append again": [("cleanup.policy", APPEND, "compact")],
    "append bad": [("cleanup.policy", APPEND, "burn")],
    "append null": [("cleanup.policy", APPEND, None)],
    "append empty": [("cleanup.policy", APPEND, "")],
    "append to no list": [("retention.ms", APPEND, "1")],
    "append to unknown": [("no.such.key", APPEND, "1")],
    "subtract": [("cleanup.policy", SUBTRACT, "compact")],
    "subtract what is not there": [("cleanup.policy", SUBTRACT, "compact")],
    "subtract all": [("cleanup.policy", SUBTRACT, "delete")],
    "set policy": [("cleanup.policy", SET, "delete")],
    "subtract from no list": [("retention.ms", SUBTRACT, "1")],
    "throttled append": [("leader.replication.throttled.replicas", APPEND, "0:1,1:1")],
    "throttled subtract": [("leader.replication.throttled.replicas", SUBTRACT, "0:1")],
    "throttled bad": [("leader.replication.throttled.replicas", SET, "everything")],
    "throttled empty elements": [("leader.replication.throttled.replicas", SET, "0:1,,1:1,")],
    "throttled commas": [("leader.replication.throttled.replicas", SET, ",")],
    "throttled all, empty element": [("leader.replication.throttled.replicas", SET, "*,")],
    "throttled all and one": [("leader.replication.throttled.replicas", SET, "0:1,*")],
    "throttled delete": [("leader.replication.throttled.replicas", DELETE, None)],
    "unknown operation": [("retention.ms", 4, "1")],
    "negative operation": [("retention.ms", -1, "1")],
    "twice": [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
    "set and delete": [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
    "two": [("retention.ms", SET, "1"), ("segment.ms", SET, "2")],
    "good and bad": [("retention.ms", SET, "7"), ("segment.ms", SET, "never")],
    "conflict": [("min.compaction.lag.ms", SET, "10"), ("max.compaction.lag.ms", SET, "5")],
    "none": [],
    "min insync": [("min.insync.replicas", SET, "3")],
    "spaces": [("retention.ms", SET, " 8000 ")],
    "remote": [("remote.storage.enable", SET, "true")],
    "capital boolean": [("preallocate", SET, "TRUE")],
    "no boolean": [("preallocate", SET, "1")],
    "float": [("min.cleanable.dirty.ratio", SET, "0.25")],
    "float out of range": [("min.cleanable.dirty.ratio", SET, "1.5")],
    "long overflow": [("retention.ms", SET, "9223372036854775808")],
    "int overflow": [("max.message.bytes", SET, "2147483648")],
    "plus": [("retention.ms", SET, "+5")],
}


def incremental_alter_topic(talk: Talk) -> None:
    for version in talk.versions(ApiKey.INCREMENTAL_ALTER_CONFIGS):
        name = f"altered-{version}"
        made(talk, name)
        for case, rows in CHANGES.items():
            configs = [{"name": key, "configOperation": operation, "value": value} for key, operation, value in rows]
            resource = {"resourceType": TOPIC, "resourceName": name, "configs": configs}
            for dry in (True, False):
                body = {"resources": [resource], "validateOnly": dry}
                talk.ask(f"{case}{', dry' * dry}", ApiKey.INCREMENTAL_ALTER_CONFIGS, version, body)
            if case in SETTLED:
                _described(talk, name, f"after {case} {version}")


#: Changes after which the settings are read back.
SETTLED = (
    "set",
    "delete",
    "append",
    "subtract",
    "subtract all",
    "throttled append",
    "throttled subtract",
    "two",
    "spaces",
)


def _described(talk: Talk, name: str, case: str, kind: int = TOPIC) -> None:
    made(talk, f"settled-{next(SETTLERS)}")
    keys = [
        "retention.ms",
        "cleanup.policy",
        "segment.ms",
        "leader.replication.throttled.replicas",
        "min.insync.replicas",
    ]
    keys = keys if kind == TOPIC else ["log.retention.ms", "log.cleanup.policy", "max.connections"]
    body = {"resources": [{"resourceType": kind, "resourceName": name, "configurationKeys": keys}]}
    talk.ask(case, ApiKey.DESCRIBE_CONFIGS, talk.latest[ApiKey.DESCRIBE_CONFIGS], body)


def alter_resources(talk: Talk) -> None:
    """Both requests, at resources that are there, are not, and cannot be."""
    made(talk, "alter-here")
    one = [{"name": "retention.ms", "configOperation": SET, "value": "1"}]
    for api in (ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.ALTER_CONFIGS):
        configs = one if api is ApiKey.INCREMENTAL_ALTER_CONFIGS else [{"name": "retention.ms", "value": "1"}]

        def ask(*resources: tuple[int, str], configs: Any = configs) -> dict[str, Any]:
            rows = [{"resourceType": kind, "resourceName": name, "configs": configs} for kind, name in resources]
            return {"resources": rows, "validateOnly": False}

        for name in ("alter-unknown", "a b", "", "x" * 250):
            talk.sweep(f"topic {name[:10]!r}", api, ask((TOPIC, name)))
        for case, row in {
            "bad value": {"name": "retention.ms", "configOperation": SET, "value": "soon"},
            "unknown key": {"name": "no.such.key", "configOperation": SET, "value": "1"},
            "append": {"name": "retention.ms", "configOperation": APPEND, "value": "1"},
        }.items():
            rows = [row if api is ApiKey.INCREMENTAL_ALTER_CONFIGS else {"name": row["name"], "value": row["value"]}]
            talk.sweep(f"unknown topic, {case}", api, ask((TOPIC, "alter-unknown"), configs=rows))
        for kind in OTHER_KINDS:
            for name in ("", "x"):
                talk.sweep(f"kind {kind} of {name!r}", api, ask((kind, name)))
        for name in ("2", "x", "-1", " 1"):
            talk.sweep(f"broker {name!r}", api, ask((BROKER, name)))
        if api is ApiKey.INCREMENTAL_ALTER_CONFIGS:  # Apache never answers the other one
            talk.sweep("twice", api, ask((TOPIC, "alter-here"), (TOPIC, "alter-here")))
        talk.sweep("good and unknown", api, ask((TOPIC, "alter-here"), (TOPIC, "alter-unknown")))
        talk.sweep("nothing", api, {"resources": [], "validateOnly": False})


def alter_configs(talk: Talk) -> None:
    for version in talk.versions(ApiKey.ALTER_CONFIGS):
        name = f"replaced-{version}"
        made(talk, name, retention_ms="1000")
        for case, rows in {
            "other key": [("segment.ms", "77")],
            "two": [("segment.ms", "77"), ("retention.ms", "5")],
            "bad": [("segment.ms", "never")],
            "unknown": [("no.such", "1")],
            "null": [("segment.ms", None)],
            "twice": [("segment.ms", "1"), ("segment.ms", "2")],
            "none": [],
        }.items():
            configs = [{"name": key, "value": value} for key, value in rows]
            resource = {"resourceType": TOPIC, "resourceName": name, "configs": configs}
            for dry in (True, False):
                talk.ask(
                    f"{case}{', dry' * dry}",
                    ApiKey.ALTER_CONFIGS,
                    version,
                    {"resources": [resource], "validateOnly": dry},
                )
            _described(talk, name, f"after {case} {version}")


def alter_broker(talk: Talk) -> None:
    """The last change reverts everything: other scenarios use the same broker."""
    of_one_broker = {
        "dry: listeners": [("listeners", SET, "PLAINTEXT://127.0.0.1:9")],
        "dry: protocols": [("listener.security.protocol.map", SET, "PLAINTEXT:PLAINTEXT")],
    }
    for version in talk.versions(ApiKey.INCREMENTAL_ALTER_CONFIGS):
        for name in ("", "1"):
            for case, rows in {
                "set": [("log.retention.ms", SET, "5000000")],
                "set bad": [("log.retention.ms", SET, "soon")],
                "set unknown": [("no.such.key", SET, "1")],
                "set read-only": [("node.id", SET, "7")],
                "set read-only too": [("num.partitions", SET, "7")],
                "set null": [("log.retention.ms", SET, None)],
                "append": [("log.cleanup.policy", APPEND, "compact")],
                "subtract": [("log.cleanup.policy", SUBTRACT, "compact")],
                "throttle": [("leader.replication.throttled.rate", SET, "1000")],
                "throttle again": [("leader.replication.throttled.rate", SET, "0")],
                "throttle bad": [("leader.replication.throttled.rate", SET, "abc")],
                "throttle negative": [("follower.replication.throttled.rate", SET, "-1")],
                "move bad": [("replica.alter.log.dirs.io.max.bytes.per.second", SET, "1.5")],
                "throttle delete": [("leader.replication.throttled.rate", DELETE, None)],
                "per broker": [("listener.name.plaintext.ssl.keystore.location", SET, "x")],
                "dry: append to text": [("listener.security.protocol.map", APPEND, "A:PLAINTEXT")],
                "dry: newly dynamic": [
                    ("config.providers", SET, ""),
                    ("group.consumer.assignment.interval.ms", SET, "2000"),
                    ("group.coordinator.cached.buffer.max.bytes", SET, "2000000"),
                    ("group.share.assignment.interval.ms", SET, "2000"),
                    ("share.coordinator.cached.buffer.max.bytes", SET, "2000000"),
                ],
                "dry: advertised": [("advertised.listeners", SET, "PLAINTEXT://127.0.0.1:9")],
                "dry: cordoned": [("cordoned.log.dirs", SET, "*")],
                "dry: not cordoned": [("cordoned.log.dirs", DELETE, None)],
                **({} if name else of_one_broker),
                "delete": [("log.retention.ms", DELETE, None), ("log.cleanup.policy", DELETE, None)],
                "delete unknown": [("no.such.key", DELETE, None)],
            }.items():
                configs = [
                    {"name": key, "configOperation": operation, "value": value} for key, operation, value in rows
                ]
                resource = {"resourceType": BROKER, "resourceName": name, "configs": configs}
                body = {"resources": [resource], "validateOnly": case.startswith("dry")}
                talk.ask(f"{case} of {name!r}", ApiKey.INCREMENTAL_ALTER_CONFIGS, version, body)
            policy = {"name": "log.cleanup.policy", "configOperation": SET, "value": "compact , delete"}
            resource = {"resourceType": BROKER, "resourceName": name, "configs": [policy]}
            talk.prepare(ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": [resource], "validateOnly": False})
            made(talk, f"settled-{next(SETTLERS)}")
            described = {"resourceType": BROKER, "resourceName": name, "configurationKeys": ["log.cleanup.policy"]}
            talk.ask(
                f"value of {name!r} after version {version}", ApiKey.DESCRIBE_CONFIGS, 4, {"resources": [described]}
            )
            keys = ("log.retention.ms", "log.cleanup.policy", "no.such.key", "node.id", "num.partitions")
            configs = [{"name": key, "configOperation": DELETE, "value": None} for key in keys]
            for key in configs:
                resource = {"resourceType": BROKER, "resourceName": name, "configs": [key]}
                talk.prepare(ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": [resource], "validateOnly": False})


def list_config_resources(talk: Talk) -> None:
    made(talk, "listed")

    def relevant(answer: dict[str, Any]) -> dict[str, Any]:
        """Other scenarios leave topics and groups of their own behind."""
        kept = [each for each in answer["configResources"] if each.get("resourceName") in ("listed", "1")]
        return {**answer, "configResources": kept}

    for version in talk.versions(ApiKey.LIST_CONFIG_RESOURCES):
        kinds = ([], [TOPIC], [BROKER, 8], [16, 32], [TOPIC, TOPIC], *([kind] for kind in OTHER_KINDS), [TOPIC, 99])
        for each in kinds if version else [[]]:
            talk.ask(f"{each}", ApiKey.LIST_CONFIG_RESOURCES, version, {"resourceTypes": each}, relevant=relevant)


METRICS_CHANGES: dict[str, list[tuple[str, int, str | None]]] = {
    "set": [("metrics", SET, "org.apache.kafka.producer."), ("interval.ms", SET, "10000")],
    "match": [("match", SET, "client_software_name=a.*, client_id = b")],
    "append": [("metrics", APPEND, "org.apache.kafka.consumer.")],
    "append again": [("metrics", APPEND, "org.apache.kafka.consumer.")],
    "subtract": [("metrics", SUBTRACT, "org.apache.kafka.producer.")],
    "every metric": [("metrics", SET, "*")],
    "no metric": [("metrics", SET, "")],
    "delete the interval": [("interval.ms", DELETE, None)],
    "append to no list": [("interval.ms", APPEND, "1")],
    "unknown": [("no.such.key", SET, "1")],
    "delete unknown": [("no.such.key", DELETE, None)],
    "no number": [("interval.ms", SET, "abc")],
    "too short": [("interval.ms", SET, "99")],
    "too long": [("interval.ms", SET, "3600001")],
    "shortest": [("interval.ms", SET, "100")],
    "longest": [("interval.ms", SET, "3600000")],
    "null": [("interval.ms", SET, None)],
    "empty interval": [("interval.ms", SET, "")],
    "match of nothing": [("match", SET, "")],
    "match without value": [("match", SET, "client_id")],
    "match of empty value": [("match", SET, "client_id=")],
    "match with two": [("match", SET, "client_id=a=b")],
    "match of unknown": [("match", SET, "client_color=red")],
    "match of no pattern": [("match", SET, "client_id=(")],
    "good and bad": [("interval.ms", SET, "200"), ("match", SET, "x")],
    "none": [],
}


def client_metrics(talk: Talk) -> None:
    """The subscriptions of KIP-714: changed by both requests, described, and listed."""

    def described(case: str, name: str = "metered") -> None:
        made(talk, f"settled-{next(SETTLERS)}")
        resource = {"resourceType": CLIENT_METRICS, "resourceName": name, "configurationKeys": None}
        for everything in (False, True):
            body = {"resources": [resource], "includeSynonyms": everything, "includeDocumentation": everything}
            talk.ask(f"{case}, {everything}", ApiKey.DESCRIBE_CONFIGS, talk.latest[ApiKey.DESCRIBE_CONFIGS], body)

    described("before")
    described("without a name", "")
    for case, rows in METRICS_CHANGES.items():
        configs = [{"name": key, "configOperation": operation, "value": value} for key, operation, value in rows]
        for name in ("metered", ""):
            resource = {"resourceType": CLIENT_METRICS, "resourceName": name, "configs": configs}
            for dry in (True, False):
                body = {"resources": [resource], "validateOnly": dry}
                talk.ask(f"{case} of {name!r}, {dry}", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body)
        described(f"after {case}")
    made(talk, f"settled-{next(SETTLERS)}")  # Apache's list follows the description by one change of the metadata
    for version in talk.versions(ApiKey.LIST_CONFIG_RESOURCES):
        body = {"resourceTypes": [CLIENT_METRICS] if version else []}
        talk.ask("listed", ApiKey.LIST_CONFIG_RESOURCES, version, body)
    for case, legacy in {
        "replaced": [("match", "client_source_port=1.*")],
        "replaced, bad": [("match", "1")],
        "replaced, unknown": [("no.such.key", "1")],
        "emptied": [],
    }.items():
        configs = [{"name": key, "value": value} for key, value in legacy]
        resource = {"resourceType": CLIENT_METRICS, "resourceName": "metered", "configs": configs}
        talk.sweep(case, ApiKey.ALTER_CONFIGS, {"resources": [resource], "validateOnly": False})
        described(f"after {case}")
    made(talk, f"settled-{next(SETTLERS)}")
    talk.sweep("listed, empty", ApiKey.LIST_CONFIG_RESOURCES, lambda version: body)


LEVEL_CHANGES: dict[str, list[tuple[str, int, str | None]]] = {
    "set": [("root", SET, "WARN")],
    "trace": [("root", SET, "TRACE")],
    "fatal": [("root", SET, "FATAL")],
    "set again": [("root", SET, "INFO")],
    "small letters": [("root", SET, "info")],
    "another's name": [("root", SET, "CRITICAL")],
    "off": [("root", SET, "OFF")],
    "number": [("root", SET, "20")],
    "empty": [("root", SET, "")],
    "null": [("root", SET, None)],
    "delete root": [("root", DELETE, None)],
    "append": [("root", APPEND, "INFO")],
    "subtract": [("root", SUBTRACT, "INFO")],
    "operation 9": [("root", 9, "INFO")],
    "unknown": [("no.such.logger", SET, "INFO")],
    "delete unknown": [("no.such.logger", DELETE, None)],
    "twice": [("root", SET, "INFO"), ("root", SET, "WARN")],
    "good and bad": [("root", SET, "ERROR"), ("no.such.logger", SET, "INFO")],
    "none": [],
}


def broker_loggers(talk: Talk) -> None:
    """KIP-412: the levels of a node's loggers. Both nodes begin with another level of the root logger."""
    made(talk, "beside-loggers")

    def described(case: str) -> None:
        resource = {"resourceType": BROKER_LOGGER, "resourceName": "1", "configurationKeys": ["root", "no.such.logger"]}
        body = {"resources": [resource], "includeSynonyms": True, "includeDocumentation": True}
        talk.ask(case, ApiKey.DESCRIBE_CONFIGS, talk.latest[ApiKey.DESCRIBE_CONFIGS], body)

    for case, rows in LEVEL_CHANGES.items():
        configs = [{"name": key, "configOperation": operation, "value": value} for key, operation, value in rows]
        for name in ("1", "2", "x", "") if case == "set" else ("1",):
            resource = {"resourceType": BROKER_LOGGER, "resourceName": name, "configs": configs}
            for dry in (True, False):
                body = {"resources": [resource], "validateOnly": dry}
                talk.ask(f"{case} of {name!r}, {dry}", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body)
        described(f"after {case}")
    level = {"name": "root", "configOperation": SET, "value": "INFO"}
    retention = {"name": "retention.ms", "configOperation": SET, "value": "7"}
    rows = [(TOPIC, "beside-loggers", retention), (BROKER_LOGGER, "1", level), (TOPIC, "no-such-topic", retention)]
    resources = [{"resourceType": kind, "resourceName": name, "configs": [each]} for kind, name, each in rows]
    talk.sweep("with topics", ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": resources, "validateOnly": False})
    talk.sweep("twice", ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": [resources[1]] * 2, "validateOnly": False})
    described("at last")
    _described(talk, "beside-loggers", "the topic")
