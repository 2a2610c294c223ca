"""The election of the controller, and its first decisions (KafkaController.elect and onControllerFailover)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from kraft.controller.context import Randomness
from kraft.zookeeper.controller.active import MAX_ATTEMPTS, ActiveController, LegacyControllerConfig, Uuids, znode_of
from kraft.zookeeper.controller.brokers import add_broker, read_brokers
from kraft.zookeeper.controller.effects import Steps
from kraft.zookeeper.controller.elections import without
from kraft.zookeeper.controller.partitions import bring_online, elect
from kraft.zookeeper.controller.topics import read_topics
from kraft.zookeeper.operations import Check, Create, Delete, Get, Multi, Set
from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.cluster import FEATURE, FinalizedFeatures, decode_features, encode_features
from kraft.zookeeper.znodes.controllers import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    INITIAL_EPOCH,
    ControllerZnode,
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.notifications import ISR_CHANGES, LOG_DIR_EVENTS

NO_CONTROLLER = -1


@attrs.frozen
class Elected:
    """The controller: this broker in a new epoch if ``epoch`` is set. The broker is -1 if there is no controller."""

    broker_id: int
    epoch: int | None = None
    epoch_version: int = 0


def stand_for_election(config: LegacyControllerConfig, timestamp_ms: int, is_active: bool) -> Steps[Elected]:
    """Create /controller and raise the epoch in one transaction, unless there is a controller.

    The transaction is conditional on the version of /controller_epoch, so two brokers never get the same epoch. A
    /controller of this broker that ``is_active`` denies is left from an earlier epoch, and is deleted.
    Raises MalformedZnode, ReadRefused.
    """
    attempted: int | None = None
    for _ in range(MAX_ATTEMPTS):
        # The epoch first, so that it is not that of a later controller.
        read = yield Get(CONTROLLER_EPOCH, watch=True), Get(CONTROLLER, watch=True)
        epoch_node, controller = znode_of(CONTROLLER_EPOCH, read[0]), znode_of(CONTROLLER, read[1])
        epoch = decode_controller_epoch(epoch_node.data) if epoch_node is not None else INITIAL_EPOCH
        if controller is not None:
            broker_id = decode_controller(controller.data).broker_id
            if broker_id == config.broker_id and epoch == attempted and epoch_node is not None:
                # The transaction succeeded, but a lost connection hid that.
                return Elected(broker_id, epoch, epoch_node.version)
            if broker_id != config.broker_id or is_active:
                return Elected(broker_id)
            delete = Delete(CONTROLLER, controller.version)
            # Every /controller has version 0, so only the epoch tells that of another broker, elected meanwhile.
            guard = () if epoch_node is None else (Check(CONTROLLER_EPOCH, epoch_node.version),)
            yield (Multi((*guard, delete)),)
            continue
        if epoch_node is None:
            yield (Create(CONTROLLER_EPOCH, encode_controller_epoch(INITIAL_EPOCH)),)
            continue
        attempted = epoch + 1
        registration = encode_controller(ControllerZnode(config.broker_id, timestamp_ms))
        create = Create(CONTROLLER, registration, ephemeral=True)
        raised = Set(CONTROLLER_EPOCH, encode_controller_epoch(attempted), epoch_node.version)
        (result,) = yield (Multi((create, raised)),)
        version = result[1] if isinstance(result, tuple) else None
        if isinstance(version, int):
            return Elected(config.broker_id, attempted, version)
    return Elected(NO_CONTROLLER)


def take_over(
    config: LegacyControllerConfig, elected: Elected, new_uuid: Uuids, random: Randomness
) -> ActiveController:
    assert elected.epoch is not None
    return ActiveController(config, elected.epoch, elected.epoch_version, new_uuid, random)


def initialise(active: ActiveController) -> Steps[None]:
    """Read the cluster, send every replica its state, and lead partitions that have no leader.

    Each read sets its watch first, so no later change goes unseen.
    """
    yield from _enable_features(active)
    yield from _delete_notifications(active, (LOG_DIR_EVENTS, ISR_CHANGES))
    for broker_id, broker in (yield from read_brokers(active)).items():
        add_broker(active, broker_id, broker)
    yield from read_topics(active)
    cluster = active.cluster
    yield from active.read_states((yield from active.partitions(lambda *_: True)))
    active.send_live_brokers(active.queues)
    hosted: dict[int, list[TopicPartition]] = {}
    """The partitions of each broker that is gone."""
    for partition, assignment in cluster.partitions():
        if partition not in cluster.states:
            continue
        yield from active.send_leader_and_isr(assignment.replicas, partition)
        for broker_id in assignment.replicas:
            if broker_id not in cluster.brokers:
                hosted.setdefault(broker_id, []).append(partition)
    yield from bring_online(active)
    for broker_id, partitions in sorted(hosted.items()):
        yield from elect(active, partitions, without(broker_id))


def _enable_features(active: ActiveController) -> Steps[None]:
    """Create or enable /feature, as a controller of 2.7 or newer does (KIP-584)."""
    (node,) = yield from active.read((FEATURE,))
    enabled = encode_features(FinalizedFeatures(is_enabled=True))
    try:
        if node is None:
            yield from active.write([Create(FEATURE, enabled)])
        elif not decode_features(node.data).is_enabled:
            yield from active.write([Set(FEATURE, enabled, node.version)])
    except MalformedZnode as error:
        active.note(f"{error}; it is left as it is")


def _delete_notifications(active: ActiveController, parents: Sequence[str]) -> Steps[None]:
    """Notifications from before this epoch: the new controller reads all states anyway."""
    for parent in parents:
        names = yield from active.children(parent)
        yield from active.write([Delete(f"{parent}/{name}") for name in names])
