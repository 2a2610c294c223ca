"""Topics made, grown and deleted."""

from __future__ import annotations

from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.scenarios.produce import led
from tests.differential.talk import Talk

UNKNOWN_ID = "AAAAAAAAAAAAAAAAAAAAfw"


def _topic(name: str, partitions: int = 1, factor: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "numPartitions": partitions, "replicationFactor": factor, **more}


def _assigned(name: str, assignment: dict[int, list[int]], partitions: int = -1, factor: int = -1) -> dict[str, Any]:
    rows = [{"partitionIndex": index, "brokerIds": brokers} for index, brokers in assignment.items()]
    return _topic(name, partitions, factor, assignments=rows)


def _configured(name: str, key: str, value: str | None) -> dict[str, Any]:
    return _topic(name, configs=[{"name": key, "value": value}])


CREATED = {
    "plain": lambda n: _topic(n),
    "three": lambda n: _topic(n, 3),
    "defaults": lambda n: _topic(n, -1, -1),
    "no partitions": lambda n: _topic(n, 0),
    "negative partitions": lambda n: _topic(n, -2),
    "no replicas": lambda n: _topic(n, 1, 0),
    "negative replicas": lambda n: _topic(n, 1, -2),
    "too many replicas": lambda n: _topic(n, 1, 2),
    "assigned": lambda n: _assigned(n, {0: [1], 1: [1]}),
    "assigned and counted": lambda n: _assigned(n, {0: [1]}, 1, -1),
    "assigned and replicated": lambda n: _assigned(n, {0: [1]}, -1, 1),
    "assigned to an unknown": lambda n: _assigned(n, {0: [77]}),
    "assigned twice": lambda n: _assigned(n, {0: [1, 1]}),
    "assigned to nobody": lambda n: _assigned(n, {0: []}),
    "assigned with a gap": lambda n: _assigned(n, {0: [1], 2: [1]}),
    "assigned from one": lambda n: _assigned(n, {1: [1]}),
    "assigned unevenly": lambda n: _assigned(n, {0: [1], 1: [1, 1]}),
    "assigned to a negative": lambda n: _assigned(n, {0: [-1]}),
    "configured": lambda n: _configured(n, "retention.ms", "1000"),
    "unknown config": lambda n: _configured(n, "no.such.config", "1"),
    "bad value": lambda n: _configured(n, "retention.ms", "soon"),
    "out of range": lambda n: _configured(n, "segment.bytes", "1"),
    "null value": lambda n: _configured(n, "retention.ms", None),
    "empty value": lambda n: _configured(n, "retention.ms", ""),
    "empty policy": lambda n: _configured(n, "cleanup.policy", ""),
    "empty key": lambda n: _configured(n, "", "1"),
    "spaces": lambda n: _configured(n, "retention.ms", " 1000 "),
    "min.insync": lambda n: _configured(n, "min.insync.replicas", "2"),
    "local retention": lambda n: _configured(n, "local.retention.ms", "1000"),
    "two times a key": lambda n: _topic(
        n, configs=[{"name": "retention.ms", "value": "1"}, {"name": "retention.ms", "value": "2"}]
    ),
}
INVALID_NAMES = (
    "",
    ".",
    "..",
    "a b",
    "a/b",
    "x" * 249,
    "x" * 250,
    "ü",
    "__consumer_offsets",
    "__cluster_metadata",
    "A.b",
    "A_b",
)


def create_topics(talk: Talk) -> None:
    for number, (case, body) in enumerate(CREATED.items()):
        for version in talk.versions(ApiKey.CREATE_TOPICS):
            if version < 4 and case == "defaults":
                continue
            talk.ask(
                case, ApiKey.CREATE_TOPICS, version, {"topics": [body(f"made-{number}-{version}")], "timeoutMs": 9000}
            )
        latest = talk.latest[ApiKey.CREATE_TOPICS]
        asked = {"topics": [body(f"dry-{number}")], "validateOnly": True, "timeoutMs": 9000}
        talk.ask(f"{case}, dry", ApiKey.CREATE_TOPICS, latest, asked) if talk.versions(ApiKey.CREATE_TOPICS) else None


def create_many_topics(talk: Talk) -> None:
    latest = talk.latest[ApiKey.CREATE_TOPICS]
    for name in INVALID_NAMES:
        talk.sweep(
            f"name {name[:20]!r} ({len(name)})", ApiKey.CREATE_TOPICS, {"topics": [_topic(name)], "timeoutMs": 9000}
        )
    for version in talk.versions(ApiKey.CREATE_TOPICS):
        name = f"again-{version}"
        talk.ask("first", ApiKey.CREATE_TOPICS, version, {"topics": [_topic(name)]})
        talk.ask("again", ApiKey.CREATE_TOPICS, version, {"topics": [_topic(name)]})
        talk.ask("again, dry", ApiKey.CREATE_TOPICS, version, {"topics": [_topic(name)], "validateOnly": True})
        pair = [_topic(f"pair-{version}"), _topic(f"pair-{version}", 2), _topic(f"third-{version}")]
        talk.ask("pair", ApiKey.CREATE_TOPICS, version, {"topics": pair})
        mixed = [_topic(f"mixed-{version}"), _topic("a b"), _topic(f"mixed-2-{version}", 1, 5)]
        talk.ask("mixed", ApiKey.CREATE_TOPICS, version, {"topics": mixed})
        talk.ask("none", ApiKey.CREATE_TOPICS, version, {"topics": []})
        talk.ask("no time", ApiKey.CREATE_TOPICS, version, {"topics": [_topic(f"no-time-{version}")], "timeoutMs": -1})
    for version in talk.versions(ApiKey.CREATE_TOPICS):
        both = [_topic(f"beside.{version}"), _topic(f"beside_{version}"), _topic(f"beside-{version}")]
        talk.ask("two that collide", ApiKey.CREATE_TOPICS, version, {"topics": both})
    talk.ask("collision", ApiKey.CREATE_TOPICS, latest, {"topics": [_topic("collide.one")]})
    talk.ask("collides", ApiKey.CREATE_TOPICS, latest, {"topics": [_topic("collide_one")]})


