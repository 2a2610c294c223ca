"""TxnOffsetCommit, and the offsets of open, committed and aborted transactions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.coordinator.core import TransactionalBatch
from kraft.coordinator.groups.core import ForgetTopics
from kraft.coordinator.groups.offsets import fetched
from kraft.coordinator.groups.transactions import EndTransaction, TransactionalCommit
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.messages.offset_fetch_request import OffsetFetchRequestTopics
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kraft.metadata.steps import finished
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordinator.groups.desk import GROUP, Desk

PRODUCER, OTHER = 1000, 1001
UNSTABLE = "unstable"


class TransactionalDesk(Desk):
    """Also the transaction coordinator. ``refuses`` is what the producers of the partition answer."""

    refuses: KafkaError | None = None

    def _core(self) -> Any:
        core = super()._core()
        core.check_producer = self._check
        return core

    def _check(self, *_: int, **__: Any) -> None:
        if self.refuses is not None:
            raise self.refuses

    def commit_in_transaction(self, offset: int, producer_id: int = PRODUCER, topic: str = "t", **member: Any) -> int:
        """Send TxnOffsetCommit for partition 0 and return its token."""
        partitions = [TxnOffsetCommitRequestPartition(0, offset)]
        topics = [TxnOffsetCommitRequestTopic(topic, partitions)]
        fields = {"transactional_id": "x", "group_id": GROUP, "producer_id": producer_id, "topics": topics} | member
        return self.send(TransactionalCommit(TxnOffsetCommitRequest(**fields)), 4)

    def code(self, token: int) -> ErrorCode:
        [topic] = self.answers[token].topics
        return ErrorCode(topic.partitions[0].error_code)

    def end(self, producer_id: int = PRODUCER, *, committed: bool = True) -> Any:
        """Write a marker and return the reply, None while it is not committed."""
        token = self.send(EndTransaction(producer_id, 0, EndTransactionMarker(committed, 0)), 1)
        return self.answers.get(token)

    def offset(self, topic: str = "t", *, require_stable: bool = True) -> int | str:
        """Return what OffsetFetch returns, -1 for no offset."""
        wanted = [OffsetFetchRequestTopics(topic, partition_indexes=[0])]
        group = finished(fetched(self.core.offsets, GROUP, wanted, require_stable=require_stable))
        partition = group.topics[0].partitions[0]
        if partition.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT:
            return UNSTABLE
        assert not partition.error_code
        return partition.committed_offset


@pytest.fixture
def desk() -> TransactionalDesk:
    return TransactionalDesk()


def code_of(desk: TransactionalDesk, **member: Any) -> ErrorCode:
    return desk.code(desk.commit_in_transaction(7, **member))


class TestCommit:
    def test_an_offset_is_unstable_until_its_transaction_ends(self, desk: TransactionalDesk) -> None:
        """KIP-447: UNSTABLE_OFFSET_COMMIT "if there are pending transactional offset commits". Without
        ``require_stable`` the last committed offset is returned.
        """
        desk.send_commit(3)
        assert code_of(desk) is ErrorCode.NONE
        assert (desk.offset(), desk.offset(require_stable=False)) == (UNSTABLE, 3)
        assert desk.end() is ErrorCode.NONE
        assert desk.offset() == 7

    def test_an_aborted_one_changes_nothing(self, desk: TransactionalDesk) -> None:
        desk.send_commit(3)
        desk.commit_in_transaction(7)
        desk.end(committed=False)
        assert desk.offset() == 3

    def test_it_is_unstable_from_its_append_on(self, desk: TransactionalDesk) -> None:
        """Otherwise a new member could read the old offset, and then the transaction commits."""
        desk.is_followed = False
        token = desk.commit_in_transaction(7)
        assert token not in desk.answers
        assert desk.offset() == UNSTABLE
        desk.commit_all()
        assert desk.code(token) is ErrorCode.NONE
        assert desk.offset() == UNSTABLE
        assert desk.end() is None
        assert desk.offset() == UNSTABLE, "the marker may be lost"
        desk.commit_all()
        assert desk.offset() == 7

    def test_of_two_transactions_each_ends_on_its_own(self, desk: TransactionalDesk) -> None:
        desk.commit_in_transaction(7)
        desk.commit_in_transaction(8, OTHER, "u")
        desk.end(OTHER)
        assert (desk.offset(), desk.offset("u")) == (UNSTABLE, 8)
        desk.end(committed=False)
        assert (desk.offset(), desk.offset("u")) == (-1, 8)

    def test_the_batch_is_of_the_producer(self, desk: TransactionalDesk) -> None:
        desk.is_followed = False
        desk.commit_in_transaction(7)
        desk.end()
        assert [each.transactional for each in desk.uncommitted] == [
            TransactionalBatch(PRODUCER, 0),
            TransactionalBatch(PRODUCER, 0, EndTransactionMarker(True, 0)),
        ]

    def test_the_later_record_counts(self, desk: TransactionalDesk) -> None:
        """As in Apache's ``OffsetMetadataManager.replayEndTransactionMarker``, whose transactions end in any order."""
        desk.commit_in_transaction(7)
        desk.commit_in_transaction(8, OTHER)
        desk.end(OTHER)
        assert desk.offset() == UNSTABLE
        desk.end()
        assert desk.offset() == 8
        desk.commit_in_transaction(9)
        desk.send_commit(10)
        desk.end()
        assert desk.offset() == 10

    def test_a_repeated_commit_is_later_than_another_ones(self, desk: TransactionalDesk) -> None:
        desk.commit_in_transaction(7)
        desk.commit_in_transaction(8, OTHER)
        desk.commit_in_transaction(9)
        desk.end(OTHER)
        desk.end()
        assert desk.offset() == 9

    @pytest.mark.parametrize(
        ("member", "code"),
        [
            ({}, ErrorCode.NONE),
            ({"generation_id": 1, "member_id": "m"}, ErrorCode.ILLEGAL_GENERATION),
            ({"producer_id": -1}, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ],
    )
    def test_without_a_group(self, desk: TransactionalDesk, member: Any, code: ErrorCode) -> None:
        assert code_of(desk, **member) is code

    def test_a_member_is_checked(self, desk: TransactionalDesk) -> None:
        """KIP-447 fences a zombie by its member id, its instance id or its generation. A client of an older version
        has none of them. OffsetCommit would refuse it.
        """
        token = desk.join(instance="i")
        desk.gather()
        joined = desk.answers[token]
        member = {"member_id": joined.member_id, "generation_id": joined.generation_id}
        assert code_of(desk) is ErrorCode.NONE
        assert code_of(desk, **member) is ErrorCode.NONE, "also while the group completes its rebalance"
        assert code_of(desk, **member | {"generation_id": 9}) is ErrorCode.ILLEGAL_GENERATION
        assert code_of(desk, **member | {"generation_id": -1}) is ErrorCode.ILLEGAL_GENERATION
        assert code_of(desk, **member | {"member_id": "gone"}) is ErrorCode.UNKNOWN_MEMBER_ID
        fenced = member | {"member_id": "old", "group_instance_id": "i"}
        assert code_of(desk, **fenced) is ErrorCode.FENCED_INSTANCE_ID

    def test_a_fenced_producer_appends_nothing(self, desk: TransactionalDesk) -> None:
        desk.refuses = KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
        assert code_of(desk) is ErrorCode.INVALID_PRODUCER_EPOCH
        answer = desk.end()
        assert isinstance(answer, KafkaError)
        assert answer.code is ErrorCode.INVALID_PRODUCER_EPOCH
        assert not desk.written
        assert desk.offset() == -1

    def test_with_too_few_in_sync_nothing_is_written(self, desk: TransactionalDesk) -> None:
        desk.may_write = False
        assert code_of(desk) is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert desk.end().code is ErrorCode.NOT_ENOUGH_REPLICAS
        assert not desk.written

    def test_large_metadata_is_refused(self, desk: TransactionalDesk) -> None:
        partitions = [TxnOffsetCommitRequestPartition(0, 1, committed_metadata="x" * 4097)]
        topics = [TxnOffsetCommitRequestTopic("t", partitions)]
        assert code_of(desk, topics=topics) is ErrorCode.OFFSET_METADATA_TOO_LARGE
        assert desk.offset() == -1


class TestDeletion:
    """Tombstones remove the offsets of open transactions, too (``OffsetMetadataManager.replay``)."""

    def test_of_the_group(self, desk: TransactionalDesk) -> None:
        desk.send_commit(3)
        desk.commit_in_transaction(7)
        desk.commit_in_transaction(7, topic="u")
        desk.send(DeleteGroupsRequest([GROUP]), 2)
        desk.end()
        assert (desk.offset(), desk.offset("u")) == (-1, -1)

    def test_of_one_offset(self, desk: TransactionalDesk) -> None:
        desk.commit_in_transaction(7)
        topics = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]
        desk.send(OffsetDeleteRequest(GROUP, topics), 0)
        assert desk.offset() == -1
        desk.end()
        assert desk.offset() == -1

    @pytest.mark.parametrize("is_followed", [True, False])
    def test_of_the_topic(self, desk: TransactionalDesk, is_followed: bool) -> None:
        desk.is_followed = is_followed
        desk.commit_in_transaction(7)
        desk.step(ForgetTopics(GROUP, {"t"}.__contains__))
        before = len(desk.written)
        desk.step(ForgetTopics(GROUP, {"t"}.__contains__))
        assert len(desk.written) == before, "one tombstone is enough"
        desk.commit_all()
        desk.end()
        desk.commit_all()
        assert desk.offset() == -1

    @pytest.mark.parametrize("is_followed", [True, False])
    def test_of_a_former_topic_of_the_name(self, desk: TransactionalDesk, is_followed: bool) -> None:
        """Kafka 4.3 stores the id of the topic with an offset."""
        desk.topic_ids |= {"t": UUID(int=1), "u": UUID(int=2)}
        desk.is_followed = is_followed
        desk.commit_in_transaction(7)
        desk.commit_in_transaction(8, topic="u")
        desk.topic_ids["t"] = UUID(int=9)
        desk.step(ForgetTopics(GROUP, lambda _: False))
        desk.commit_all()
        desk.end()
        desk.commit_all()
        assert (desk.offset(), desk.offset("u")) == (-1, 8)

    def test_an_offset_in_a_transaction_does_not_expire(self, desk: TransactionalDesk) -> None:
        """``OffsetMetadataManager.cleanupExpiredOffsets`` keeps it, and keeps the group."""
        desk.send_commit(3)
        desk.commit_in_transaction(7)
        desk.pass_time(8 * 24 * 3600)
        desk.expire()
        assert desk.offset(require_stable=False) == 3
        desk.end(committed=False)
        desk.expire()
        assert desk.offset() == -1

    def test_a_group_with_a_transaction_stays(self, desk: TransactionalDesk) -> None:
        desk.commit_in_transaction(7)
        desk.expire()
        assert GROUP in desk.core.groups
        desk.end(committed=False)
        desk.expire()
        assert GROUP not in desk.core.groups


