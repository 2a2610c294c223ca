"""OffsetCommit and OffsetFetch of the members of a consumer group: ``ConsumerGroup.validateOffsetCommit``."""

from __future__ import annotations

import pytest

from kraft.coordinator.groups.transactions import EndTransaction, TransactionalCommit
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.groups.consumer.desk import GROUP, ConsumerDesk, Member, T, image_of

NOBODY, STALE = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH


@pytest.mark.parametrize(
    ("member_id", "epoch", "version", "code"),
    [
        ("m1", 2, 9, ErrorCode.NONE),
        ("m1", 2, 8, ErrorCode.UNSUPPORTED_VERSION),
        ("m1", 3, 9, STALE),
        ("m1", 0, 9, STALE),
        ("m1", -1, 9, STALE),
        ("m2", 1, 9, NOBODY),
        ("", -1, 9, NOBODY),
    ],
)
def test_a_member_commits_with_its_epoch(member_id: str, epoch: int, version: int, code: ErrorCode) -> None:
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    assert desk.commit(7, member_id=member_id, generation=epoch, version=version) == code
    assert desk.committed() == ({} if code else {("t", 0): 7})


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [
        ("m1", 2, ErrorCode.NONE),
        ("", -1, ErrorCode.NONE),
        ("m1", 3, ErrorCode.ILLEGAL_GENERATION),
        ("m1", -1, ErrorCode.ILLEGAL_GENERATION),
        ("m2", 1, NOBODY),
    ],
)
def test_a_member_commits_in_a_transaction_with_its_epoch(member_id: str, epoch: int, code: ErrorCode) -> None:
    """``OffsetMetadataManager.validateTransactionalOffsetCommit`` returns ILLEGAL_GENERATION for a stale epoch. A
    request may leave the member out.
    """
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    topics = [TxnOffsetCommitRequestTopic("t", [TxnOffsetCommitRequestPartition(0, 7)])]
    sent = TxnOffsetCommitRequest("x", GROUP, 1, 0, generation_id=epoch, member_id=member_id, topics=topics)
    answer = desk.ask(TransactionalCommit(sent), 5)
    assert answer.topics[0].partitions[0].error_code == code
    assert GROUP not in desk.core.groups, "the id has one group"
    desk.restart()
    assert GROUP not in desk.core.groups
    desk.ask(EndTransaction(1, 0, EndTransactionMarker(True, 0)), 0)
    assert desk.committed() == ({} if code else {("t", 0): 7})


def test_a_commit_with_an_older_epoch_is_for_partitions_held_since() -> None:
    """KIP-1251: a heartbeat may raise the member epoch while a commit is on its way."""
    desk = ConsumerDesk(t=1)
    member = Member(desk, "m1")
    desk.image = image_of(t=2)
    desk.settle_all(member)
    assert (member.epoch, member.owned) == (3, {T: [0, 1]})
    assert desk.commit(7, member_id="m1", generation=2, version=9, partition=0) == 0
    assert desk.commit(7, member_id="m1", generation=2, version=9, partition=1) == STALE
    assert desk.commit(7, member_id="m1", generation=1, version=9, partition=0) == STALE
    assert desk.commit(7, member_id="m1", generation=2, version=9, topic="u") == STALE


def test_the_epochs_of_partitions_survive_a_restart() -> None:
    desk = ConsumerDesk(t=1)
    member = Member(desk, "m1")
    desk.image = image_of(t=2)
    desk.settle_all(member)
    desk.restart()
    assert desk.commit(7, member_id="m1", generation=2, version=9, partition=0) == 0
    assert desk.commit(7, member_id="m1", generation=2, version=9, partition=1) == STALE


def test_anybody_commits_for_an_empty_group() -> None:
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    desk.beat("m1", -1)
    assert desk.commit(7, generation=-1, version=8) == 0
    assert GROUP not in desk.core.groups


def test_a_member_fetches_with_its_epoch() -> None:
    desk = ConsumerDesk(t=1)
    desk.beat("m1", 0)
    check = desk.core.consumers.check_fetch
    check(GROUP, "m1", 2)
    check(GROUP, None, -1)
    check("another", "m1", 5)
    for member_id, epoch, code in (("m1", 0, STALE), ("m1", 3, STALE), ("m2", 2, NOBODY), ("", -1, NOBODY)):
        with pytest.raises(KafkaError) as refused:
            check(GROUP, member_id, epoch)
        assert refused.value.code == code
