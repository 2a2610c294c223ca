"""Requests of brokers to the active controller, and those that tools may also send to it (KIP-631, KIP-919)."""

from __future__ import annotations

import base64
import struct
from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.scenarios import cluster, configs
from tests.differential.scenarios.broken import head
from tests.differential.scenarios.quorum import NODE_ID, OTHER_CLUSTER, OTHER_ID
from tests.differential.talk import Body, Line, Talk, read_answer, request_header
from tests.support.cluster_id import CLUSTER_ID

ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
#: Ids of brokers that only send requests; each scenario and each version has its own.
REGISTERED, BEATING = 300, 500
LEVEL = 21


def numbered(number: int) -> str:
    """An id as Kafka writes ids."""
    return base64.urlsafe_b64encode(struct.pack(">qq", 7, number)).decode().rstrip("=")


def controller_api_versions(talk: Talk) -> None:
    cluster.api_versions(talk)


def controller_describe_cluster(talk: Talk) -> None:
    cluster.describe_cluster(talk)


def controller_alter_resources(talk: Talk) -> None:
    configs.alter_resources(talk)


def controller_alter_configs(talk: Talk) -> None:
    configs.alter_configs(talk)


def controller_alter_broker(talk: Talk) -> None:
    configs.alter_broker(talk)


def registration(broker_id: int, **more: Any) -> Body:
    """A broker's registration in which nothing is wrong."""
    return {
        "brokerId": broker_id,
        "clusterId": CLUSTER_ID,
        "incarnationId": numbered(broker_id),
        "listeners": [{"name": "PLAINTEXT", "host": "127.0.0.1", "port": 9, "securityProtocol": 0}],
        "features": [{"name": "metadata.version", "minSupportedVersion": 7, "maxSupportedVersion": LEVEL}],
        "logDirs": [numbered(1000 + broker_id)],
        "previousBrokerEpoch": -1,
        **more,
    }


def broker_registration(talk: Talk) -> None:
    api = ApiKey.BROKER_REGISTRATION
    for version in talk.versions(api):
        broker_id = REGISTERED + version
        feature = registration(broker_id)["features"][0]
        listener = registration(broker_id)["listeners"][0]
        for case, more in {
            "other cluster": {"clusterId": OTHER_CLUSTER},
            "empty cluster": {"clusterId": ""},
            "no listener": {"listeners": []},
            "listener twice": {"listeners": [listener, listener]},
            "no feature": {"features": []},
            "feature too old": {"features": [{**feature, "maxSupportedVersion": LEVEL - 1}]},
            "feature too new": {"features": [{**feature, "minSupportedVersion": LEVEL + 1, "maxSupportedVersion": 30}]},
            "feature upside down": {"features": [{**feature, "minSupportedVersion": 30}]},
            "unknown feature": {
                "features": [feature, {"name": "x", "minSupportedVersion": 0, "maxSupportedVersion": 1}]
            },
            "unknown feature from 1 on": {
                "features": [feature, {"name": "x", "minSupportedVersion": 1, "maxSupportedVersion": 1}]
            },
            "no directory": {"logDirs": []},
            "directory twice": {"logDirs": [OTHER_ID, OTHER_ID]},
            "reserved directory": {"logDirs": [numbered(1), ZERO_ID]},
            "reserved directory 1": {"logDirs": ["AAAAAAAAAAAAAAAAAAAAAQ"]},
            "directory of another": {"logDirs": [talk.side.directory_id]},
            "from zookeeper": {"isMigratingZkBroker": True},
            "broker -1": {"brokerId": -1},
            "the broker that is there": {"brokerId": NODE_ID},
            "no incarnation": {"incarnationId": ZERO_ID},
            "good": {},
            "again": {},
            "again, other incarnation": {"incarnationId": OTHER_ID},
            "again, other rack": {"rack": "r"},
            "again, previous epoch": {"previousBrokerEpoch": 3},
            "again, other directories": {"logDirs": [numbered(2000 + broker_id)]},
            "again, no feature": {"features": []},
        }.items():
            talk.ask(case, api, version, {**registration(broker_id), **more})
            if case in ("no listener", "listener twice", "no incarnation", "broker -1"):
                talk.prepare(ApiKey.UNREGISTER_BROKER, {"brokerId": more.get("brokerId", broker_id)})
        talk.ask(f"gone {version}", ApiKey.UNREGISTER_BROKER, 0, {"brokerId": broker_id})
        talk.ask(f"gone twice {version}", ApiKey.UNREGISTER_BROKER, 0, {"brokerId": broker_id})


