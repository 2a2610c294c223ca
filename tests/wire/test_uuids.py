"""Uuids in text."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.wire.internal_topics import METADATA_TOPIC_ID
from kraft.wire.uuids import ZERO_UUID, uuid_from_bytes, uuid_from_text, uuid_to_text


@given(st.uuids())
def test_uuids_come_back(uuid: UUID) -> None:
    assert uuid_from_text(uuid_to_text(uuid)) == uuid
    assert uuid_from_bytes(uuid.bytes) == uuid


def test_known_ids_read_as_kafka_prints_them() -> None:
    assert uuid_to_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid_to_text(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert uuid_from_text("AAAAAAAAAAAAAAAAAAAAAQ==") == METADATA_TOPIC_ID


@pytest.mark.parametrize("text", ["", "AAAA", "A" * 23, "!" * 22, "é" * 22, "+" * 22])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a uuid"):
        uuid_from_text(text)
