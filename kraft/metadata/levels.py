"""The record versions in which the metadata log is written.

They are the same for every metadata.version from 17 (3.7-IV2, which gave directories ids) to 21 (3.9-IV0), and that
is the range a controller here is active at. A record type that is not listed is written at version 0.
"""

from __future__ import annotations

from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord

#: The levels of metadata.version, both included, at which a controller can write.
WRITABLE_LEVELS = (17, 21)

_RECORD_VERSIONS: dict[type, int] = {
    RegisterBrokerRecord: 3,  # log directories (KIP-858)
    PartitionRecord: 1,  # a directory for each replica
    PartitionChangeRecord: 1,
    BrokerRegistrationChangeRecord: 2,
}


def record_version(record: object) -> int:
    """Return the version in which ``record`` is written."""
    return _RECORD_VERSIONS.get(type(record), 0)
