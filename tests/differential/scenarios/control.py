"""The controller's decisions on request: elections, reassignments, features, registrations."""

from __future__ import annotations

from kraft.messages.registry import ApiKey
from tests.differential.scenarios.produce import made
from tests.differential.talk import Body, Talk, label

NODE_ID = 1
UNKNOWN_NODE_ID = 77
METADATA_VERSION, LEVEL = "metadata.version", 21


def elect_leaders(talk: Talk) -> None:
    made(talk, "elected", 2)
    for kind in (0, 1, 2, -1):
        for case, wanted in {
            "all": None,
            "none": [],
            "led": [{"topic": "elected", "partitions": [0, 1]}],
            "unknown partition": [{"topic": "elected", "partitions": [0, 7]}],
            "unknown topic": [{"topic": "elected-by-nobody", "partitions": [0]}],
            "no partitions": [{"topic": "elected", "partitions": []}],
            "partition twice": [{"topic": "elected", "partitions": [0, 0]}],
            "topic twice": [{"topic": "elected", "partitions": [0]}, {"topic": "elected", "partitions": [1, 0]}],
        }.items():
            for version in talk.versions(ApiKey.ELECT_LEADERS):
                if version > 0 or kind == 0:
                    body: Body = {"electionType": kind, "topicPartitions": wanted, "timeoutMs": 5000}
                    talk.ask(f"type {kind}, {case}", ApiKey.ELECT_LEADERS, version, body, relevant=_without_others)


def _without_others(answer: Body) -> Body:
    """Without the topics of other scenarios, which an answer for all has, too."""
    results = [each for each in answer["replicaElectionResults"] if each["topic"].startswith("elected")]
    return {**answer, "replicaElectionResults": results}


def reassignments(talk: Talk) -> None:
    made(talk, "reassigned", 2)
    api = ApiKey.ALTER_PARTITION_REASSIGNMENTS
    for case, replicas in {
        "cancelled": None,
        "to where it is": [NODE_ID],
        "to nobody": [],
        "to a stranger": [NODE_ID, UNKNOWN_NODE_ID],
        "to one twice": [NODE_ID, NODE_ID],
    }.items():
        for allowed in (True, False):
            partition = {"partitionIndex": 0, "replicas": replicas}
            topics = [{"name": "reassigned", "partitions": [partition]}]
            body = {"topics": topics, "allowReplicationFactorChange": allowed, "timeoutMs": 5000}
            talk.sweep(f"{case}, {allowed}", api, body)
    for case, name, index in (("unknown partition", "reassigned", 9), ("unknown topic", "reassigned-nowhere", 0)):
        topics = [{"name": name, "partitions": [{"partitionIndex": index, "replicas": [NODE_ID]}]}]
        talk.sweep(case, api, {"topics": topics})
    good = {"partitionIndex": 0, "replicas": [NODE_ID]}
    bad = {"partitionIndex": 0, "replicas": []}
    for case, topics in {
        "partition twice": [{"name": "reassigned", "partitions": [good, bad]}],
        "topic twice": [{"name": "reassigned", "partitions": [each]} for each in (good, bad)],
        "topic twice, other partitions": [
            {"name": "reassigned", "partitions": [each]} for each in (good, {**good, "partitionIndex": 1})
        ],
    }.items():
        talk.sweep(case, api, {"topics": topics})
    talk.sweep("no topics", api, {"topics": []})
    talk.sweep("no partitions", api, {"topics": [{"name": "reassigned", "partitions": []}]})
    for case, named in {
        "all": None,
        "none": [],
        "still": [{"name": "reassigned", "partitionIndexes": [0, 1, 9]}],
        "unknown topic": [{"name": "reassigned-nowhere", "partitionIndexes": [0]}],
    }.items():
        talk.sweep(case, ApiKey.LIST_PARTITION_REASSIGNMENTS, {"topics": named, "timeoutMs": 5000})


def update_features(talk: Talk) -> None:
    """Revert all changes: other scenarios read the level too."""
    api = ApiKey.UPDATE_FEATURES

    def ask(case: str, version: int, body: Body) -> None:
        """Return whether it fails, with an error for the request or for one feature."""
        answer = talk.ask(case, api, version, body)
        codes = [answer["errorCode"], *(each["errorCode"] for each in answer.get("results", ()))]
        talk.note(f"{label(case, api, version)}: the worst", max(codes))

    for case, name, level, kind in (
        ("the same", METADATA_VERSION, LEVEL, 1),
        ("down, not said", METADATA_VERSION, LEVEL - 1, 1),
        ("down", METADATA_VERSION, LEVEL - 1, 2),
        ("down, unsafe", METADATA_VERSION, LEVEL - 1, 3),
        ("up as a downgrade", METADATA_VERSION, LEVEL + 1, 2),
        ("down with a loss", METADATA_VERSION, 16, 2),
        ("down with a loss, unsafe", METADATA_VERSION, 16, 3),
        ("too far down", METADATA_VERSION, 3, 2),
        ("too far up", METADATA_VERSION, 99, 1),
        ("to 0", METADATA_VERSION, 0, 2),
        ("below 0", METADATA_VERSION, -1, 2),
        ("of no type", METADATA_VERSION, LEVEL, 0),
        ("of an unknown type", METADATA_VERSION, LEVEL, 4),
        ("an unknown feature", "no.such.feature", 1, 1),
        ("an unknown feature to 0", "no.such.feature", 0, 2),
        ("a feature at 0 to 0", "group.version", 0, 2),
    ):
        update = {"feature": name, "maxVersionLevel": level, "upgradeType": kind}
        for version in talk.versions(api):
            if version > 0:
                body = {"featureUpdates": [update], "validateOnly": True, "timeoutMs": 5000}
                ask(case, version, body)
    for version in talk.versions(api):
        down = {"feature": METADATA_VERSION, "maxVersionLevel": LEVEL - 1, "upgradeType": 2, "allowDowngrade": True}
        up = {"feature": METADATA_VERSION, "maxVersionLevel": LEVEL, "upgradeType": 1}
        ask("down for good", version, {"featureUpdates": [down], "timeoutMs": 5000})
        ask("up for good", version, {"featureUpdates": [up], "timeoutMs": 5000})
        ask("nothing", version, {"featureUpdates": [], "timeoutMs": 5000})


def unregister_broker(talk: Talk) -> None:
    for broker_id in (UNKNOWN_NODE_ID, -1):
        talk.sweep(f"broker {broker_id}", ApiKey.UNREGISTER_BROKER, {"brokerId": broker_id})
