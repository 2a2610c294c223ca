"""The generated classes as Python's classes: defaults, copies and slots."""

from __future__ import annotations

import copy
import pickle
from typing import Any
from uuid import UUID

import pytest

from kraft.messages.fetch_request import FetchRequest, FetchTopic, ReplicaState
from kraft.wire.schema import Message
from tests.messages.strategies import CLASSES


def structures(cls: type[Message]) -> set[type[Message]]:
    inner = [field.struct for field in cls.FIELDS if field.struct]
    return {cls}.union(*map(structures, inner))


ALL = sorted(set().union(*map(structures, CLASSES)), key=lambda cls: (cls.__module__, cls.__name__))


def test_the_constructor_takes_the_fields_in_wire_order() -> None:
    for cls in ALL:
        values: list[Any] = [object() for _ in cls.FIELDS]
        message = cls(*values)
        assert [getattr(message, field.name) for field in cls.FIELDS] == values


def test_the_constructor_has_the_defaults_of_the_schema() -> None:
    for cls in ALL:
        message = cls()
        assert [getattr(message, field.name) for field in cls.FIELDS] == [field.make_default() for field in cls.FIELDS]


def test_each_message_has_its_own_lists_and_structures() -> None:
    for cls in ALL:
        one, other = cls(), cls()
        for field in cls.FIELDS:
            value = getattr(one, field.name)
            assert not isinstance(value, list | Message) or value is not getattr(other, field.name)


def test_a_message_is_copied_and_pickled() -> None:
    for cls in ALL:
        assert copy.copy(cls()) == cls()
        assert pickle.loads(pickle.dumps(cls())) == cls()
    request = FetchRequest(replica_state=ReplicaState(1, 2), topics=[FetchTopic("a", UUID(int=1))])
    assert pickle.loads(pickle.dumps(request)) == copy.deepcopy(request) == request


def test_a_message_has_no_other_attributes() -> None:
    for cls in ALL:
        with pytest.raises(AttributeError):
            cls().misspelt = 1  # type: ignore[attr-defined]


def test_evolve_returns_a_copy_with_other_values() -> None:
    topics = [FetchTopic("a")]
    request = FetchRequest(max_wait_ms=500, topics=topics)
    changed = request.evolve(min_bytes=1)
    assert changed == FetchRequest(max_wait_ms=500, min_bytes=1, topics=topics)
    assert changed.topics is topics
    assert request.min_bytes == 0
    with pytest.raises(TypeError, match="misspelt"):
        request.evolve(misspelt=1)
