"""The quorum's RPCs as members send them: a valid request, and one invalid request for each field."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.talk import Body, Talk
from tests.support.cluster_id import CLUSTER_ID
from tests.support.eventually import eventually

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
    """A valid request to another cluster or another log."""
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
    answer = talk.prepare(ApiKey.FETCH, fetch(0))
    return int(answer["responses"][0]["partitions"][0]["currentLeader"]["leaderEpoch"])


def _in_present(epoch: int) -> Callable[[Body], Body]:
    """An answer without how much is in the log, and how often its leader was elected: other scenarios change that."""

    def relevant(answer: Body) -> Body:
        for topic in answer["responses"]:
            for partition in topic["partitions"]:
                partition["records"] = bool(partition["records"])
                partition["highWatermark"] = partition["highWatermark"] > 0
                partition["currentLeader"]["leaderEpoch"] -= epoch
                if "snapshotId" in partition:
                    partition["snapshotId"] = "some"
                diverging = partition.get("divergingEpoch", {"epoch": 0})
                if diverging["epoch"] == epoch:
                    diverging.update({"epoch": "present", "endOffset": "the end"})
        return answer

    return relevant


def replica_fetch(talk: Talk) -> None:
    """At the leader of a quorum of its own."""
    newest_snapshot(talk)
    epoch = present_epoch(talk)
    end_offset = talk.prepare(ApiKey.FETCH, fetch(epoch, 1, 1))["responses"][0]["partitions"][0]["highWatermark"]
    cases = {
        "all": fetch(epoch),
        "from 1 on": fetch(epoch, 1, 1),
        "the end": fetch(epoch, end_offset, epoch),
        "the end, older epoch": fetch(epoch, end_offset, 0),
        "beyond the end": fetch(epoch, end_offset + 1, epoch),
        "far beyond the end": fetch(epoch, 2**62, epoch),
        "within a batch": fetch(epoch, 2, epoch),
        "offset 9 of epoch 0": fetch(epoch, 9, 0),
        "offset 0 of this epoch": fetch(epoch, 0, epoch),
        "offset -1": fetch(epoch, -1, epoch),
        "last epoch -1": fetch(epoch, 1, -1),
        "last epoch newer": fetch(epoch, 1, epoch + 1),
        "epoch stale": fetch(epoch - 1, 1, 0),
        "epoch -1": fetch(-1, 0, 0),
        "epoch unknown": fetch(epoch + 1, 1, epoch),
        "epoch unknown, last epoch too": fetch(epoch + 1, 1, epoch + 1),
        "observer": fetch(epoch, 1, 1, replica=STRANGER),
        "nobody": fetch(epoch, 1, 1, replica=-1),
        "itself": fetch(epoch, 1, 1, replica=NODE_ID),
        "itself, the end": fetch(epoch, end_offset, epoch, replica=NODE_ID),
        "wait -1": fetch(epoch, maxWaitMs=-1),
        "wait -1, epoch stale": fetch(epoch - 1, 0, 0, maxWaitMs=-1),
        "wait 100": fetch(epoch, end_offset, epoch, maxWaitMs=100),
        "wait 100, from 1 on": fetch(epoch, 1, 1, maxWaitMs=100),
        "wait 100, diverging": fetch(epoch, end_offset, 0, maxWaitMs=100),
        "wait 100, high watermark 0": fetch(epoch, end_offset, epoch, maxWaitMs=100, highWatermark=0),
        "wait 100, high watermark -1": fetch(epoch, end_offset, epoch, maxWaitMs=100, highWatermark=-1),
        "no bytes": fetch(epoch, 1, 1, maxBytes=0),
        "bytes -1": fetch(epoch, 1, 1, maxBytes=-1),
        "in a session": fetch(epoch, 1, 1, sessionId=5, sessionEpoch=3),
        "with a directory": fetch(epoch, 1, 1, replicaDirectoryId=OTHER_ID),
        **misaddressed(fetch(epoch)),
    }
    for case, body in cases.items():
        for version in talk.versions(ApiKey.FETCH):
            talk.ask(case, ApiKey.FETCH, version, body, relevant=_in_present(epoch))


def newest_snapshot(talk: Talk) -> tuple[int, int]:
    """End offset and epoch; nodes begin with one that has offset and epoch 0, which is not to be had."""

    def found() -> list[tuple[int, int]]:
        names = [each.stem for each in talk.side.metadata_directory.glob("*.checkpoint")]
        return sorted(snapshot for name in names if (snapshot := (int(name[:20]), int(name[21:]))) > (0, 0))

    return eventually(found)[-1]


def replica_fetch_snapshot(talk: Talk) -> None:
    """At the leader of a quorum of its own. Apache ends at a request for -1 bytes, from itself, or for nothing."""
    end_offset, end_epoch = newest_snapshot(talk)
    epoch = present_epoch(talk)
    whole = fetch_snapshot(epoch, end_offset, end_epoch)
    size = talk.prepare(ApiKey.FETCH_SNAPSHOT, whole)["topics"][0]["partitions"][0]["size"]

    def piece(epoch: int = epoch, end: int = end_offset, end_epoch: int = end_epoch, **more: Any) -> Body:
        return fetch_snapshot(epoch, end, end_epoch, **more)

    def relevant(answer: Body) -> Body:
        for topic in answer["topics"]:
            for partition in topic["partitions"]:
                amount = len(base64.b64decode(partition["unalignedRecords"]))
                partition["unalignedRecords"] = "the rest" if amount == size - partition["position"] else amount
                partition["position"] -= size if partition["position"] == size - 1 else 0
                partition["size"] -= size
                known = partition["snapshotId"] == {"endOffset": end_offset, "epoch": end_epoch}
                partition["snapshotId"] = "the newest" if known else partition["snapshotId"]
                if "currentLeader" in partition:
                    partition["currentLeader"]["leaderEpoch"] -= epoch
        return answer

    for case, body in {
        "all": whole,
        "100 bytes": piece(maxBytes=100),
        "100 bytes from 50 on": piece(maxBytes=100, position=50),
        "no bytes": piece(maxBytes=0),
        "position -1": piece(position=-1),
        "the last byte": piece(position=size - 1),
        "at the end": piece(position=size),
        "beyond the end": piece(position=size + 1),
        "far beyond the end": piece(position=2**62),
        "older end": piece(end=end_offset - 1),
        "newer end": piece(end=end_offset + 1),
        "negative end": piece(end=-1),
        "other end epoch": piece(end_epoch=end_epoch + 1),
        "older end epoch": piece(end_epoch=end_epoch - 1),
        "negative end epoch": piece(end_epoch=-1),
        "first snapshot": piece(end=0, end_epoch=0),
        "epoch stale": piece(epoch - 1),
        "epoch unknown": piece(epoch + 1),
        "epoch -1": piece(-1),
        "epoch stale, unknown snapshot": piece(epoch - 1, end=5),
        "position -1, unknown snapshot": piece(end=5, position=-1),
        "observer": piece(replica=STRANGER),
        "nobody": piece(replica=-1),
        **{case: body for case, body in misaddressed(whole).items() if case not in ("no topic", "no partition")},
    }.items():
        for version in talk.versions(ApiKey.FETCH_SNAPSHOT):
            talk.ask(case, ApiKey.FETCH_SNAPSHOT, version, body, relevant=relevant)


def describe_quorum(talk: Talk) -> None:
    epoch = present_epoch(talk)
    api = ApiKey.DESCRIBE_QUORUM

    def relevant(answer: Body) -> Body:
        for topic in answer["topics"]:
            for partition in topic["partitions"]:
                partition["leaderEpoch"] = "present" if partition["leaderEpoch"] == epoch else partition["leaderEpoch"]
                partition["highWatermark"] = partition["highWatermark"] > 0
                # Who fetched in other scenarios is forgotten after minutes.
                partition["observers"] = [each for each in partition["observers"] if each["replicaId"] == NODE_ID]
                for each in (*partition["currentVoters"], *partition["observers"]):
                    each["logEndOffset"] = each["logEndOffset"] > 0
        return without_times(answer)

    good = {"topicName": TOPIC, "partitions": [{"partitionIndex": 0}]}
    for case, topics in {
        "good": [good],
        "no topic": [],
        "topic twice": [good, good],
        "other topic": [{**good, "topicName": "other"}],
        "other topic too": [good, {**good, "topicName": "other"}],
        "no partition": [{**good, "partitions": []}],
        "partition 1": [{**good, "partitions": [{"partitionIndex": 1}]}],
        "partition twice": [{**good, "partitions": [{"partitionIndex": 0}, {"partitionIndex": 0}]}],
    }.items():
        for version in talk.versions(api):
            talk.ask(case, api, version, {"topics": topics}, relevant=relevant)


def without_times(answer: Body) -> Body:
    """The response of DescribeQuorum. Of times only their presence counts."""
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            for each in (*partition["currentVoters"], *partition["observers"]):
                each.update({name: value > 0 for name, value in each.items() if name.endswith("Timestamp")})
    return answer


def change_voters(talk: Talk) -> None:
    """Static voters cannot change, and a broker answers that, too."""
    for case, body in _voters():
        talk.sweep(case, ApiKey.ADD_RAFT_VOTER, body)
        talk.sweep(case, ApiKey.REMOVE_RAFT_VOTER, body)
    for case, more in {
        "no listeners": {"listeners": []},
        "other listener": {"listeners": [{"name": "OTHER", "host": "127.0.0.1", "port": 9093}]},
        "no wait for the commit": {"ackWhenCommitted": False},
        "no time": {"timeoutMs": 0},
    }.items():
        talk.sweep(case, ApiKey.ADD_RAFT_VOTER, {**_voter(OTHER_VOTER), **more})


def update_voters(talk: Talk) -> None:
    """Static voters send no update of themselves. Apache Kafka stops after an update from itself."""
    epoch = present_epoch(talk)

    def update(case: str, body: Body) -> None:
        for version in talk.versions(ApiKey.UPDATE_RAFT_VOTER):
            asked = {"currentLeaderEpoch": epoch, **body}
            talk.ask(case, ApiKey.UPDATE_RAFT_VOTER, version, asked, relevant=relevant)

    def relevant(answer: Body) -> Body:
        answer["currentLeader"]["leaderEpoch"] -= epoch
        return answer

    for case, body in _voters():
        if body["voterId"] != NODE_ID:
            update(case, body)
    for case, more in {
        "no listeners": {"listeners": []},
        "epoch stale": {"currentLeaderEpoch": epoch - 1},
        "epoch unknown": {"currentLeaderEpoch": epoch + 1},
        "versions upside down": {"kRaftVersionFeature": {"minSupportedVersion": 1, "maxSupportedVersion": 0}},
        "version 0 only": {"kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 0}},
    }.items():
        update(case, {**_voter(OTHER_VOTER), **more})


def _voters() -> Iterator[tuple[str, Body]]:
    """Voters of this cluster and of others, as a change of them names them."""
    for voter in (NODE_ID, OTHER_VOTER, -1):
        for cluster in (CLUSTER_ID, None, OTHER_CLUSTER):
            for directory in (OTHER_ID, "AAAAAAAAAAAAAAAAAAAAAA"):
                yield f"voter {voter} of {cluster}, {directory}", _voter(voter, cluster, directory)


def _voter(voter: int, cluster: str | None = CLUSTER_ID, directory: str = OTHER_ID) -> Body:
    return {
        "clusterId": cluster,
        "timeoutMs": 1000,
        "voterId": voter,
        "voterDirectoryId": directory,
        "listeners": [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 9093}],
        "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
    }
