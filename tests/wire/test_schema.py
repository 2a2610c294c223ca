"""The common properties of all messages."""

from __future__ import annotations

import linecache
import traceback

import pytest

from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.topic_record import TopicRecord
from kraft.wire.codec import encode
from kraft.wire.schema import Field, camel_case
from tests.messages.strategies import CLASSES
from tests.support.sweep import sweep


@sweep(("cls",), ((cls,) for cls in CLASSES))
def test_a_new_message_is_at_its_defaults(cls: type) -> None:
    """So a repr shows nothing, and two of them are equal but not the same."""
    assert repr(cls()) == f"{cls.__name__}()"
    assert cls() == cls()
    assert all(field.is_default(getattr(cls(), field.name)) for field in cls.FIELDS)


def test_messages_show_the_set_fields() -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="a")])
    assert repr(request) == "MetadataRequest(topics=[MetadataRequestTopic(name='a')])"


def test_messages_compare_by_class_and_values() -> None:
    assert TopicRecord(name="a") == TopicRecord(name="a")
    assert TopicRecord(name="a") != TopicRecord(name="b")
    assert TopicRecord() != MetadataRequestTopic()
    with pytest.raises(TypeError, match="unhashable"):
        hash(TopicRecord())


def test_lists_are_not_shared() -> None:
    assert TopicRecord.FIELDS[0].name == "name"
    first, second = MetadataRequest(topics=[]), MetadataRequest(topics=[])
    assert first.topics is not second.topics


def test_names_in_json_are_in_camel_case() -> None:
    assert camel_case("topic_id") == "topicId"
    assert camel_case("name") == "name"


def test_a_scalar_has_no_structure() -> None:
    with pytest.raises(AssertionError, match="no structure"):
        _ = Field("name", "string").item_struct


def test_tracebacks_show_the_generated_line() -> None:
    with pytest.raises(AttributeError) as caught:
        encode(TopicRecord(name=None), 0)  # type: ignore[arg-type]
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert frame.filename == "<encoder of TopicRecord v0>"
    assert "m.name.encode()" in linecache.getline(frame.filename, frame.lineno or 0)
