"""A client's first requests: versions, brokers, topics."""

from __future__ import annotations

from kraft.messages.registry import ApiKey
from tests.differential.scenarios.produce import UNKNOWN_ID, made
from tests.differential.talk import Talk


def api_versions(talk: Talk) -> None:
    good = {"clientSoftwareName": "differential", "clientSoftwareVersion": "1.0"}
    talk.sweep("good names", ApiKey.API_VERSIONS, good)
    for case, name in {
        "empty": "",
        "space": "a b",
        "leading dash": "-a",
        "trailing dot": "a.",
        "dots": "a.b-c1",
    }.items():
        talk.sweep(f"software name {case}", ApiKey.API_VERSIONS, {**good, "clientSoftwareName": name})
        talk.sweep(f"software version {case}", ApiKey.API_VERSIONS, {**good, "clientSoftwareVersion": name})


def metadata_topics(talk: Talk) -> None:
    made(talk, "metadata-here", 3)
    ask = {"allowAutoTopicCreation": False}
    talk.sweep("every topic", ApiKey.METADATA, lambda version: {**ask, "topics": None if version else []})
    talk.sweep(
        "no topic", ApiKey.METADATA, lambda version: {**ask, "topics": [] if version else [{"name": "metadata-here"}]}
    )
    for name in ("metadata-here", "metadata-unknown", "", ".", "..", "a/b", "x" * 249, "x" * 250, "ü"):
        refused = {**ask, "topics": [{"name": name}]}
        talk.sweep(f"name {name[:20]!r} ({len(name)})", ApiKey.METADATA, lambda v, r=refused: r if v >= 4 else NAMED)
    talk.sweep("twice", ApiKey.METADATA, {**ask, "topics": [{"name": "metadata-here"}, {"name": "metadata-here"}]})
    operations = {"includeTopicAuthorizedOperations": True, "includeClusterAuthorizedOperations": True}
    talk.sweep("operations", ApiKey.METADATA, {**ask, **operations, "topics": [{"name": "metadata-here"}]})


NAMED = {"topics": [{"name": "metadata-here"}]}


def metadata_by_id(talk: Talk) -> None:
    topic_id = made(talk, "metadata-id")["topicId"]
    for version in talk.versions(ApiKey.METADATA):
        if version < 10:
            continue
        for case, topic in {
            "id alone": {"topicId": topic_id, "name": None},
            "id with empty name": {"topicId": topic_id, "name": ""},
            "id and name": {"topicId": topic_id, "name": "metadata-id"},
            "id and other name": {"topicId": topic_id, "name": "metadata-other"},
            "unknown id": {"topicId": UNKNOWN_ID, "name": None},
            "neither": {"name": None},
        }.items():
            ask = {"allowAutoTopicCreation": False, "topics": [topic]}
            talk.ask(case, ApiKey.METADATA, version, ask)
        mixed = [{"name": "metadata-id"}, {"topicId": UNKNOWN_ID, "name": None}]
        talk.ask("mixed", ApiKey.METADATA, version, {"allowAutoTopicCreation": False, "topics": mixed})


def automatic_topics(talk: Talk) -> None:
    for version in talk.versions(ApiKey.METADATA):
        name = f"automatic-{version}"
        talk.ask("unknown", ApiKey.METADATA, version, {"allowAutoTopicCreation": True, "topics": [{"name": name}]})
        talk.prepare(ApiKey.METADATA, {"allowAutoTopicCreation": True, "topics": [{"name": name}]})
        for bad in ("a b", "", "x" * 250):
            body = {"allowAutoTopicCreation": True, "topics": [{"name": bad}]}
            talk.ask(f"invalid ({len(bad)})", ApiKey.METADATA, version, body)


def describe_cluster(talk: Talk) -> None:
    for operations in (False, True):
        for kind in (1, 2, 0, 3):
            for fenced in (False, True):
                body = {
                    "includeClusterAuthorizedOperations": operations,
                    "endpointType": kind,
                    "includeFencedBrokers": fenced,
                }
                talk.sweep(f"{operations} {kind} {fenced}", ApiKey.DESCRIBE_CLUSTER, body)


def sasl_without_sasl(talk: Talk) -> None:
    """Requests of a SASL exchange to a listener that has none. The connection goes on after each."""
    for mechanism in ("PLAIN", "GSSAPI", ""):
        talk.sweep(f"handshake {mechanism}", ApiKey.SASL_HANDSHAKE, {"mechanism": mechanism})
    for token in ("", "dG9rZW4="):
        talk.sweep(f"token {token}", ApiKey.SASL_AUTHENTICATE, {"authBytes": token})


def describe_topic_partitions(talk: Talk) -> None:
    for name in ("parts-b", "parts-a"):
        made(talk, name, 3)
    both = [{"name": "parts-b"}, {"name": "parts-a"}]
    api = ApiKey.DESCRIBE_TOPIC_PARTITIONS
    talk.sweep("both", api, {"topics": both})
    talk.sweep("limit 2", api, {"topics": both, "responsePartitionLimit": 2})
    talk.sweep("limit 0", api, {"topics": both, "responsePartitionLimit": 0})
    talk.sweep("limit -1", api, {"topics": both, "responsePartitionLimit": -1})
    for topic, index in (("parts-a", 1), ("parts-a", 3), ("parts-b", 0), ("zzz", 0), ("parts-a", -1), ("aaa", 2)):
        cursor = {"topicName": topic, "partitionIndex": index}
        talk.sweep(f"cursor {topic} {index}", api, {"topics": both, "responsePartitionLimit": 2, "cursor": cursor})
    for name in ("parts-unknown", "a b", ""):
        talk.sweep(f"name {name!r}", api, {"topics": [{"name": name}]})
    talk.sweep("good and unknown", api, {"topics": [*both, {"name": "parts-unknown"}]})
    talk.sweep("twice", api, {"topics": [*both, *both]})
