"""/brokers/topics: the assignment of each topic, and the state of each partition.

Version 3 of a topic has its id (KIP-516), version 2 the replicas that a reassignment adds and removes (KIP-455). The
version of a state's znode is the partition epoch.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import attrs

from kraft.wire.uuids import uuid_to_text
from kraft.zookeeper.znodes.fields import MalformedZnode, check_text, decode_object, encode_json

TOPICS = "/brokers/topics"
NO_LEADER = -1
LEADER_DURING_DELETE = -2
EPOCH_DURING_DELETE = -2
RECOVERED = 0
RECOVERING = 1
"""After an unclean election (KIP-704)."""


@attrs.frozen
class ReplicaAssignment:
    """The replicas of a partition, preferred leader first, and those that a reassignment adds and removes (KIP-455)."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def origin(self) -> tuple[int, ...]:
        return tuple(each for each in self.replicas if each not in self.adding)

    def reassigned_to(self, target: tuple[int, ...]) -> ReplicaAssignment:
        """The assignment during a reassignment to ``target``, whose replicas come first."""
        replicas = tuple(dict.fromkeys((*target, *self.origin)))
        return ReplicaAssignment(
            replicas,
            tuple(each for each in replicas if each not in self.origin),
            tuple(each for each in self.origin if each not in target),
        )


@attrs.frozen
class TopicAssignment:
    """The data of /brokers/topics/T. Topics of brokers before 2.8 have no id."""

    topic_id: UUID | None
    partitions: Mapping[int, ReplicaAssignment]


@attrs.frozen
class PartitionState:
    """The data of a partition's state znode, and the version of the znode."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    recovery_state: int = RECOVERED
    partition_epoch: int = 0


def topic_path(topic: str) -> str:
    return f"{TOPICS}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS}/{topic}/partitions"


def partition_path(topic: str, index: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{index}"


def state_path(topic: str, index: int) -> str:
    return f"{TOPICS}/{topic}/partitions/{index}/state"


def encode_topic(topic: TopicAssignment) -> bytes:
    assigned = sorted(topic.partitions.items())
    values: dict[str, object] = {"partitions": {str(index): each.replicas for index, each in assigned}}
    if topic.topic_id is not None:
        values["topic_id"] = uuid_to_text(topic.topic_id)
    values["adding_replicas"] = {str(index): each.adding for index, each in assigned if each.adding}
    values["removing_replicas"] = {str(index): each.removing for index, each in assigned if each.removing}
    values["version"] = 3
    return encode_json(values)


def decode_topic(topic: str, data: bytes | None) -> TopicAssignment:
    """Read every version. Raises MalformedZnode."""
    check_text(TOPICS, topic)
    fields = decode_object(topic_path(topic), data)
    partitions = fields.object("partitions")
    adding, removing = fields.object("adding_replicas"), fields.object("removing_replicas")
    return TopicAssignment(
        fields.uuid("topic_id") if "topic_id" in fields else None,
        {
            index: ReplicaAssignment(
                partitions.integers(name),
                adding.integers(name) if name in adding else (),
                removing.integers(name) if name in removing else (),
            )
            for index, name in partitions.indexes()
        },
    )


def encode_state(state: PartitionState) -> bytes:
    values: dict[str, object] = {
        "controller_epoch": state.controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": state.isr,
    }
    if state.recovery_state != RECOVERED:
        values["leader_recovery_state"] = state.recovery_state
    return encode_json(values)


def decode_state(topic: str, index: int, data: bytes | None, version: int) -> PartitionState:
    """Read the data of a state's znode with this version. Raises MalformedZnode."""
    fields = decode_object(state_path(topic, index), data)
    recovery_state = fields.integer("leader_recovery_state", RECOVERED)
    if recovery_state not in (RECOVERED, RECOVERING):
        raise MalformedZnode(fields.path, f"leader_recovery_state is {recovery_state}")
    return PartitionState(
        leader=fields.integer("leader"),
        leader_epoch=fields.integer("leader_epoch"),
        isr=fields.integers("isr"),
        controller_epoch=fields.integer("controller_epoch"),
        recovery_state=recovery_state,
        partition_epoch=version,
    )
