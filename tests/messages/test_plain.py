"""The JSON form of messages."""

from __future__ import annotations

import io
import json
import re
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraft.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.plain import from_plain, to_plain
from kraft.messages.topic_record import TopicRecord
from kraft.wire.schema import Message
from kraft.wire.splice import FileSlice
from tests.messages.strategies import CLASSES, messages
from tests.support.sweep import sweep


@sweep(("cls",), ((cls,) for cls in CLASSES))
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_message_comes_back_from_json(cls: type[Message], data: st.DataObject) -> None:
    """Both whole, and with the fields of the version alone, since the others are at their defaults."""
    version = data.draw(st.integers(*cls.VALID_VERSIONS))
    message = data.draw(messages(cls, version))
    assert from_plain(cls, json.loads(json.dumps(to_plain(message)))) == message
    assert from_plain(cls, json.loads(json.dumps(to_plain(message, version)))) == message


def test_names_and_values_are_those_of_kafkas_tools() -> None:
    record = TopicRecord(name="a", topic_id=UUID(int=1))
    assert to_plain(record) == {"name": "a", "topicId": "AAAAAAAAAAAAAAAAAAAAAQ"}
    assert "isKRaftController" in to_plain(LeaderAndIsrRequest())


def test_a_version_shows_its_fields_and_only_tagged_fields_that_are_set() -> None:
    partition = PartitionData(partition_index=3, records=b"abc")
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    plain = to_plain(response, 12)
    assert set(plain) == {"throttleTimeMs", "errorCode", "sessionId", "responses"}
    (topic,) = plain["responses"]
    assert "topicId" not in topic
    (shown,) = topic["partitions"]
    assert shown["records"] == "YWJj"
    assert "divergingEpoch" not in shown
    partition.diverging_epoch.epoch = 7
    (topic,) = to_plain(response, 12)["responses"]
    assert topic["partitions"][0]["divergingEpoch"] == {"epoch": 7, "endOffset": -1}


def test_records_in_a_file_show_where_they_lie() -> None:
    class File(io.BytesIO):
        def fileno(self) -> int:
            return 0

    plain = to_plain(PartitionData(records=FileSlice(File(), 10, 20)))
    assert plain["records"] == {"filePosition": 10, "fileLength": 20}


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([], "TopicRecord is an object"),
        ({"nme": "a"}, "no field is called nme"),
        ({"name": 3}, "want str, not int @ message.name"),
        ({"topicId": 3}, "a uuid is text"),
        ({"topicId": "AAAA"}, "not a uuid"),
        ({"name": None}, "want str, not NoneType @ message.name"),
    ],
)
def test_an_invalid_message_is_named(data: object, error: str) -> None:
    with pytest.raises(ValueError, match=re.escape(error)):
        from_plain(TopicRecord, data)


@pytest.mark.parametrize(("value", "error"), [(3, "base64 text"), ("@", "not base64")])
def test_bytes_are_base64(value: object, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        from_plain(PartitionData, {"records": value})


@pytest.mark.parametrize(
    ("responses", "error"),
    [
        ({}, "want list, not dict @ message.responses"),
        ([{}, []], "FetchableTopicResponse is an object, not list @ message.responses[1]"),
        ([{"partitions": [{"errorCode": True}]}], "int, not bool @ message.responses[0].partitions[0].errorCode"),
    ],
)
def test_an_error_inside_has_its_place(responses: object, error: str) -> None:
    with pytest.raises(ValueError, match=re.escape(error)):
        from_plain(FetchResponse, {"responses": responses})
