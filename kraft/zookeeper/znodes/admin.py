"""/admin: what tools of that era ask of the controller. A tool creates a znode, and the controller deletes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kraft.zookeeper.znodes.fields import decode_object, encode_json

DELETE_TOPICS = "/admin/delete_topics"
REASSIGN_PARTITIONS = "/admin/reassign_partitions"
PREFERRED_REPLICA_ELECTION = "/admin/preferred_replica_election"

TopicPartition = tuple[str, int]


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS}/{topic}"


def encode_reassignment(targets: Mapping[TopicPartition, tuple[int, ...]]) -> bytes:
    partitions = [
        {"topic": topic, "partition": index, "replicas": replicas} for (topic, index), replicas in targets.items()
    ]
    return encode_json({"version": 1, "partitions": partitions})


def decode_reassignment(data: bytes | None) -> dict[TopicPartition, tuple[int, ...]]:
    """The target replicas of each partition. Raises MalformedZnode."""
    fields = decode_object(REASSIGN_PARTITIONS, data)
    return {
        (each.text("topic"), each.integer("partition")): each.integers("replicas")
        for each in fields.objects("partitions")
    }


def encode_preferred_election(partitions: Iterable[TopicPartition]) -> bytes:
    named = [{"topic": topic, "partition": index} for topic, index in partitions]
    return encode_json({"version": 1, "partitions": named})


def decode_preferred_election(data: bytes | None) -> tuple[TopicPartition, ...]:
    """Raises MalformedZnode."""
    fields = decode_object(PREFERRED_REPLICA_ELECTION, data)
    return tuple((each.text("topic"), each.integer("partition")) for each in fields.objects("partitions"))
