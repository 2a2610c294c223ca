"""Replica placement: spread, and the limits of it."""

from __future__ import annotations

import random
from collections import Counter
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.controller.placement import place
from kraft.metadata.image import Broker
from kraft.metadata.steps import finished
from kraft.wire.errors import ErrorCode, KafkaError


def broker(id: int, rack: str | None = None, fenced: bool = False) -> Broker:
    return Broker(id, 0, UUID(int=1), (), {}, rack, fenced, False, ())


@st.composite
def brokers(draw: st.DrawFn) -> list[Broker]:
    count = draw(st.integers(1, 9))
    racks = draw(st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=count, max_size=count))
    fenced = draw(st.lists(st.booleans(), min_size=count, max_size=count).filter(lambda flags: not all(flags)))
    return [broker(id, racks[id], fenced[id]) for id in range(count)]


@given(brokers(), st.integers(1, 40), st.data())
def test_placement(all_brokers: list[Broker], partitions: int, data: st.DataObject) -> None:
    """Different brokers; as many racks as possible; in each rack active ones before fenced ones; an active leader."""
    factor = data.draw(st.integers(1, len(all_brokers)))
    placed = finished(place(all_brokers, partitions, factor, random.Random(data.draw(st.integers(0, 99)))))
    assert len(placed) == partitions
    rack_of = {b.id: b.rack for b in all_brokers}
    active = {b.id for b in all_brokers if b.active}
    for replicas in placed:
        assert len(set(replicas)) == len(replicas) == factor
        assert replicas[0] in active
        assert len({rack_of[id] for id in replicas}) == min(factor, len(set(rack_of.values())))
        left = {rack_of[id] for id in active.difference(replicas)}
        assert not any(rack_of[id] in left for id in replicas if id not in active)


@pytest.mark.parametrize("racks", [1, 3])
def test_leaders_and_replicas_are_even(racks: int) -> None:
    all_brokers = [broker(id, f"rack{id % racks}") for id in range(6)]
    placed = finished(place(all_brokers, 60, 3, random.Random(1)))
    assert set(Counter(replicas[0] for replicas in placed).values()) == {10}
    assert all(29 <= held <= 31 for held in Counter(id for replicas in placed for id in replicas).values())


def test_a_rack_whose_brokers_are_all_fenced_gets_its_replicas() -> None:
    """Kafka's StripedReplicaPlacer: "we want to spread the replicas as evenly as we can across racks", and finally
    "we would prefer to place replicas on unfenced brokers".
    """
    all_brokers = [broker(id, "abc"[id // 2], fenced=id in (2, 3)) for id in range(6)]
    placed = finished(place(all_brokers, 40, 3, random.Random(1)))
    assert all(sorted(id // 2 for id in replicas) == [0, 1, 2] for replicas in placed)
    assert Counter(replicas[0] for replicas in placed) == {0: 10, 1: 10, 4: 10, 5: 10}
    held = Counter(id for replicas in placed for id in replicas)
    assert held[2] == held[3]


def test_the_followers_of_one_leaders_partitions_are_spread() -> None:
    placed = finished(place([broker(id) for id in range(6)], 60, 2, random.Random(1)))
    assert {replicas[1] for replicas in placed if replicas[0] == 0} == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("all_brokers", [[], [broker(1, fenced=True)], [broker(1)]])
def test_too_few_brokers(all_brokers: list[Broker]) -> None:
    with pytest.raises(KafkaError) as refused:
        finished(place(all_brokers, 1, 2, random.Random(1)))
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