class TestLoad:
    """The next coordinator reads transactional batches and markers from the log."""

    def test_an_open_transaction_can_still_end(self, desk: TransactionalDesk) -> None:
        desk.send_commit(3)
        desk.commit_in_transaction(7)
        desk.commit_in_transaction(5, topic="u")
        desk.restart()
        assert (desk.offset(), desk.offset(require_stable=False)) == (UNSTABLE, 3)
        assert GROUP in desk.core.groups
        desk.end()
        assert (desk.offset(), desk.offset("u")) == (7, 5)

    def test_a_group_whose_only_offset_is_in_a_transaction(self, desk: TransactionalDesk) -> None:
        """Apache creates the simple group when it replays the record. Without it the offset would never expire."""
        desk.commit_in_transaction(7)
        desk.restart()
        desk.end()
        desk.pass_time(8 * 24 * 3600)
        desk.expire()
        assert desk.offset() == -1

    @pytest.mark.parametrize(("committed", "offset"), [(True, 7), (False, 3)])
    def test_an_ended_one(self, desk: TransactionalDesk, committed: bool, offset: int) -> None:
        desk.send_commit(3)
        desk.commit_in_transaction(7)
        desk.end(committed=committed)
        desk.restart()
        assert desk.offset() == offset

    def test_a_marker_without_a_transaction_changes_nothing(self, desk: TransactionalDesk) -> None:
        """The transaction coordinator repeats a marker whose response it missed."""
        desk.commit_in_transaction(7)
        assert desk.end() is ErrorCode.NONE
        assert desk.end() is ErrorCode.NONE
        desk.restart()
        assert desk.offset() == 7

    def test_other_tasks_may_run_between_two_markers(self, desk: TransactionalDesk) -> None:
        for _ in range(10):
            desk.end()
        assert sum(desk.core.load(desk.written)) >= 10


