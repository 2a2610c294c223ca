"""The quorum's RPCs, as members say them: what is right in every respect, and each respect in which it can be wrong."""

from __future__ import annotations

from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.talk import Body, Talk
from tests.support.node_process import CLUSTER_ID

TOPIC, TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
OTHER_ID = "AAAAAAAAAAAAAAAAAAAAfw"
NODE_ID, OTHER_VOTER, STRANGER = 1, 2, 77
OTHER_CLUSTER = "zzzzzzzzzzzzzzzzzzzzzz"


def fetch(epoch: int, offset: int = 0, last_epoch: int = 0, *, replica: int = OTHER_VOTER, **more: Any) -> Body:
    """A replica's Fetch. ``more`` replaces fields of the partition, or else of the request."""
    partition = {
        "partition": 0,
        "currentLeaderEpoch": epoch,
        "fetchOffset": offset,
        "lastFetchedEpoch": last_epoch,
        "partitionMaxBytes": 0,
    }
    topic = {"topic": TOPIC, "topicId": TOPIC_ID, "partitions": [_replace(partition, more)]}
    request = {
        "clusterId": CLUSTER_ID,
        "replicaId": replica,
        "replicaState": {"replicaId": replica, "replicaEpoch": -1},
        "maxWaitMs": 0,
        "maxBytes": 2**23,
        "topics": [topic],
    }
    return {**request, **more}


def fetch_snapshot(epoch: int, end: int, end_epoch: int, *, replica: int = OTHER_VOTER, **more: Any) -> Body:
    partition = {
        "partition": 0,
        "currentLeaderEpoch": epoch,
        "snapshotId": {"endOffset": end, "epoch": end_epoch},
        "position": 0,
    }
    topic = {"name": TOPIC, "partitions": [_replace(partition, more)]}
    return {"clusterId": CLUSTER_ID, "replicaId": replica, "maxBytes": 2**23, "topics": [topic], **more}


def vote(epoch: int, last_offset: int = 0, last_epoch: int = 0, *, candidate: int = OTHER_VOTER, **more: Any) -> Body:
    partition = {
        "partitionIndex": 0,
        "replicaEpoch": epoch,
        "replicaId": candidate,
        "lastOffsetEpoch": last_epoch,
        "lastOffset": last_offset,
    }
    topic = {"topicName": TOPIC, "partitions": [_replace(partition, more)]}
    return {"clusterId": CLUSTER_ID, "voterId": NODE_ID, "topics": [topic], **more}


def begin(epoch: int, leader: int = OTHER_VOTER, **more: Any) -> Body:
    partition = {"partitionIndex": 0, "leaderId": leader, "leaderEpoch": epoch}
    topic = {"topicName": TOPIC, "partitions": [_replace(partition, more)]}
    return {"clusterId": CLUSTER_ID, "voterId": NODE_ID, "topics": [topic], **more}


def end(epoch: int, leader: int = OTHER_VOTER, successors: tuple[int, ...] = (), **more: Any) -> Body:
    partition = {
        "partitionIndex": 0,
        "leaderId": leader,
        "leaderEpoch": epoch,
        "preferredSuccessors": list(successors),
        "preferredCandidates": [{"candidateId": each} for each in successors],
    }
    topic = {"topicName": TOPIC, "partitions": [_replace(partition, more)]}
    return {"clusterId": CLUSTER_ID, "topics": [topic], **more}


def _replace(partition: Body, more: Body) -> Body:
    """The partition with the fields of ``more`` that it can have, which are taken out of there."""
    own = ("replicaDirectoryId", "voterDirectoryId", "preVote", "highWatermark")
    return {**partition, **{name: more.pop(name) for name in list(more) if name in partition or name in own}}