def broker_heartbeat(talk: Talk) -> None:
    api = ApiKey.BROKER_HEARTBEAT
    for version in talk.versions(api):
        broker_id = BEATING + version
        epoch = talk.prepare(ApiKey.BROKER_REGISTRATION, registration(broker_id))["brokerEpoch"]
        good = {"brokerId": broker_id, "brokerEpoch": epoch, "currentMetadataOffset": -1, "wantFence": True}
        caught_up = {"currentMetadataOffset": 2**40}
        for case, more in {
            "fenced": {},
            "unknown broker": {"brokerId": 78},
            "broker -1": {"brokerId": -1},
            "older epoch": {"brokerEpoch": epoch - 1},
            "newer epoch": {"brokerEpoch": epoch + 1},
            "epoch -1": {"brokerEpoch": -1},
            "wants in, behind": {"wantFence": False, "currentMetadataOffset": 0},
            "wants to go, fenced": {"wantShutDown": True},
            "wants in, just behind": {"wantFence": False, "currentMetadataOffset": epoch - 1},
            "wants in": {"wantFence": False, **caught_up},
            "in": {"wantFence": False, **caught_up},
            "in, offset -1": {"wantFence": False},
            "a directory fails": {"wantFence": False, "offlineLogDirs": [numbered(1000 + broker_id)], **caught_up},
            "an unknown directory fails": {"wantFence": False, "offlineLogDirs": [OTHER_ID], **caught_up},
            "wants out": {**caught_up},
            "wants in again": {"wantFence": False, **caught_up},
            "wants to go": {"wantFence": False, "wantShutDown": True, **caught_up},
            "wants to go, again": {"wantFence": False, "wantShutDown": True, **caught_up},
            "wants in after all": {"wantFence": False, **caught_up},
        }.items():
            talk.ask(case, api, version, {**good, **more})
        talk.prepare(ApiKey.UNREGISTER_BROKER, {"brokerId": broker_id})
        talk.ask("unregistered", api, version, good)


def allocate_producer_ids(talk: Talk) -> None:
    broker_id = 620
    epoch = talk.prepare(ApiKey.BROKER_REGISTRATION, registration(broker_id))["brokerEpoch"]
    for case, asker, asker_epoch in (
        ("good", broker_id, epoch),
        ("again", broker_id, epoch),
        ("older epoch", broker_id, epoch - 1),
        ("epoch -1", broker_id, -1),
        ("unknown broker", 78, epoch),
        ("broker -1", -1, -1),
    ):
        body = {"brokerId": asker, "brokerEpoch": asker_epoch}
        talk.sweep(case, ApiKey.ALLOCATE_PRODUCER_IDS, body)
    talk.prepare(ApiKey.UNREGISTER_BROKER, {"brokerId": broker_id})


