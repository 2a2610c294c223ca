"""How often groups commit and rebalance: the names and the rules are those of ``GroupCoordinatorMetrics``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import trio

from kraft.coordination.group_metrics import declare_group_rates
from kraft.coordinator.groups.effects import Counted
from kraft.messages.delete_groups_request import DeleteGroupsRequest
from kraft.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kraft.metrics import Registry
from kraft.wire.errors import ErrorCode
from tests.coordination.desk import Later, desk_in, settle
from tests.coordinator.groups.consumer.desk import ConsumerDesk, Member
from tests.coordinator.groups.desk import GROUP, Desk
from tests.coordinator.groups.share.desk import ShareDesk, Sharer
from tests.coordinator.groups.test_transactions import TransactionalDesk

RETENTION_S = 7 * 24 * 3600


@pytest.mark.parametrize("what", Counted)
def test_a_rate_covers_a_minute_and_a_count_everything(what: Counted) -> None:
    """Kafka's ``Meter``: a rate over ``metrics.num.samples`` windows of 30 s, and a cumulative sum."""
    now_s = 0.0
    registry = Registry(lambda: now_s)
    count = declare_group_rates(registry)

    def measured() -> tuple[float, float]:
        name = f"kafka.server:type=group-coordinator-metrics,name={what.value}"
        return registry.get(f"{name}-rate").value, registry.get(f"{name}-count").value

    assert measured() == (0, 0)
    count(what, 20)
    assert measured() == (20 / 30, 20)
    now_s = 40.0
    count(what, 20)
    assert measured() == (1, 40)
    now_s = 101.0
    assert measured() == (0, 40)


def test_a_commit_counts_each_offset_that_was_appended() -> None:
    desk = Desk()
    assert desk.commit(1) == 0
    assert desk.commit(2, partition=1) == 0
    assert desk.commit(3, metadata="x" * 5000) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert desk.commit(3, generation=7, member_id="m") != 0
    assert desk.counted == {Counted.OFFSET_COMMITS: 2}


def test_a_transactional_commit_counts_when_it_is_appended() -> None:
    desk = TransactionalDesk()
    desk.commit_in_transaction(1)
    assert desk.counted == {Counted.OFFSET_COMMITS: 1}
    desk.end()
    assert desk.counted == {Counted.OFFSET_COMMITS: 1}


def test_offsets_expire_once() -> None:
    desk = Desk()
    desk.commit(1)
    desk.commit(2, partition=1)
    desk.now += RETENTION_S + 1
    desk.counted.clear()
    desk.expire()
    desk.expire()
    assert desk.counted == {Counted.OFFSET_EXPIRATIONS: 2}


def test_offsets_that_an_administrator_deletes_count_and_those_of_a_deleted_group_do_not() -> None:
    """Apache: ``OffsetMetadataManager.deleteOffsets`` counts, ``deleteAllOffsets`` does not."""
    desk = Desk()
    for partition in range(3):
        desk.commit(1, partition=partition)
    desk.counted.clear()
    topics = [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(each) for each in (0, 1, 7)])]
    desk.ask(OffsetDeleteRequest(group_id=GROUP, topics=topics), 0)
    assert desk.counted == {Counted.OFFSET_DELETIONS: 2}
    desk.ask(DeleteGroupsRequest(groups_names=[GROUP]), 2)
    assert desk.committed() == {}
    assert desk.counted == {Counted.OFFSET_DELETIONS: 2}


def test_a_classic_rebalance_counts_once_its_assignment_is_committed() -> None:
    """Apache: ``GroupMetadataManager`` counts as the group becomes stable."""
    desk = Desk()
    tokens = [desk.enter() for _ in range(2)]
    desk.gather()
    desk.is_followed = False
    desk.settle(tokens)
    assert desk.counted == {}
    desk.commit_all()
    assert desk.counted == {Counted.CLASSIC_REBALANCES: 1}


def test_a_group_epoch_that_a_subscription_raises_is_a_rebalance() -> None:
    """Apache: ``GroupMetadataManager`` counts in a heartbeat, and not as a member leaves."""
    desk = ConsumerDesk(t=2, u=2)
    first, second = Member(desk, "m1"), Member(desk, "m2")
    assert desk.counted == {Counted.CONSUMER_REBALANCES: 2}
    desk.settle_all(first, second)
    assert desk.counted == {Counted.CONSUMER_REBALANCES: 2}
    first.beat(topics=["t", "u"])
    assert desk.counted == {Counted.CONSUMER_REBALANCES: 3}
    epoch = desk.consumer_group.epoch
    desk.beat("m2", -1)
    assert desk.consumer_group.epoch == epoch + 1
    assert desk.counted == {Counted.CONSUMER_REBALANCES: 3}


def test_topics_that_an_expression_finds_are_a_rebalance() -> None:
    desk = ConsumerDesk(t=2)
    Member(desk, "m", subscribed_topic_regex="t.*")
    desk.counted.clear()
    assert desk.resolve() == [("t.*",)]
    assert desk.counted == {Counted.CONSUMER_REBALANCES: 1}


def test_a_share_group_counts_as_a_consumer_group() -> None:
    desk = ShareDesk(t=2)
    first = Sharer(desk, "m1")
    desk.settle_all(first)
    desk.counted.clear()
    epoch = desk.share_group.epoch
    Sharer(desk, "m2")
    assert desk.counted == {Counted.SHARE_REBALANCES: 1}
    desk.beat("m2", -1)
    assert desk.share_group.epoch == epoch + 2
    assert desk.counted == {Counted.SHARE_REBALANCES: 1}


async def test_a_broker_counts_what_is_committed(tmp_path: Path) -> None:
    counted: Counter[Counted] = Counter()
    async with desk_in(tmp_path) as desk, trio.open_nursery() as nursery:
        desk.groups.report_counts(lambda what, number: counted.update({what: number}))
        await desk.lead()
        answer = Later(nursery, desk.commit, 5)
        await settle()
        assert counted == {}
        desk.follower_fetches()
        await settle()
        assert answer.result == 0
        assert counted == {Counted.OFFSET_COMMITS: 1}
