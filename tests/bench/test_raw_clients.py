"""The clients that the benchmark plays itself, on a node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.testing import EmbeddedCluster
from tests.bench import shares
from tests.bench.clients import produce
from tests.bench.members import ClassicGroup, ConsumerGroup, heartbeats, until_stable
from tests.bench.raw_clients import call, check, find_coordinator, run_clients

TOPIC, PARTITIONS = "orders", 4
UPDATE_FEATURES = 1


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a node with both new kinds of groups."""
    with EmbeddedCluster({TOPIC: PARTITIONS}) as cluster:
        port = int(cluster.bootstrap_servers.rpartition(":")[2])
        features = [FeatureUpdateKey(each, 1, upgrade_type=1) for each in ("group.version", "share.version")]
        check(call(port, UpdateFeaturesRequest(feature_updates=features), UPDATE_FEATURES).error_code)
        find_coordinator(port)
        yield port


def test_members_of_the_consumer_protocol_share_the_partitions(port: int) -> None:
    """KIP-848: each partition has one owner, and all members have the epoch of the group."""
    groups = [ConsumerGroup.create(TOPIC, PARTITIONS, 3) for _ in range(2)]
    run_clients(port, until_stable(groups, connections=2))
    assert [sorted(len(each.partitions) for each in group.members) for group in groups] == [[1, 1, 2], [1, 1, 2]]
    leaving = groups[0].members[0]
    run_clients(port, [groups[0].leave([leaving])])
    run_clients(port, until_stable(groups, connections=2))
    assert [len(each.partitions) for each in groups[0].members] == [2, 2]
    times: list[float] = []
    load = run_clients(port, heartbeats(groups, connections=2, each=3, times=times))
    assert load.requests == len(times) == 5 * 3


def test_members_of_the_classic_protocol_reach_one_generation(port: int) -> None:
    group = ClassicGroup.create(3)
    run_clients(port, group.until_stable())
    first = group.members[0].generation
    group.add()
    run_clients(port, group.until_stable())
    run_clients(port, [group.leave(group.members[:1])])
    run_clients(port, group.until_stable())
    generations = {each.generation for each in group.members}
    assert len(group.members) == 3
    assert len(generations) == 1
    assert generations.pop() > first + 1, "one rebalance for each change"


@pytest.mark.parametrize("is_apart", [False, True])
def test_consumers_of_a_share_group_acknowledge_all_records(
    port: int, is_apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KIP-932: an accepted record is not delivered again, so a second pass of the group finds none."""
    records = 200
    monkeypatch.setattr(shares, "RECORDS", records)
    monkeypatch.setattr(shares, "CONSUMERS", 3)
    topic = f"shared-{is_apart}"
    servers = f"127.0.0.1:{port}"
    shares.create_topic(servers, PARTITIONS, topic)
    produce(servers, topic, records, 10)
    group = shares._Group.start(port, topic, is_apart)
    run_clients(port, group.consumers())
    assert group.acknowledged == records
    assert group.elapsed_s > 0
    group.leave()
