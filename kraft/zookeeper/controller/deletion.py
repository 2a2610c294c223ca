"""The deletion of topics (Kafka's TopicDeletionManager).

A topic in /admin/delete_topics is deleted once every replica has confirmed a StopReplica with ``deletePartition``.
Replicas of a broker that is down, or that failed to delete, are asked again when their broker has started again.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraft.messages.stop_replica_request import StopReplicaRequest
from kraft.messages.stop_replica_response import StopReplicaResponse
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.cluster import TopicDeletion
from kraft.zookeeper.controller.effects import ReadRefused, Steps
from kraft.zookeeper.operations import Delete, Failure, ZnodeChanged
from kraft.zookeeper.znodes.admin import DELETE_TOPICS, delete_topic_path
from kraft.zookeeper.znodes.cluster import config_path
from kraft.zookeeper.znodes.topics import partitions_path, topic_path


def deletions_changed(active: ActiveController) -> Steps[None]:
    """Begin the deletions that were asked for since the last look; drop those of unknown topics."""
    names = yield from active.children(DELETE_TOPICS)
    dropped = [each for each in names if each not in active.cluster.topics or not active.config.deletes_topics]
    if dropped:
        active.note(f"ignored the deletion of {len(dropped)} topics, first {dropped[0]}")
        yield from active.write([Delete(delete_topic_path(each)) for each in dropped])
    for topic in names:
        if topic not in dropped:
            active.cluster.deletions.setdefault(topic, TopicDeletion())
    yield from resume_deletions(active)


def resume_deletions(active: ActiveController) -> Steps[None]:
    """Ask each online replica that has not been asked, and complete each deletion that all replicas confirmed.

    All brokers learn first that the topic goes, also if none of its replicas is online. A topic that is being
    reassigned waits for the end of that.
    """
    for topic, deletion in list(active.cluster.deletions.items()):
        partitions = active.cluster.topics[topic].partitions
        replicas = {(index, broker_id) for index, each in partitions.items() for broker_id in each.replicas}
        if any(each.is_reassigned for each in partitions.values()):
            continue
        if replicas <= deletion.deleted:
            yield from _complete(active, topic)
            continue
        waiting = replicas - deletion.asked - deletion.deleted - deletion.failed
        able = sorted(each for each in waiting if active.cluster.is_online(each[1], (topic, each[0])))
        if not deletion.is_announced:
            deletion.is_announced = True
            yield from active.send_metadata(active.queues, [(topic, index) for index in partitions])
        for index, broker_id in able:
            deletion.asked.add((index, broker_id))
            active.send_stop((broker_id,), (topic, index), deletes=True)


def replicas_stopped(
    active: ActiveController, broker_id: int, request: StopReplicaRequest, response: StopReplicaResponse
) -> Steps[None]:
    """Note which replicas a broker has deleted, and which it has not."""
    failures = {(each.topic_name, each.partition_index): each.error_code for each in response.partition_errors}
    for topic in request.topic_states:
        deletion = active.cluster.deletions.get(topic.topic_name)
        for stopped in topic.partition_states:
            replica = stopped.partition_index, broker_id
            if deletion is None or not stopped.delete_partition or replica not in deletion.asked:
                continue
            deletion.asked.discard(replica)
            code = response.error_code or failures.get((topic.topic_name, stopped.partition_index), ErrorCode.NONE)
            (deletion.failed if code else deletion.deleted).add(replica)
    yield from resume_deletions(active)


def forget_requests(active: ActiveController, broker_ids: Iterable[int]) -> None:
    """The requests to these brokers are void: ask again after their next start."""
    for deletion in active.cluster.deletions.values():
        for lost in (deletion.asked, deletion.failed):
            lost -= {each for each in lost if each[1] in broker_ids}


def _complete(active: ActiveController, topic: str) -> Steps[None]:
    """Delete the topic's znodes, then its configuration, then the request to delete it.

    A failure ends this, and the topic stays in the deletions: the next event that resumes them tries again. After a
    write that ZooKeeper refused, that event comes after a pause.
    """
    try:
        indexes = yield from active.children(partitions_path(topic), watch=False)
    except ReadRefused as error:
        active.note(f"{error}; the deletion of {topic} waits")
        active.effects.repeated.append(ZnodeChanged(DELETE_TOPICS))
        return
    paths = [f"{partitions_path(topic)}/{index}{end}" for index in indexes for end in ("/state", "")]
    paths += [partitions_path(topic), topic_path(topic)]
    for each in (paths, [config_path("topics", topic)], [delete_topic_path(topic)]):
        results = yield from active.write([Delete(path) for path in each])
        for path, result in zip(each, results, strict=True):
            if result not in (None, Failure.NO_NODE):  # NO_NODE also if the response to the deletion was lost
                why = result.value if isinstance(result, Failure) else result
                active.note(f"cannot delete {path}: {why}; the deletion of {topic} stays incomplete")
                if result is Failure.REFUSED:
                    active.effects.repeated.append(ZnodeChanged(DELETE_TOPICS))
                return
    active.cluster.forget_topic(topic)