def create_partitions(talk: Talk) -> None:
    for version in talk.versions(ApiKey.CREATE_PARTITIONS):
        name = f"grown-{version}"
        talk.prepare(ApiKey.CREATE_TOPICS, {"topics": [_topic(name, 2)]})
        for case, topic in {
            "dry": {"name": name, "count": 4, "assignments": None},
            "unknown": {"name": "grown-unknown", "count": 4, "assignments": None},
            "invalid name": {"name": "a b", "count": 4, "assignments": None},
            "empty name": {"name": "", "count": 4, "assignments": None},
            "same": {"name": name, "count": 2, "assignments": None},
            "fewer": {"name": name, "count": 1, "assignments": None},
            "zero": {"name": name, "count": 0, "assignments": None},
            "negative": {"name": name, "count": -1, "assignments": None},
            "too few assigned": {"name": name, "count": 4, "assignments": [{"brokerIds": [1]}]},
            "too many assigned": {"name": name, "count": 3, "assignments": [{"brokerIds": [1]}, {"brokerIds": [1]}]},
            "assigned to an unknown": {"name": name, "count": 3, "assignments": [{"brokerIds": [9]}]},
            "assigned twice": {"name": name, "count": 3, "assignments": [{"brokerIds": [1, 1]}]},
            "assigned to nobody": {"name": name, "count": 3, "assignments": [{"brokerIds": []}]},
            "empty assignments": {"name": name, "count": 3, "assignments": []},
            "assigned": {"name": name, "count": 4, "assignments": [{"brokerIds": [1]}]},
            "more": {"name": name, "count": 6, "assignments": None},
            "very many": {"name": name, "count": 20_000, "assignments": None},
            "internal": {"name": "__cluster_metadata", "count": 3, "assignments": None},
        }.items():
            dry = case in ("dry", "very many")
            body = {"topics": [topic], "timeoutMs": 9000, "validateOnly": dry}
            talk.ask(case, ApiKey.CREATE_PARTITIONS, version, body)
        twice = [{"name": name, "count": 8, "assignments": None}, {"name": name, "count": 9, "assignments": None}]
        talk.ask("twice", ApiKey.CREATE_PARTITIONS, version, {"topics": twice, "timeoutMs": 9000})
        talk.ask("none", ApiKey.CREATE_PARTITIONS, version, {"topics": [], "timeoutMs": 9000})
        if talk.versions(ApiKey.METADATA):
            led(talk, name, 6)
            talk.ask("after", ApiKey.METADATA, talk.latest[ApiKey.METADATA] - version, {"topics": [{"name": name}]})


def delete_topics(talk: Talk) -> None:
    for version in talk.versions(ApiKey.DELETE_TOPICS):
        first, second = f"gone-{version}", f"gone-too-{version}"
        made = talk.prepare(ApiKey.CREATE_TOPICS, {"topics": [_topic(first), _topic(second)]})
        ids = {topic["name"]: topic["topicId"] for topic in made["topics"]}

        def asked(*names: str | None, version: int = version) -> dict[str, Any]:
            topics = [{"name": name} for name in names]
            return {"topics": topics, "topicNames": list(names), "timeoutMs": 9000}

        for case, names in {"unknown": ("gone-unknown",), "invalid": ("a b",), "empty": ("",), "none": ()}.items():
            talk.ask(case, ApiKey.DELETE_TOPICS, version, asked(*names))
        talk.ask("twice", ApiKey.DELETE_TOPICS, version, asked(first, first))
        talk.ask("good and unknown", ApiKey.DELETE_TOPICS, version, asked(first, "gone-unknown"))
        talk.ask("gone", ApiKey.DELETE_TOPICS, version, asked(first))
        if version >= 6:
            for case, topic in {
                "unknown id": {"name": None, "topicId": UNKNOWN_ID},
                "neither": {"name": None},
                "both": {"name": second, "topicId": ids[second]},
                "id": {"name": None, "topicId": ids[second]},
                "id again": {"name": None, "topicId": ids[second]},
            }.items():
                talk.ask(case, ApiKey.DELETE_TOPICS, version, {"topics": [topic], "timeoutMs": 9000})
            names = [f"gone-{version}-{letter}" for letter in "abc"]
            made = talk.prepare(ApiKey.CREATE_TOPICS, {"topics": [_topic(name) for name in names]})
            by_name = [{"name": topic["name"]} for topic in made["topics"]]
            by_id = [{"name": None, "topicId": topic["topicId"]} for topic in made["topics"]]
            for case, topics in {
                "name and id": [by_name[0], by_id[0]],
                "id twice": [by_id[1], by_id[1]],
                "unknown id twice": [{"name": None, "topicId": UNKNOWN_ID}] * 2,
                "good and both": [by_name[2], {**by_id[1], **by_name[1]}],
                "both twice, neither twice": [{**by_id[1], **by_name[1]}, {"name": None}] * 2,
            }.items():
                talk.ask(case, ApiKey.DELETE_TOPICS, version, {"topics": topics, "timeoutMs": 9000})
