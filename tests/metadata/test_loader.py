"""Metadata transactions: all or nothing, over any number of batches (KIP-868)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.messages.abort_transaction_record import AbortTransactionRecord
from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.end_transaction_record import EndTransactionRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.delta import MetadataError, replay
from kraft.metadata.image import Image
from kraft.metadata.loader import Loader
from kraft.metadata.records_of import records_of
from tests.metadata.records import histories


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=UUID(int=ord(name[0])))


def test_nothing_is_seen_before_the_end() -> None:
    loader = Loader()
    assert loader.load([BeginTransactionRecord(name="x"), topic("a")], 1, 1, 0) is None
    assert loader.in_transaction
    assert loader.image == Image()
    published = loader.load([topic("b"), EndTransactionRecord()], 3, 1, 0)
    assert published is not None
    image, changes = published
    assert set(image.topic_ids) == {"a", "b"}
    assert len(changes.topics_created) == 2


def test_an_abort_keeps_earlier_and_later_records() -> None:
    loader = Loader()
    published = loader.load(
        [topic("a"), BeginTransactionRecord(name="x"), topic("b"), AbortTransactionRecord(), topic("c")], 4, 1, 0
    )
    assert published is not None
    image, changes = published
    assert set(image.topic_ids) == {"a", "c"}
    assert len(changes.topics_created) == 2


def test_the_records_after_an_abort() -> None:
    """So that a new active controller knows its remaining records."""
    loader = Loader()
    loader.load([topic("a"), BeginTransactionRecord(name="x"), topic("b")], 2, 1, 0)
    settled = loader.settled()
    loader.load([AbortTransactionRecord()], 3, 1, 0)
    assert settled.topics == loader.image.topics == loader.settled().topics
    assert set(settled.topic_ids) == {"a"}


@given(histories(), st.data())
def test_an_aborted_history_leaves_no_trace(history: list[Any], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(history)))
    loader = Loader()
    loader.load(history[:cut], 0, 1, 0)
    loader.load([BeginTransactionRecord(name="x"), *history[cut:]], 0, 1, 0)
    loader.load([AbortTransactionRecord()], 0, 1, 0)
    expected, _ = replay(Image(), history[:cut], 0, 1, 0)
    assert list(records_of(loader.image)) == list(records_of(expected))


@pytest.mark.parametrize(
    "records",
    [
        [EndTransactionRecord()],
        [AbortTransactionRecord()],
        [BeginTransactionRecord(name="x"), BeginTransactionRecord(name="y")],
    ],
)
def test_a_transaction_opens_and_closes_once(records: list[Any]) -> None:
    with pytest.raises(MetadataError):
        Loader().load(records, 1, 1, 0)
