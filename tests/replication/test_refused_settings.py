"""The settings of topics and brokers that the metadata has and this broker refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.messages.config_record import ConfigRecord
from kraft.metadata.image import ResourceType
from tests.support.held import broker_in, registration, topic


async def test_a_setting_that_this_broker_refuses_is_ignored(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Apache Kafka's controller leaves the check of a broker's settings to the brokers; others go on."""

    def setting(kind: ResourceType, resource: str, name: str, value: str) -> ConfigRecord:
        return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)

    broker = broker_in(tmp_path, 1)
    await broker.replicas.registered(5)
    await broker.hear(
        registration(1, 5),
        setting(ResourceType.BROKER, "", "log.retention.hours", "soon"),
        setting(ResourceType.BROKER, "1", "log.segment.bytes", "2000000"),
        setting(ResourceType.TOPIC, "topic", "retention.ms", "later"),
        setting(ResourceType.TOPIC, "topic", "min.insync.replicas", "2"),
        *topic(1, leader=1),
    )
    config = broker.partition.log.config
    assert (config.retention_ms, config.segment_bytes, config.min_insync_replicas) == (604_800_000, 2_000_000, 2)
    assert "ignoring log.retention.hours=soon of broker ''" in caplog.text
    assert "ignoring retention.ms=later of topic 'topic'" in caplog.text
    await broker.hear(setting(ResourceType.BROKER, "", "log.retention.hours", "3"))
    assert broker.partition.log.config.retention_ms == 3 * 3_600_000
