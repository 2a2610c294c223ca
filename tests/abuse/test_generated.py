"""The requests made from the message specs are legal, and as large as they should be."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.messages.registry import ApiKey, request_class
from kraft.wire.codec import decode_in_steps
from kraft.wire.schema import Message
from tests.abuse.generated import Case, Likeliest, Shape, cases, elements
from tests.fuzz.frames import header
from tests.fuzz.strike import CLIENT_APIS, CONTROL_APIS
from tests.support.sweep import sweep

MOST, MOST_WITH_TAGS = 60, 2_010
CASES = [
    *cases(CLIENT_APIS, at_controller=False, every_version=False),
    *cases(CONTROL_APIS, at_controller=True, every_version=False),
]


def decoded(case: Case, most: int) -> Message:
    """Decode a case as a node does that takes no more than ``most`` elements."""
    frame = case.frame(Likeliest(), most)
    position = 4 + len(header(case.key, case.version, 0, b"abuse"))
    steps = decode_in_steps(request_class(case.key), case.version, frame, position, max_elements=most)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            message: Message = end.value[0]
            return message


@sweep(("case",), [(case,) for case in CASES])
def test_a_request_has_at_most_the_elements_that_a_node_takes(case: Case) -> None:
    """A refused request costs a node little. The array at the end of the path takes the most of those that are left."""
    made = decoded(case, MOST_WITH_TAGS if case.shape is Shape.TAGGED else MOST)
    if case.shape in (Shape.DISTINCT, Shape.REPEATED, Shape.NESTED):
        assert MOST / 3 < elements(made, case.version) <= MOST


def cases_of(key: ApiKey, version: int) -> list[Case]:
    return list(cases({key: (version, version)}, at_controller=False, every_version=True))


def test_each_array_of_a_request_is_long_in_some_case() -> None:
    arrays = {"topics", "topics.partitions", "forgotten_topics_data", "forgotten_topics_data.partitions"}
    assert {case.array for case in cases_of(ApiKey.FETCH, 17)} == arrays


@pytest.mark.parametrize(("shape", "count"), [(Shape.DISTINCT, MOST), (Shape.REPEATED, 1)])
def test_names_are_distinct_or_the_same(shape: Shape, count: int) -> None:
    (case,) = (case for case in cases_of(ApiKey.METADATA, 9) if case.shape is shape)
    made: Any = decoded(case, MOST)
    assert len(made.topics) == MOST
    assert len({topic.name for topic in made.topics}) == count
