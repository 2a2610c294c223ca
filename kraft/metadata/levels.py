"""The features of each level of metadata.version, and the versions in which records are written.

A record is written in the lowest version that holds all of its fields. The controller leaves out the fields that the
cluster's level does not have, so no record has a version that its level lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kraft.config.features import MAX_METADATA_LEVEL, MIN_METADATA_LEVEL
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord

#: The levels of metadata.version, both included, at which a controller can write.
WRITABLE_LEVELS = (MIN_METADATA_LEVEL, MAX_METADATA_LEVEL)

#: A record has whether the cluster was migrated from ZooKeeper (KIP-866).
MIGRATION_STATE = 8
#: A replica that leaves the ISR no longer costs a leader epoch (KAFKA-15021).
EPOCH_OUTLIVES_ISR = 12
#: Metadata transactions (KIP-868).
TRANSACTIONS = 13
#: Controllers register (KIP-919).
CONTROLLER_REGISTRATION = 15
#: Brokers report their log directories, and partitions hold the directory of each replica (KIP-858).
DIRECTORIES = 17
#: Partitions may have eligible leader replicas, if the feature of that name allows it (KIP-966).
ELIGIBLE_LEADERS = 23
#: Brokers report their cordoned log directories (KIP-1066).
CORDONED_DIRECTORIES = 30

#: The levels that added fields to records. A downgrade below one of them could lose their content.
_CHANGED_RECORDS = frozenset(
    {
        MIGRATION_STATE,
        11,
        TRANSACTIONS,
        14,
        CONTROLLER_REGISTRATION,
        DIRECTORIES,
        ELIGIBLE_LEADERS,
        CORDONED_DIRECTORIES,
    }
)


def can_go_back(level: int, lower: int) -> bool:
    """Whether the records of a cluster at ``level`` also fit a ``lower`` level."""
    return not any(lower < changed <= level for changed in _CHANGED_RECORDS)


def record_version(record: object) -> int:
    """Return the version in which ``record`` is written."""
    version = _VERSIONS.get(type(record))
    return 0 if version is None else version(record)


def _register_broker_version(record: RegisterBrokerRecord) -> int:
    if record.cordoned_log_dirs is not None:
        return 4
    return 3 if record.log_dirs else 2 if record.is_migrating_zk_broker else 1


def _partition_version(record: PartitionRecord) -> int:
    return 1 if record.directories else 0


def _partition_change_version(record: PartitionChangeRecord) -> int:
    return 0 if record.directories is None else 1


def _registration_change_version(record: BrokerRegistrationChangeRecord) -> int:
    if record.cordoned_log_dirs is not None:
        return 3
    return 2 if record.log_dirs else 1 if record.in_controlled_shutdown else 0


_VERSIONS: dict[type, Callable[[Any], int]] = {
    RegisterBrokerRecord: _register_broker_version,
    PartitionRecord: _partition_version,
    PartitionChangeRecord: _partition_change_version,
    BrokerRegistrationChangeRecord: _registration_change_version,
}
