"""Names that collide in metrics, where '.' becomes '_': as in Apache Kafka, such topics cannot live side by side."""

from __future__ import annotations

import random
from uuid import UUID

import attrs
import pytest
from immutables import Map

from kraft.controller.topic_name import Collisions
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.metadata.image import Image
from kraft.wire.errors import ErrorCode, KafkaError
from tests.controller.toy import ToyCluster

#: So many that a test cannot look up every colliding name.
LONG = "_".join("abcdefghijkl")


def image_of(*names: str) -> Image:
    return Image(topic_ids=Map((name, UUID(int=number)) for number, name in enumerate(names, 1)))


def refuses(collisions: Collisions, name: str) -> str | None:
    """The topic that is in the way of ``name``."""
    try:
        collisions.check(name)
    except KafkaError as error:
        return (error.message or "").rpartition(": ")[2]
    return None


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("a.b_c", "a_b.c"),
        ("a.b.c", "a_b.c"),
        ("a_b-c", None),
        ("ab.c", None),
        ("abc", None),
        ("_", "."),
        ("..x", "__x"),
        (LONG.replace("_", "."), LONG),
        (LONG.replace("_", ".", 1), LONG),
        (LONG + "_m", None),
        ("." * 249, None),
    ],
)
def test_a_topic_that_is_in_the_way(name: str, other: str | None) -> None:
    assert refuses(Collisions(image_of("a_b.c", "ab_C", ".", "__x", "abc-d", LONG).topic_ids), name) == other


@pytest.mark.parametrize(("first", "second"), [("a.b", "a_b"), (LONG, LONG.replace("_", "."))])
def test_a_topic_of_the_same_request_is_in_the_way(first: str, second: str) -> None:
    collisions = Collisions(())
    collisions.check(first)
    collisions.add(first)
    assert refuses(collisions, second) == first


def test_one_name_is_returned_for_any_order_of_the_topics() -> None:
    """Two that collide may come from Apache Kafka, which does not compare the names of one request."""
    pairs = [("a.b_c", "a_b.c"), (LONG.replace("_", ".", 1), LONG)]
    told = {
        tuple(refuses(Collisions(image_of(*names).topic_ids), pair[0].replace("_", ".")) for pair in pairs)
        for names in ([*pairs[0], *pairs[1]], [*reversed(pairs[0]), *reversed(pairs[1])])
    }
    assert told == {(pairs[0][0], pairs[1][0])}


def test_a_colliding_name_is_that_of_a_full_scan() -> None:
    chance = random.Random(1)
    names = {"".join(chance.choices("ab._", k=chance.randrange(1, 14))) for _ in range(2_000)}
    existing, asked = image_of(*sorted(names)[::2]), sorted(names)[1::2]
    merged = {name.replace(".", "_") for name in existing.topic_ids}
    collisions = Collisions(existing.topic_ids)
    expected = [bool({".", "_"} & set(name)) and name.replace(".", "_") in merged for name in asked]
    assert [refuses(collisions, name) is not None for name in asked] == expected
    assert {True, False} == set(expected)


@attrs.define
class CountedNames:
    """Stands for the topics of an image, and counts how often one looks at all of them."""

    names: Map[str, UUID]
    looks: int = 0

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self):  # type: ignore[no-untyped-def]
        self.looks += 1
        return iter(self.names)


@pytest.mark.parametrize(("name", "looks"), [("team.orders_{}", 0), (LONG + "_{}", 1)])
def test_many_topics_are_not_looked_through_for_each_name(name: str, looks: int) -> None:
    names = CountedNames(image_of(*(f"team.orders_{number}" for number in range(10_000))).topic_ids)
    collisions = Collisions(names)
    for number in range(10_000, 10_500):
        collisions.check(name.format(number))
        collisions.add(name.format(number))
    assert refuses(collisions, name.format(10_001).replace("_", ".")) == name.format(10_001)
    assert names.looks == looks


def test_a_topic_that_is_only_validated_or_refused_is_in_nobodys_way() -> None:
    toy = ToyCluster()
    toy.start(1)
    assert toy.create("a.b", validate_only=True).error_code == ErrorCode.NONE
    topics = [
        CreatableTopic(name=name, num_partitions=count, replication_factor=1)
        for name, count in [("a_b", 0), ("a.b", 1)]
    ]
    for validate_only in (True, False):
        answer = toy.ask(CreateTopicsRequest(topics=topics, validate_only=validate_only))
        assert [each.error_code for each in answer.topics] == [ErrorCode.INVALID_PARTITIONS, ErrorCode.NONE]


def test_validate_only_compares_the_names_of_its_request() -> None:
    toy = ToyCluster()
    toy.start(1)
    topics = [CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in ("a_b", "a.b")]
    answer = toy.ask(CreateTopicsRequest(topics=topics, validate_only=True))
    assert [each.error_code for each in answer.topics] == [ErrorCode.NONE, ErrorCode.INVALID_TOPIC_EXCEPTION]