_actions = st.lists(
    st.tuples(
        st.sampled_from(["commit", "outside", "end", "abort", "forget"]),
        st.sampled_from([PRODUCER, OTHER, 1002]),
        st.sampled_from(["t", "u"]),
    ),
    max_size=25,
)


def expected(log: list[tuple[str, int, str]]) -> dict[str, int | str]:
    """Read the log as a consumer with ``read_committed``: the last record of each topic counts whose transaction is
    committed. It is unstable while any record of an open transaction is left.
    """
    found: dict[str, int | str] = {}
    for topic in ("t", "u"):
        value: int | str = -1
        is_open = False
        for at, (action, producer_id, its_topic) in enumerate(log):
            if its_topic != topic:
                continue
            later = log[at + 1 :]
            is_forgotten = any(action == "forget" and name == topic for action, _, name in later)
            ends = [action for action, ender, _ in later if action in ("end", "abort") and ender == producer_id]
            if action == "outside" and not is_forgotten:
                value = at
            elif action == "commit" and not is_forgotten:
                is_open |= not ends
                value = at if ends[:1] == ["end"] else value
        found[topic] = UNSTABLE if is_open else value
    return found


@given(_actions, st.booleans())
def test_any_log_reads_as_its_transactions_say(log: list[tuple[str, int, str]], is_loaded: bool) -> None:
    desk = TransactionalDesk()
    for at, (action, producer_id, topic) in enumerate(log):
        match action:
            case "commit":
                desk.commit_in_transaction(at, producer_id, topic)
            case "outside":
                desk.send_commit(at, topic=topic)
            case "forget":
                desk.step(ForgetTopics(GROUP, {topic}.__contains__))
            case _:
                desk.end(producer_id, committed=action == "end")
    if is_loaded:
        desk.restart()
    assert {topic: desk.offset(topic) for topic in ("t", "u")} == expected(log)
    for producer_id in (PRODUCER, OTHER, 1002):
        desk.end(producer_id)
    assert not desk.core.offsets.transactional.by_group
    assert not desk.core.offsets.transactional._of_producer
