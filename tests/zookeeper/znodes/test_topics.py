"""kraft.zookeeper.znodes.topics."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.topics import (
    RECOVERING,
    PartitionState,
    ReplicaAssignment,
    TopicAssignment,
    decode_state,
    decode_topic,
    encode_state,
    encode_topic,
)

ids = st.lists(st.integers(0, 9), unique=True, max_size=5).map(tuple)


def test_a_topic_is_written_in_version_3() -> None:
    """TopicZNode.encode: "version" -> 3, and adding and removing replicas only of partitions that have some."""
    topic = TopicAssignment(UUID(int=1), {1: ReplicaAssignment((3, 1), (3,), ()), 0: ReplicaAssignment((1, 2))})
    assert json.loads(encode_topic(topic)) == {
        "version": 3,
        "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
        "partitions": {"0": [1, 2], "1": [3, 1]},
        "adding_replicas": {"1": [3]},
        "removing_replicas": {},
    }
    assert decode_topic("t", encode_topic(topic)) == topic


def test_versions_1_and_2_have_no_id() -> None:
    old = b'{"version":1,"partitions":{"0":[1,2]}}'
    assert decode_topic("t", old) == TopicAssignment(None, {0: ReplicaAssignment((1, 2))})
    newer = b'{"version":2,"partitions":{"0":[1,2]},"adding_replicas":{"0":[2]},"removing_replicas":{}}'
    assert decode_topic("t", newer).partitions[0].adding == (2,)


@given(ids, ids)
def test_a_reassignment_keeps_every_replica_until_it_is_complete(
    origin: tuple[int, ...], target: tuple[int, ...]
) -> None:
    """KafkaController.onPartitionReassignment: "RS = ORS + TRS, AR = TRS - ORS, RR = ORS - TRS"."""
    during = ReplicaAssignment(origin).reassigned_to(target)
    assert set(during.replicas) == set(origin) | set(target)
    assert during.target == target
    assert set(during.origin) == set(origin)
    assert set(during.adding) == set(target) - set(origin)
    assert set(during.removing) == set(origin) - set(target)
    back = during.reassigned_to(during.origin)
    assert back.target == during.origin
    assert not back.removing or set(back.removing) <= set(during.adding)


def test_a_state_has_the_version_of_its_znode() -> None:
    """LeaderAndIsr: the partition epoch is the znode's version, and the data does not repeat it."""
    state = PartitionState(leader=1, leader_epoch=4, isr=(1, 2), controller_epoch=3, partition_epoch=9)
    assert json.loads(encode_state(state)) == {
        "controller_epoch": 3,
        "leader": 1,
        "version": 1,
        "leader_epoch": 4,
        "isr": [1, 2],
    }
    assert decode_state("t", 0, encode_state(state), 9) == state


def test_a_state_names_its_recovery_only_after_an_unclean_election() -> None:
    """KIP-704: leader_recovery_state is written only if it is not RECOVERED."""
    state = PartitionState(leader=1, leader_epoch=4, isr=(1,), controller_epoch=3, recovery_state=RECOVERING)
    assert json.loads(encode_state(state))["leader_recovery_state"] == 1
    assert decode_state("t", 0, encode_state(state), 0) == state


@pytest.mark.parametrize(
    "data",
    [
        b'{"partitions":{"x":[1]}}',
        b'{"partitions":{"-1":[1]}}',
        b'{"partitions":{"4294967296":[1]}}',
        b'{"partitions":{"0":[1.5]}}',
        b'{"partitions":[1]}',
        b'{"topic_id":"short","partitions":{}}',
    ],
)
def test_a_malformed_topic_is_one_clear_error(data: bytes) -> None:
    with pytest.raises(MalformedZnode, match="malformed data in the znode /brokers/topics/t"):
        decode_topic("t", data)


@given(st.binary(max_size=60))
def test_no_data_raises_another_error(data: bytes) -> None:
    for decode in (lambda: decode_topic("t", data), lambda: decode_state("t", 0, data, 0)):
        try:
            decode()
        except MalformedZnode:
            continue
