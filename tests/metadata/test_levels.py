"""Versions of records, and the levels of metadata.version with the same meaning."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.metadata.frame import decode_record, encode_record
from kraft.metadata.levels import can_go_back, record_version

SOME = [UUID(int=1000)]


@pytest.mark.parametrize(
    ("record", "version"),
    [
        (RegisterBrokerRecord(), 1),
        (RegisterBrokerRecord(in_controlled_shutdown=True), 1),
        (RegisterBrokerRecord(is_migrating_zk_broker=True), 2),
        (RegisterBrokerRecord(log_dirs=SOME), 3),
        (RegisterBrokerRecord(log_dirs=SOME, cordoned_log_dirs=[]), 4),
        (PartitionRecord(replicas=[1]), 0),
        (PartitionRecord(replicas=[1], directories=SOME), 1),
        (PartitionChangeRecord(isr=[1]), 0),
        (PartitionChangeRecord(directories=SOME), 1),
        (BrokerRegistrationChangeRecord(fenced=1), 0),
        (BrokerRegistrationChangeRecord(in_controlled_shutdown=1), 1),
        (BrokerRegistrationChangeRecord(log_dirs=SOME), 2),
        (BrokerRegistrationChangeRecord(cordoned_log_dirs=[]), 3),
        (NoOpRecord(), 0),
    ],
)
def test_a_record_has_the_lowest_version_for_its_content(record: Any, version: int) -> None:
    """Lower ones can be read by every Kafka that knows the level at which the content came to be."""
    assert record_version(record) == version
    assert decode_record(encode_record(record, version)) == record


@pytest.mark.parametrize(
    ("level", "lower", "possible"),
    [
        (30, 29, False),
        (29, 23, True),
        (23, 22, False),
        (22, 21, True),
        (21, 17, True),
        (21, 16, False),
        (16, 15, True),
        (15, 14, False),
        (14, 13, False),
        (13, 12, False),
        (12, 11, True),
        (11, 10, False),
        (10, 8, True),
        (8, 7, False),
    ],
)
def test_going_back_over_a_change_of_records_could_lose_something(level: int, lower: int, possible: bool) -> None:
    """KIP-778: a downgrade is safe if the lower level supports all records of the metadata."""
    assert can_go_back(level, lower) == possible
