"""The JSON text of a message is that of its plain form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.messages import registry
from kraft.messages.client_quota_record import ClientQuotaRecord
from kraft.messages.json_text import json_text
from kraft.messages.plain import to_plain
from kraft.messages.topic_record import TopicRecord
from kraft.wire.schema import Message
from tests.messages.strategies import messages, versions

CLASSES = [*registry.record_classes(), *map(registry.data_class, ("LeaderChangeMessage", "VotersRecord"))]
compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_the_text_is_that_of_the_plain_form(cls: type[Message], data: st.DataObject) -> None:
    """Field by field and in the same order, in every version; tagged fields only if they differ from their defaults."""
    for version in versions(cls):
        message = data.draw(messages(cls, version))
        assert json_text(message, version) == compact(to_plain(message, version))


def test_texts_and_numbers_are_written_as_json_writes_them() -> None:
    for text in ('"', "\\", "\n\x00", "é", "\u2028", "😀"):
        assert json.loads(json_text(TopicRecord(name=text), 0))["name"] == text
    for value in (1e300, -0.0, 0.1, float("inf")):
        message = ClientQuotaRecord(value=value)
        assert json_text(message, 0) == compact(to_plain(message, 0))
