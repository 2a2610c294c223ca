"""Elections that follow a broker: only what concerns it is looked at."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.messages.config_record import ConfigRecord
from kraft.metadata.image import ResourceType
from kraft.metadata.partitions import NO_LEADER, Partitions
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The partitions that were read since the list was last cleared."""
    seen: list[int] = []
    read = Partitions.__getitem__

    def noted(self: Partitions, index: int) -> Any:
        seen.append(index)
        return read(self, index)

    def refused(self: Partitions) -> Any:
        raise AssertionError("all partitions were looked at")

    monkeypatch.setattr(Partitions, "__getitem__", noted)
    monkeypatch.setattr(Partitions, "items", refused)
    return seen


@pytest.mark.parametrize("stop", [False, True])
def test_only_the_partitions_of_a_broker_that_comes_or_goes_are_looked_at(looked_at: list[int], stop: bool) -> None:
    """A million partitions of other brokers must cost nothing."""
    toy = ToyCluster()
    toy.start(1, 2, 3)
    toy.create(assignment={index: [2, 3] for index in range(200)} | {200: [1, 3], 201: [2, 1]})
    toy.create("alone", assignment={0: [1]})
    epochs = [toy.partition(index=index).partition_epoch for index in (200, 201)]
    looked_at.clear()
    toy.heartbeat(1, fence=not stop, stop=stop)
    if stop:
        toy.heartbeat(1, stop=True)
    toy.heartbeat(1)
    assert set(looked_at) <= {200, 201, 0}
    assert epochs == [0, 0] != [toy.partition(index=index).partition_epoch for index in (200, 201)]
    assert toy.partition("alone").leader == (NO_LEADER if stop else 1)


def accepted(kind: ResourceType, resource: str, name: str, value: str) -> ConfigRecord:
    """A record of Apache Kafka's controller, which does not check the settings of brokers."""
    return ConfigRecord(resource_type=kind, resource_name=resource, name=name, value=value)


@pytest.mark.parametrize(
    "record",
    [
        accepted(ResourceType.TOPIC, "t", "remote.storage.enable", "true"),
        accepted(ResourceType.TOPIC, "t", "unclean.leader.election.enable", "perhaps"),
        accepted(ResourceType.BROKER, "", "log.retention.ms", "soon"),
        accepted(ResourceType.BROKER, "", "log.retention.hours", "soon"),
        accepted(ResourceType.BROKER, "", "unclean.leader.election.enable", "perhaps"),
    ],
    ids=lambda record: f"{record.name}={record.value}",
)
def test_a_setting_that_this_version_refuses_stops_no_election(record: ConfigRecord) -> None:
    toy = ToyCluster()
    toy.start(1, 2)
    toy.create(assignment={0: [1]})
    toy.create("u", assignment={0: [1, 2]})
    toy.log.append(record)
    toy.core.replay([record], len(toy.log), 1, 0)
    toy.pass_time(20, alive=(2,))
    assert toy.image.brokers[1].fenced
    assert (toy.partition().leader, toy.partition("u").leader) == (NO_LEADER, 2)
    later = ToyCluster(log=toy.log)
    later.heartbeat(1)
    assert later.partition().leader == 1
    assert later.create("v").error_code == ErrorCode.NONE


@pytest.mark.parametrize("topic", ["true", " TRUE ", None])
def test_only_the_text_true_allows_an_unclean_leader(topic: str | None) -> None:
    """The setting of a topic, else that of all brokers."""
    toy = ToyCluster()
    toy.start(1, 2)
    toy.create(assignment={0: [1, 2]})
    toy.in_sync(1)
    kind, name = (ResourceType.BROKER, "") if topic is None else (ResourceType.TOPIC, "t")
    record = accepted(kind, name, "unclean.leader.election.enable", topic or "true")
    toy.log.append(record)
    toy.core.replay([record], len(toy.log), 1, 0)
    toy.pass_time(20, alive=(2,))
    assert (toy.partition().leader, toy.partition().isr) == (2, (2,))