def misaddressed(body: Body) -> dict[str, Body]:
    """A good request, but for another cluster or about another log."""
    topic = body["topics"][0]
    partition = topic["partitions"][0]
    other = {
        name: {"topicName": "other", "name": "other", "topic": "other", "topicId": OTHER_ID}.get(name, value)
        for name, value in topic.items()
    }
    index = "partition" if "partition" in partition else "partitionIndex"
    return {
        "other cluster": {**body, "clusterId": OTHER_CLUSTER},
        "empty cluster": {**body, "clusterId": ""},
        "no cluster": {**body, "clusterId": None},
        "no topic": {**body, "topics": []},
        "topic twice": {**body, "topics": [topic, topic]},
        "other topic": {**body, "topics": [other]},
        "no partition": {**body, "topics": [{**topic, "partitions": []}]},
        "partition twice": {**body, "topics": [{**topic, "partitions": [partition, partition]}]},
        "partition 1": {**body, "topics": [{**topic, "partitions": [{**partition, index: 1}]}]},
        "partition -1": {**body, "topics": [{**topic, "partitions": [{**partition, index: -1}]}]},
        "other cluster, no topic": {**body, "clusterId": OTHER_CLUSTER, "topics": []},
    }


def present_epoch(talk: Talk) -> int:
    answer = talk.tell(ApiKey.FETCH, fetch(0))
    return int(answer["responses"][0]["partitions"][0]["currentLeader"]["leaderEpoch"])


def _without_amounts(answer: Body) -> Body:
    """How much is in the two logs is not the same."""
    for topic in answer["responses"]:
        for partition in topic["partitions"]:
            partition["records"] = bool(partition["records"])
            partition["highWatermark"] = partition["highWatermark"] > 0
            divergence = partition.get("divergingEpoch")
            if divergence:
                divergence["endOffset"] = divergence["endOffset"] > 0
    return answer


def replica_fetch(talk: Talk) -> None:
    """At the leader of a quorum of its own."""
    epoch = present_epoch(talk)
    end_offset = talk.tell(ApiKey.FETCH, fetch(epoch))["responses"][0]["partitions"][0]["highWatermark"]
    cases = {
        "all": fetch(epoch),
        "the end": fetch(epoch, end_offset, epoch),
        "the end, older epoch": fetch(epoch, end_offset, 0),
        "beyond the end": fetch(epoch, end_offset + 1, epoch),
        "far beyond the end": fetch(epoch, 2**62, epoch),
        "within a batch": fetch(epoch, 2, epoch),
        "offset 1 of epoch 0": fetch(epoch, 1, 0),
        "offset 0 of this epoch": fetch(epoch, 0, epoch),
        "offset -1": fetch(epoch, -1, epoch),
        "last epoch -1": fetch(epoch, 1, -1),
        "last epoch newer": fetch(epoch, 1, epoch + 1),
        "epoch stale": fetch(epoch - 1, 1, 0),
        "epoch -1": fetch(-1, 0, 0),
        "epoch unknown": fetch(epoch + 1, 1, epoch),
        "epoch unknown, last epoch too": fetch(epoch + 1, 1, epoch + 1),
        "observer": fetch(epoch, replica=STRANGER),
        "nobody": fetch(epoch, replica=-1),
        "itself": fetch(epoch, replica=NODE_ID),
        "itself, the end": fetch(epoch, end_offset, epoch, replica=NODE_ID),
        "wait -1": fetch(epoch, maxWaitMs=-1),
        "wait -1, epoch stale": fetch(epoch - 1, 0, 0, maxWaitMs=-1),
        "wait 100": fetch(epoch, end_offset, epoch, maxWaitMs=100),
        "wait 100, all": fetch(epoch, maxWaitMs=100),
        "wait 100, diverging": fetch(epoch, end_offset, 0, maxWaitMs=100),
        "wait 100, high watermark 0": fetch(epoch, end_offset, epoch, maxWaitMs=100, highWatermark=0),
        "wait 100, high watermark -1": fetch(epoch, end_offset, epoch, maxWaitMs=100, highWatermark=-1),
        "no bytes": fetch(epoch, maxBytes=0),
        "bytes -1": fetch(epoch, maxBytes=-1),
        "in a session": fetch(epoch, sessionId=5, sessionEpoch=3),
        "with a directory": fetch(epoch, replicaDirectoryId=OTHER_ID),
        **misaddressed(fetch(epoch)),
    }
    for case, body in cases.items():
        for version in talk.versions(ApiKey.FETCH):
            talk.ask(case, ApiKey.FETCH, version, body, relevant=_without_amounts)
