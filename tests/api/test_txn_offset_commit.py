"""TxnOffsetCommit: offsets that belong to a producer's transaction, from the commit to the marker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import attrs
import pytest

from kraft.api import txn_offset_commit
from kraft.coordinator.groups.transactions import EndTransaction, TransactionalCommit
from kraft.coordinator.partitions import coordinator_partition
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kraft.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kraft.records.control import EndTransactionMarker
from kraft.rpc.channel import Parked, Request
from kraft.rpc.client import Connection
from kraft.testing import embedded_node
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from tests.api.groups import commit
from tests.api.transactions import PRODUCER, UNVERIFIED, Coordinator, end
from tests.coordination.desk import GROUP, LEADER, Context, Desk, desk_in
from tests.coordination.desk import Connection as DeskConnection
from tests.support.nodes import connected

EPOCH = 3


@pytest.fixture
async def broker() -> AsyncIterator[Connection]:
    """A broker that does not verify, because these transactions have no coordinator."""
    async with embedded_node(settings=UNVERIFIED) as node, connected(node) as connection:
        yield connection


def request(group: str, topic: str, *indexes: int, offset: int = 44, epoch: int = EPOCH) -> TxnOffsetCommitRequest:
    partitions = [TxnOffsetCommitRequestPartition(index, offset) for index in indexes or (0,)]
    topics = [TxnOffsetCommitRequestTopic(topic, partitions)]
    return TxnOffsetCommitRequest("transaction", group, PRODUCER, epoch, topics=topics)


async def codes(broker: Connection, message: TxnOffsetCommitRequest, version: int = 4) -> list[ErrorCode]:
    response = await broker.request(message, version)
    return [ErrorCode(each.error_code) for each in response.topics[0].partitions]


async def stable_offset(broker: Connection, group: str, topic: str) -> int | ErrorCode:
    """Return the offset of partition 0 by OffsetFetch with ``require_stable``. Versions 7 and 9 must agree."""
    older = OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(topic, [0])], require_stable=True)
    [before] = (await broker.request(older, 7)).topics[0].partitions
    wanted = OffsetFetchRequestGroup(group, topics=[OffsetFetchRequestTopics(topic, partition_indexes=[0])])
    newer = OffsetFetchRequest(groups=[wanted], require_stable=True)
    [found] = (await broker.request(newer, 9)).groups[0].topics[0].partitions
    assert (before.committed_offset, before.error_code) == (found.committed_offset, found.error_code)
    return ErrorCode(found.error_code) if found.error_code else found.committed_offset


async def end_of_group(broker: Connection, group: str, *, committed: bool = True, epoch: int = EPOCH) -> ErrorCode:
    """Write the marker to the partition that holds the group."""
    message = MetadataRequest([MetadataRequestTopic(name=OFFSETS_TOPIC)])
    [topic] = (await broker.request(message, 9)).topics
    index = coordinator_partition(group, len(topic.partitions))
    [code] = await end(broker, OFFSETS_TOPIC, index, committed=committed, epoch=epoch)
    return code


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("committed", [True, False])
async def test_an_offset_counts_if_its_transaction_commits(
    broker: Connection, group: str, topic: str, version: int, committed: bool
) -> None:
    """KIP-98: offsets become visible "only if the transaction is committed"; KIP-447: they are unstable before."""
    assert await commit(broker, group, topic, 3) == 0
    assert await codes(broker, request(group, topic), version) == [ErrorCode.NONE]
    assert await stable_offset(broker, group, topic) == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await end_of_group(broker, group, committed=committed) == ErrorCode.NONE
    assert await stable_offset(broker, group, topic) == (44 if committed else 3)


async def test_an_unknown_partition_has_an_error_of_its_own(broker: Connection, group: str, topic: str) -> None:
    assert await commit(broker, group, topic, 3) == 0
    assert await codes(broker, request(group, topic, 0, 7)) == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert await codes(broker, request(group, "absent")) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    await end_of_group(broker, group)


async def test_a_commit_without_an_existing_partition_creates_no_group(broker: Connection, group: str) -> None:
    """``KafkaApis.handleTxnOffsetCommitRequest`` answers at once if ``authorizedTopicCommittedOffsets`` is empty."""
    assert await codes(broker, request(group, "absent")) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert (await broker.request(ListGroupsRequest(), 4)).groups == []


async def test_a_fenced_producer_commits_nothing(broker: Connection, group: str, topic: str) -> None:
    """The marker of a fenced transaction has a higher epoch (``ProducerAppendInfo.checkProducerEpoch``)."""
    assert await commit(broker, group, topic, 3) == 0
    assert await codes(broker, request(group, topic)) == [ErrorCode.NONE]
    assert await end_of_group(broker, group, committed=False, epoch=EPOCH + 1) == ErrorCode.NONE
    assert await codes(broker, request(group, topic)) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert await end_of_group(broker, group) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert await stable_offset(broker, group, topic) == 3
    assert await codes(broker, request(group, topic, epoch=EPOCH + 1)) == [ErrorCode.NONE]
    assert await end_of_group(broker, group, epoch=EPOCH + 1) == ErrorCode.NONE
    assert await stable_offset(broker, group, topic) == 44


async def test_a_group_needs_a_name(broker: Connection, topic: str) -> None:
    """Apache: ``GroupCoordinatorService.commitTransactionalOffsets``."""
    assert await codes(broker, request("", topic)) == [ErrorCode.INVALID_GROUP_ID]


@pytest.mark.parametrize(
    ("version", "code"), [(1, ErrorCode.COORDINATOR_NOT_AVAILABLE), (2, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
)
def test_old_producers_do_not_know_a_load(version: int, code: ErrorCode) -> None:
    """``KafkaApis.handleTxnOffsetCommitRequest``: they "could potentially crash"."""
    response = txn_offset_commit.error(request("g", "t"), version, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert response.topics[0].partitions[0].error_code == code


@attrs.frozen
class VerifyingContext(Context):
    """The fields of a broker that TxnOffsetCommit uses."""

    config: Any


@attrs.define
class Verified:
    """A group coordinator, and the transaction coordinator that it asks."""

    desk: Desk
    coordinator: Coordinator = attrs.Factory(Coordinator)
    verifies: bool = True

    async def commit(self, version: int = 4, epoch: int = EPOCH) -> ErrorCode:
        config = SimpleNamespace(transactions=SimpleNamespace(transaction_partition_verification_enable=self.verifies))
        coordinators = SimpleNamespace(groups=self.desk.groups, verification=self.coordinator)
        context: Any = VerifyingContext(self.desk.replicas, coordinators, config)
        sent = Request(0, version, 0, "c", b"", 0, cast(Any, DeskConnection()))
        message = request(GROUP, "t", epoch=epoch)
        try:
            reply = await txn_offset_commit.at_broker(context, sent, message)
            response: Any = await reply.wait() if isinstance(reply, Parked) else reply
        except KafkaError as refused:
            response = txn_offset_commit.error(message, version, refused.code)
        return ErrorCode(response.topics[0].partitions[0].error_code)

    async def end(self) -> None:
        ending = EndTransaction(PRODUCER, EPOCH, EndTransactionMarker(True, 1))
        await self.desk.groups.end_transaction(0, ending).wait()


@pytest.fixture
async def verified(tmp_path: Path) -> AsyncIterator[Verified]:
    async with desk_in(tmp_path, replicas=(LEADER,)) as desk:
        await desk.lead()
        yield Verified(desk)


@pytest.mark.parametrize(("version", "adds"), [(0, False), (4, False), (5, True)])
async def test_the_first_commit_of_a_transaction_is_verified(verified: Verified, version: int, adds: bool) -> None:
    """KIP-890: the transaction coordinator confirms that the partition belongs to the transaction. From version 5 on
    the client has not added it, and the coordinator adds it.
    """
    for _ in range(2):
        assert await verified.commit(version) == ErrorCode.NONE
    assert verified.coordinator.asked == [("transaction", (PRODUCER, EPOCH), {OFFSETS_TOPIC: [0]}, adds)]
    await verified.end()
    assert await verified.commit(version) == ErrorCode.NONE
    assert len(verified.coordinator.asked) == 2


@pytest.mark.parametrize(
    ("verdict", "version", "code"),
    [
        (ErrorCode.INVALID_TXN_STATE, 4, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.TRANSACTION_ABORTABLE, 4, ErrorCode.TRANSACTION_ABORTABLE),
        (ErrorCode.TRANSACTION_ABORTABLE, 3, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.NETWORK_EXCEPTION, 4, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ErrorCode.NETWORK_EXCEPTION, 1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 4, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.PRODUCER_FENCED, 4, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
async def test_a_commit_that_is_not_confirmed_appends_nothing(
    verified: Verified, verdict: ErrorCode, version: int, code: ErrorCode
) -> None:
    """``CoordinatorOperationExceptionHelper`` translates what "older clients may not expect", and
    ``AddPartitionsToTxnManager`` what "producers expect to handle".
    """
    verified.coordinator.code = verdict
    assert await verified.commit(version) == code
    verified.coordinator.failure = verdict
    assert await verified.commit(version) == code
    assert not verified.desk.partition.log.log_end_offset


@pytest.mark.parametrize(("version", "asked"), [(4, 0), (5, 1)])
async def test_a_group_is_added_even_without_verification(verified: Verified, version: int, asked: int) -> None:
    """``ReplicaManager.maybeSendPartitionsToTransactionCoordinator``: the setting is about requests that only verify.
    A producer that added nothing depends on the broker.
    """
    verified.verifies = False
    assert await verified.commit(version) == ErrorCode.NONE
    assert len(verified.coordinator.asked) == asked


async def test_an_old_epoch_is_refused_without_the_transaction_coordinator(verified: Verified) -> None:
    """``UnifiedLog.maybeStartTransactionVerification`` rejects early "if the producer epoch is lower"."""
    await verified.desk.groups.end_transaction(
        0, EndTransaction(PRODUCER, EPOCH + 1, EndTransactionMarker(False, 1))
    ).wait()
    assert await verified.commit(5) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert not verified.coordinator.asked


async def test_a_transaction_that_ends_during_its_verification_stays_ended(verified: Verified) -> None:
    """``VerificationGuard``: otherwise the commit would begin a transaction that nobody ends."""

    def end_meanwhile() -> None:
        ending = EndTransaction(PRODUCER, EPOCH, EndTransactionMarker(False, 1))
        verified.desk.groups.end_transaction(0, ending)

    verified.coordinator.meanwhile = end_meanwhile
    assert await verified.commit() == ErrorCode.INVALID_TXN_STATE
    assert verified.desk.partition.log.log_end_offset == 1


@pytest.mark.parametrize(("transaction_version", "code"), [(1, ErrorCode.INVALID_TXN_STATE), (2, ErrorCode.NONE)])
async def test_the_marker_of_the_last_epoch_does_not_end_the_next_transaction(
    verified: Verified, transaction_version: int, code: ErrorCode
) -> None:
    """KIP-890, as for Produce: ``UnifiedLog`` keeps the guard of a transaction whose epoch the marker has, if clients
    bump their epochs (``isV2NextTransactionStarted``), also in ``__consumer_offsets``.
    """
    assert await verified.commit(5, EPOCH - 1) == ErrorCode.NONE
    marker = EndTransactionMarker(True, 1, transaction_version)

    def end_meanwhile() -> None:
        verified.desk.groups.end_transaction(0, EndTransaction(PRODUCER, EPOCH, marker))

    verified.coordinator.meanwhile = end_meanwhile
    assert await verified.commit(5) == code


async def test_a_commit_that_waits_for_the_marker_of_its_transaction_is_refused(verified: Verified) -> None:
    """The commit needs no verification when it arrives, and the transaction has ended when its turn comes."""
    assert await verified.commit() == ErrorCode.NONE
    shard = verified.desk.groups.shard_of(GROUP)
    shard.request(TransactionalCommit(request(GROUP, "u", *range(10_000), epoch=EPOCH)))  # takes several slices
    ending = verified.desk.groups.end_transaction(0, EndTransaction(PRODUCER, EPOCH, EndTransactionMarker(True, 1)))
    assert await verified.commit() == ErrorCode.INVALID_TXN_STATE
    await ending.wait()
    assert not verified.desk.partition.log.producers.is_in_transaction(PRODUCER, EPOCH)
    assert len(verified.coordinator.asked) == 1
