"""The same records through Apache Kafka's own classes: the image must be the same, record by record."""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.clear_elr_record import ClearElrRecord
from kraft.messages.config_record import ConfigRecord
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.fence_broker_record import FenceBrokerRecord
from kraft.messages.no_op_record import NoOpRecord
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.register_broker_record import RegisterBrokerRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.messages.topic_record import TopicRecord
from kraft.messages.unfence_broker_record import UnfenceBrokerRecord
from kraft.messages.unregister_broker_record import UnregisterBrokerRecord
from kraft.messages.zk_migration_state_record import ZkMigrationStateRecord
from kraft.metadata.delta import replay
from kraft.metadata.frame import decode_record, encode_record
from kraft.metadata.image import DIRECTORY_MIGRATING, Image
from kraft.metadata.levels import record_version
from kraft.metadata.records_of import records_of
from tests.metadata.records import histories
from tests.support.fetchers import APACHE_KAFKA, APACHE_KAFKA_WITH_ZOOKEEPER, QUICK_JVM, apache_kafka, require

pytestmark = pytest.mark.interop

PROGRAM = Path(__file__).parent / "java" / "Replay.java"
HISTORIES = 300
RUN_LIMIT_S = 110

#: With directories of replicas and without; the second ones know eligible leaders and cordoned directories.
LEVELS, LATER_LEVELS = (8, 16, 17, 21), (23, 30)

#: Records with more kinds of changes than creation and removal.
CLASSES = (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)


def frames(records: Any) -> list[bytes]:
    return [encode_record(record, record_version(record)) for record in records]


def cases(classes: Collection[type], levels: Collection[int]) -> list[list[Any]]:
    """Histories of clusters at these levels, the same in every run."""
    found: list[list[Any]] = []

    @seed(1)
    @settings(max_examples=HISTORIES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(histories(), st.sampled_from(levels))
    def add(history: list[Any], level: int) -> None:
        known = [record for record in history if type(record) in classes]
        if level < 17:
            known = [without_directories(record) for record in known]
        if level < 30:
            known = [without_cordoned_directories(record) for record in known]
        found.append([FeatureLevelRecord(name="metadata.version", feature_level=level), *known])

    add()
    return found


def without_directories(record: Any) -> Any:
    """The record as it is before metadata.version 17."""
    if isinstance(record, PartitionRecord):
        return record.evolve(directories=[])
    if isinstance(record, PartitionChangeRecord):
        return record.evolve(directories=None)
    if isinstance(record, RegisterBrokerRecord | BrokerRegistrationChangeRecord):
        return record.evolve(log_dirs=[])
    return record


def without_cordoned_directories(record: Any) -> Any:
    """The record as it is before metadata.version 30."""
    if isinstance(record, RegisterBrokerRecord | BrokerRegistrationChangeRecord):
        return record.evolve(cordoned_log_dirs=None)
    return record


def normal(record: Any) -> Any:
    """Sort the unordered parts, and omit the empty ones."""
    if isinstance(record, RegisterBrokerRecord):
        features = sorted(record.features, key=lambda feature: feature.name)
        listeners = {listener.name: listener for listener in record.end_points}
        listeners_in_order = [listeners[name] for name in sorted(listeners)]
        return record.evolve(features=features, end_points=listeners_in_order, log_dirs=sorted(record.log_dirs))
    if isinstance(record, PartitionRecord) and set(record.directories) <= {DIRECTORY_MIGRATING}:
        return record.evolve(directories=[])
    return record


def said(records: Any) -> list[str]:
    """Return the records without those that later Kafkas no longer keep."""
    kept = (normal(record) for record in records if not isinstance(record, ZkMigrationStateRecord))
    return sorted(repr(record) for record in kept)


@pytest.mark.parametrize("release", [APACHE_KAFKA_WITH_ZOOKEEPER, APACHE_KAFKA])
def test_apache_comes_to_the_same_image(release: str, tmp_path: Path) -> None:
    if release == APACHE_KAFKA_WITH_ZOOKEEPER:
        histories_of_records = cases(CLASSES, LEVELS)
    else:
        histories_of_records = cases((*CLASSES, ClearElrRecord), (*LEVELS, *LATER_LEVELS))
    path = tmp_path / "histories.txt"
    path.write_text("".join(" ".join(f.hex() for f in frames(each)) + "\n" for each in histories_of_records))
    command = [require("java"), *QUICK_JVM, "-cp", f"{apache_kafka(release)}/*", str(PROGRAM), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(histories_of_records) > HISTORIES // 2
    for history, answer in zip(histories_of_records, answers, strict=True):
        assert not answer.startswith("error"), (answer, history)
        image, _ = replay(Image(), history, 0, 1, 0)
        theirs = [decode_record(bytes.fromhex(frame)) for frame in answer.split()]
        assert said(records_of(image)) == said(theirs), history