def alter_partition(talk: Talk) -> None:
    """Invalid proposals of a broker that leads no partition."""
    api = ApiKey.ALTER_PARTITION
    broker_id = 640
    epoch = talk.prepare(ApiKey.BROKER_REGISTRATION, registration(broker_id))["brokerEpoch"]
    topic = {"name": "altered", "numPartitions": 1, "replicationFactor": 1}
    topic_id = talk.prepare(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeoutMs": 9000})["topics"][0]["topicId"]
    good = {"partitionIndex": 0, "leaderEpoch": 0, "partitionEpoch": 0, "leaderRecoveryState": 0}

    def body(broker: int = broker_id, broker_epoch: int = epoch, topic: str = topic_id, **more: Any) -> Body:
        isr = more.pop("isr", [NODE_ID])
        partition = {
            **good,
            "newIsr": isr,
            "newIsrWithEpochs": [{"brokerId": each, "brokerEpoch": -1} for each in isr],
            **more,
        }
        return {
            "brokerId": broker,
            "brokerEpoch": broker_epoch,
            "topics": [{"topicId": topic, "partitions": [partition]}],
        }

    for case, asked in {
        "not the leader": body(),
        "unknown broker": body(78),
        "older epoch": body(broker_epoch=epoch - 1),
        "epoch -1": body(broker_epoch=-1),
        "unknown topic": body(topic=OTHER_ID),
        "no topic id": body(topic=ZERO_ID),
        "unknown partition": body(partitionIndex=7),
        "partition -1": body(partitionIndex=-1),
        "newer leader epoch": body(leaderEpoch=5),
        "older leader epoch": body(leaderEpoch=-1),
        "newer partition epoch": body(partitionEpoch=5),
        "older partition epoch": body(partitionEpoch=-1),
        "empty isr": body(isr=[]),
        "stranger in isr": body(isr=[NODE_ID, 78]),
        "recovering": body(leaderRecoveryState=1),
        "unknown recovery": body(leaderRecoveryState=7),
        "no topic": {"brokerId": broker_id, "brokerEpoch": epoch, "topics": []},
        "no partition": {
            "brokerId": broker_id,
            "brokerEpoch": epoch,
            "topics": [{"topicId": topic_id, "partitions": []}],
        },
    }.items():
        talk.sweep(case, api, asked)
    talk.prepare(ApiKey.UNREGISTER_BROKER, {"brokerId": broker_id})


def replaced_reassignments(talk: Talk) -> None:
    """A reassignment is replaced before it ends (KIP-455): its new replicas are those of fenced brokers."""
    others = range(680, 685)
    for broker_id in others:
        talk.prepare(ApiKey.BROKER_REGISTRATION, registration(broker_id))
    b, c, d, e, f = others
    for number, targets in enumerate(
        (
            ([NODE_ID, c], [NODE_ID, d], [NODE_ID, b], None),
            ([NODE_ID, c], [c, d], [NODE_ID, c]),
            ([c, d], [e, d], None),
            ([c, d], [e, f], [e, f], [b, NODE_ID]),
            ([NODE_ID, b, c], [NODE_ID, b], [NODE_ID, b, d, e], None),
            ([NODE_ID], [c, NODE_ID], [b, c]),
        )
    ):
        name = f"reassigned-{number}"
        assignments = [{"partitionIndex": 0, "brokerIds": [NODE_ID, b]}]
        topic = {"name": name, "numPartitions": -1, "replicationFactor": -1, "assignments": assignments}
        created = talk.prepare(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeoutMs": 9000})["topics"][0]
        assert created["errorCode"] == 0, created
        for step, target in enumerate(targets):
            partitions = [{"partitionIndex": 0, "replicas": target}]
            body = {"timeoutMs": 9000, "topics": [{"name": name, "partitions": partitions}]}
            case = f"{name}, step {step}: {target}"
            talk.ask(case, ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, body)
            listed = {"timeoutMs": 9000, "topics": [{"name": name, "partitionIndexes": [0]}]}
            talk.ask(case, ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, listed)
        talk.prepare(ApiKey.DELETE_TOPICS, {"topics": [{"name": name}], "timeoutMs": 9000})
    for broker_id in others:
        talk.prepare(ApiKey.UNREGISTER_BROKER, {"brokerId": broker_id})


def assign_replicas(talk: Talk) -> None:
    broker_id = 660
    directory = registration(broker_id)["logDirs"][0]
    epoch = talk.prepare(ApiKey.BROKER_REGISTRATION, registration(broker_id))["brokerEpoch"]
    topic = {"name": "placed", "numPartitions": 1, "replicationFactor": 1}
    topic_id = talk.prepare(ApiKey.CREATE_TOPICS, {"topics": [topic], "timeoutMs": 9000})["topics"][0]["topicId"]

    def body(directory: str = directory, topic: str = topic_id, index: int = 0, **more: Any) -> Body:
        topics = [{"topicId": topic, "partitions": [{"partitionIndex": index}]}]
        return {
            "brokerId": broker_id,
            "brokerEpoch": epoch,
            "directories": [{"id": directory, "topics": topics}],
            **more,
        }

    for case, asked in {
        "no replica": body(),
        "unknown broker": body(brokerId=78),
        "older epoch": body(brokerEpoch=epoch - 1),
        "unknown topic": body(topic=OTHER_ID),
        "unknown partition": body(index=7),
        "unknown directory": body(OTHER_ID),
        "unassigned directory": body(ZERO_ID),
        "lost directory": body("AAAAAAAAAAAAAAAAAAAAAQ"),
        "no directory": body(directories=[]),
    }.items():
        talk.sweep(case, ApiKey.ASSIGN_REPLICAS_TO_DIRS, asked)
    talk.prepare(ApiKey.UNREGISTER_BROKER, {"brokerId": broker_id})


def controller_registration(talk: Talk) -> None:
    good = {
        "controllerId": 7,
        "incarnationId": OTHER_ID,
        "zkMigrationReady": False,
        "listeners": [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 9, "securityProtocol": 0}],
        "features": [{"name": "metadata.version", "minSupportedVersion": 1, "maxSupportedVersion": LEVEL}],
    }
    for case, more in {
        "no voter": {},
        "controller -1": {"controllerId": -1},
        "no listener": {"listeners": []},
        "no feature": {"features": []},
        "migrating": {"zkMigrationReady": True},
    }.items():
        talk.sweep(case, ApiKey.CONTROLLER_REGISTRATION, {**good, **more})


PRINCIPAL = struct.pack(">h", 0) + b"\5User\5anna\0\0"


def sealed(data: bytes, principal: bytes | None = PRINCIPAL, address: bytes = b"\x7f\0\0\1") -> Body:
    encoded = [None if part is None else base64.b64encode(part).decode() for part in (data, principal, address)]
    return dict(zip(("requestData", "requestPrincipal", "clientHostAddress"), encoded, strict=True))


def envelopes(talk: Talk) -> None:
    """Requests that a broker forwards, and requests that it must not forward (KIP-590)."""
    quorum = request_header(ApiKey.DESCRIBE_QUORUM, 0) + b"\1\0"
    update = request_header(ApiKey.UNREGISTER_BROKER, 0) + struct.pack(">i", 78) + b"\0"
    for case, (data, principal, address) in {
        "good": (update, PRINCIPAL, b"\x7f\0\0\1"),
        "good, IPv6": (update, PRINCIPAL, b"\0" * 15 + b"\1"),
        "nobody": (update, b"", b"\x7f\0\0\1"),
        "null principal": (update, None, b"\x7f\0\0\1"),
        "principal of version 9": (update, struct.pack(">h", 9) + PRINCIPAL[2:], b"\x7f\0\0\1"),
        "principal cut": (update, PRINCIPAL[:5], b"\x7f\0\0\1"),
        "no address": (update, PRINCIPAL, b""),
        "address of 5 bytes": (update, PRINCIPAL, b"12345"),
        "nothing inside": (b"", PRINCIPAL, b"\x7f\0\0\1"),
        "noise inside": (bytes(range(40, 90)), PRINCIPAL, b"\x7f\0\0\1"),
        "cut inside": (update[:-3], PRINCIPAL, b"\x7f\0\0\1"),
        "bytes left over inside": (update + b"left over", PRINCIPAL, b"\x7f\0\0\1"),
        "unknown version inside": (head(ApiKey.UNREGISTER_BROKER, 9) + b"\0\0\0\0\0", PRINCIPAL, b"\x7f\0\0\1"),
        "unknown request inside": (head(200, 0), PRINCIPAL, b"\x7f\0\0\1"),
        "Heartbeat inside": (head(12, 0) + b"\0" * 8, PRINCIPAL, b"\x7f\0\0\1"),
        "Vote inside": (request_header(ApiKey.VOTE, 0) + b"\0\1\0", PRINCIPAL, b"\x7f\0\0\1"),
        "ApiVersions inside": (head(ApiKey.API_VERSIONS, 0), PRINCIPAL, b"\x7f\0\0\1"),
        "Envelope inside": (request_header(ApiKey.ENVELOPE, 0) + b"\1\0\1\0", PRINCIPAL, b"\x7f\0\0\1"),
        "DescribeQuorum inside": (quorum, PRINCIPAL, b"\x7f\0\0\1"),
    }.items():
        with talk.line() as line:
            talk.ask(case, ApiKey.ENVELOPE, 0, sealed(data, principal, address), line=line)


def not_served_here(talk: Talk) -> None:
    """Requests of clients, of no client, and of unknown versions."""
    for case, (api, version, rest) in {
        "Produce": (0, 9, b"\0" * 20),
        "Metadata": (3, 9, b"\0\1\0\0\0\0"),
        "ListOffsets": (2, 6, b"\0" * 20),
        "FindCoordinator": (10, 3, b"\0\2a\0\0"),
        "JoinGroup": (11, 5, b"\0" * 40),
        "LeaderAndIsr": (4, 0, b""),
        "DescribeLogDirs": (35, 1, b"\xff\xff\xff\xff"),
        "DescribeTopicPartitions": (75, 0, b"\0\1\0\0\0\0\xff\0"),
        "key 200": (200, 0, b""),
        "key -1": (-1, 0, b""),
        "Vote 99": (52, 99, b"\0\0\0"),
        "Vote -1": (52, -1, b"\0\0\0"),
        "Fetch 3": (1, 3, b"\0" * 40),
        "Fetch 99": (1, 99, b"\0" * 40),
        "AlterPartition 99": (56, 99, b"\0" * 20),
        "BrokerHeartbeat 99": (63, 99, b"\0" * 20),
        "Envelope 1": (58, 1, b"\0" * 20),
        "Vote cut": (52, 0, b"\0"),
        "BrokerHeartbeat cut": (63, 0, b"\0\0\0"),
    }.items():
        with talk.line() as line:
            line.send_frame(head(api, version) + rest)
            answer = line.receive_frame()
            talk.note(case, answer if isinstance(answer, str) else f"{len(answer)} bytes")
    for version in (5, 99, -1):
        with talk.line() as line:
            line.send_frame(head(ApiKey.API_VERSIONS, version) + b"\0\2a\2b\0")
            _then_others(talk, line, version)


def _then_others(talk: Talk, line: Line, version: int) -> None:
    answer = line.receive_frame()
    talk.note(f"ApiVersions {version}", answer if isinstance(answer, str) else read_answer(answer, 18, 0))
