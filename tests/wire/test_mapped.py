"""Error responses of large requests: the encoder makes their elements, in slices."""

from __future__ import annotations

from kraft.api.produce import error
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from kraft.wire.codec import encode, encode_in_steps
from kraft.wire.encoder import STEP
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import AT_ONCE, mapped


def test_a_short_list_is_a_list() -> None:
    assert mapped(range(AT_ONCE), str) == [str(number) for number in range(AT_ONCE)]
    assert type(mapped([], str)) is list


def test_a_long_one_makes_its_elements_when_it_is_iterated() -> None:
    made: list[int] = []
    long = mapped(range(AT_ONCE + 1), made.append)
    assert len(long) == AT_ONCE + 1
    assert made == []
    assert len(list(long)) == AT_ONCE + 1
    assert made == list(range(AT_ONCE + 1))


def test_a_list_of_lists_is_long_although_each_of_them_is_not() -> None:
    """300 topics of 300 partitions each were one step of 50 ms."""
    made: list[int] = []
    nested = mapped(range(300), lambda _: mapped(range(300), made.append))
    assert made == []
    assert [len(each) for each in nested] == [300] * 300


def test_the_encoder_makes_the_elements_of_a_large_error_in_slices() -> None:
    """The oracle is the same response with all elements made at once."""
    count = 5_000
    data = [PartitionProduceData(index, b"") for index in range(count)]
    request = ProduceRequest(acks=7, topic_data=[TopicProduceData("t", partition_data=data)])
    code = ErrorCode.INVALID_REQUIRED_ACKS
    response = error(request, 9, code)
    assert isinstance(response, ProduceResponse)
    at_once = [PartitionProduceResponse(index, code, -1) for index in range(count)]
    out = bytearray()
    slices = sum(1 for _ in encode_in_steps(response, 9, out, []))
    assert slices == count // STEP
    assert out == encode(ProduceResponse([TopicProduceResponse("t", partition_responses=at_once)]), 9)
