"""The replicas of new partitions: as the controller places them, or as the request assigns them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from uuid import UUID

from kraft.controller.context import Context
from kraft.controller.partition_change import default_directory
from kraft.messages.partition_record import PartitionRecord
from kraft.metadata.partitions import Partition
from kraft.metadata.records_of import partition_record
from kraft.wire.errors import ErrorCode, KafkaError


def new_partition(context: Context, topic_id: UUID, index: int, replicas: Sequence[int]) -> PartitionRecord:
    """The record of a new partition: the active replicas are its ISR, the first of them leads.

    Raises KafkaError INVALID_REPLICA_ASSIGNMENT if no replica is active.
    """
    isr = tuple(replica for replica in replicas if replica in context.active)
    if not isr:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
            "controlled shutdown.",
        )
    partition = Partition(
        replicas=tuple(replicas),
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=tuple(default_directory(context, replica) for replica in replicas),
    )
    return partition_record(topic_id, index, partition)


def check_manual(brokers: Container[int], replicas: Sequence[int], replication_factor: int | None) -> None:
    """Raise KafkaError INVALID_REPLICA_ASSIGNMENT unless ``replicas`` are that many different ``brokers``."""
    if not replicas:
        _refuse("The manual partition assignment includes an empty replica list.")
    if len(set(replicas)) != len(replicas):
        _refuse("The manual partition assignment names a broker more than once.")
    for broker_id in replicas:
        if broker_id not in brokers:
            _refuse(f"The manual partition assignment includes broker {broker_id}, but no such broker is registered.")
    if replication_factor is not None and len(replicas) != replication_factor:
        _refuse(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {replication_factor} replica(s)."
        )


def _refuse(message: str) -> None:
    raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
