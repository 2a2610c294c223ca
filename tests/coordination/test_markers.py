"""WriteTxnMarkers to the leaders of partitions, in virtual time, until each partition has its marker (KIP-98)."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import attrs
import pytest
import trio
import trio.testing

from kraft.config.properties import from_mapping
from kraft.coordination import markers
from kraft.coordination.markers import MarkerSender
from kraft.coordinator.transactions.effects import TransactionMarkers
from kraft.messages.partition_change_record import PartitionChangeRecord
from kraft.messages.remove_topic_record import RemoveTopicRecord
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode
from tests.coordination.marker_leaders import OWN, MarkerLeaders, Partition
from tests.support.held import TOPIC, TOPIC_ID, Broker, broker_in, registration, topic

CONFIG = from_mapping(SETTINGS).config
OTHER, THIRD = 2, 3
VERSION = 2
PAUSE_S = 0.1
settle = trio.testing.wait_all_tasks_blocked


def ending(producer_id: int, *indexes: int, committed: bool = True) -> TransactionMarkers:
    partitions = tuple((TOPIC, index) for index in indexes)
    return TransactionMarkers(f"id-{producer_id}", producer_id, 4, 9, committed, VERSION, partitions)


@attrs.define
class MarkerDesk:
    """A sender, and what it reports: the producer id and the partitions of each report, with its time."""

    broker: Broker
    sender: MarkerSender
    reports: list[tuple[int, list[Partition]]] = attrs.Factory(list)
    reported_s: dict[int, float] = attrs.Factory(dict)

    def send(self, ended: TransactionMarkers, is_wanted: Callable[[], bool] = lambda: True) -> None:
        self.sender.send(ended, self._report, is_wanted)

    def _report(self, ended: TransactionMarkers, partitions: list[Partition]) -> None:
        self.reports.append((ended.producer_id, partitions))
        self.reported_s[ended.producer_id] = trio.current_time()

    async def change(self, index: int, leader: int) -> None:
        await self.broker.hear(PartitionChangeRecord(partition_id=index, topic_id=TOPIC_ID, leader=leader))


@asynccontextmanager
async def sending(path: Path, leaders: MarkerLeaders, partitions: int = 2) -> AsyncIterator[MarkerDesk]:
    """Broker 1 sends; broker 2 leads the topic. The port of each broker is its id."""
    broker = broker_in(path, 1)
    await broker.replicas.registered(5)
    nodes = [registration(each, 4 + each, port=each) for each in (1, OTHER, THIRD)]
    await broker.hear(*nodes, *topic(OTHER, THIRD, leader=OTHER, partitions=partitions))
    desk = MarkerDesk(broker, MarkerSender(CONFIG, broker.replicas, cast(Any, leaders.connect), leaders.write_own))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.sender.run)
        yield desk
        nursery.cancel_scope.cancel()


async def test_own_partitions_need_no_connection(tmp_path: Path) -> None:
    """KIP-98, 5.2: the coordinator writes markers to the leaders of the partitions, of which it may be one. Those of
    another leader do not wait for them.
    """
    leaders = MarkerLeaders()
    async with sending(tmp_path, leaders) as desk:
        await desk.change(0, leader=1)
        desk.send(ending(7, 0, 1))
        await settle()
        assert sorted((sent.port, *sent.partitions[7]) for sent in leaders.sent) == [
            (OWN, (TOPIC, 0)),
            (OTHER, (TOPIC, 1)),
        ]
        assert leaders.connections == 1
        assert sorted(desk.reports) == [(7, [(TOPIC, 0)]), (7, [(TOPIC, 1)])]


async def test_a_small_transaction_ends_in_the_next_round_of_the_scheduler(tmp_path: Path) -> None:
    """Until its end a coordinator answers CONCURRENT_TRANSACTIONS (KIP-98), and the producer waits for a pause."""
    leaders = MarkerLeaders()
    async with sending(tmp_path, leaders) as desk:
        await desk.change(0, leader=1)
        desk.send(ending(0, 0))
        await settle()
        for producer_id in range(1, 20):
            desk.send(ending(producer_id, 0))
            for _ in range(2):
                await trio.lowlevel.checkpoint()  # the order of the tasks of one round is random
            assert leaders.sent[-1].partitions == {producer_id: [(TOPIC, 0)]}
            await settle()


async def test_a_refused_own_marker_goes_to_the_next_leader(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """NOT_LEADER_OR_FOLLOWER: the leadership may move between the decision and the write."""
    leaders = MarkerLeaders(codes={(TOPIC, 0): deque([ErrorCode.NOT_LEADER_OR_FOLLOWER])})
    async with sending(tmp_path, leaders) as desk:
        await desk.change(0, leader=1)
        desk.send(ending(7, 0))
        await settle()
        assert desk.reports == []
        await desk.change(0, leader=OTHER)
        await trio.sleep(1)
        assert desk.reports == [(7, [(TOPIC, 0)])]
    assert [sent.port for sent in leaders.sent] == [OWN, OTHER]


async def test_written_markers_are_reported(tmp_path: Path) -> None:
    leaders = MarkerLeaders()
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(7, 0, 1, committed=False))
        await settle()
    [sent] = leaders.sent
    assert (sent.port, sent.partitions) == (OTHER, {7: [(TOPIC, 0), (TOPIC, 1)]})
    [marker] = sent.message.markers
    assert (marker.producer_epoch, marker.transaction_result, marker.coordinator_epoch) == (4, False, 9)
    assert marker.transaction_version == VERSION
    assert desk.reports == [(7, [(TOPIC, 0), (TOPIC, 1)])]


async def test_a_refused_marker_is_sent_again_after_a_pause(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """``TransactionMarkerRequestCompletionHandler`` retries errors of a partition that another attempt can mend."""
    refused = [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    leaders = MarkerLeaders({(TOPIC, 1): deque(refused)})
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(7, 0, 1))
        await trio.sleep(10 * PAUSE_S)
    assert [sent.partitions for sent in leaders.sent] == [{7: [(TOPIC, 0), (TOPIC, 1)]}, *[{7: [(TOPIC, 1)]}] * 2]
    times = [sent.at_s for sent in leaders.sent]
    assert [after - before for before, after in itertools.pairwise(times)] == pytest.approx([PAUSE_S] * 2)
    assert desk.reports == [(7, [(TOPIC, 0)]), (7, [(TOPIC, 1)])]


async def test_a_refused_marker_delays_no_other(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """A partition with too few replicas in sync stops its own transactions, not those of its leader's others."""
    leaders = MarkerLeaders({(TOPIC, 1): deque([ErrorCode.NOT_ENOUGH_REPLICAS] * 20)})
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(1, 1))
        await settle()
        for producer_id in range(2, 12):
            begun_s = trio.current_time()
            desk.send(ending(producer_id, 0))
            await trio.sleep(PAUSE_S / 4)
            assert desk.reported_s[producer_id] == begun_s
    assert leaders.connections == 1


async def test_a_marker_follows_its_partition_to_another_leader(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    leaders = MarkerLeaders({(TOPIC, 0): deque([ErrorCode.NOT_LEADER_OR_FOLLOWER])})
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(7, 0))
        await settle()
        await desk.change(0, THIRD)
        await trio.sleep(2 * PAUSE_S)
    assert [sent.port for sent in leaders.sent] == [OTHER, THIRD]
    assert desk.reports == [(7, [(TOPIC, 0)])]


async def test_a_marker_waits_for_a_leader(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    leaders = MarkerLeaders()
    async with sending(tmp_path, leaders) as desk:
        await desk.change(0, -1)
        desk.send(ending(7, 0))
        await trio.sleep(20 * PAUSE_S)
        assert not leaders.sent
        await desk.change(0, THIRD)
        await trio.sleep(2 * PAUSE_S)
    assert [sent.port for sent in leaders.sent] == [THIRD]
    assert desk.reports == [(7, [(TOPIC, 0)])]


async def test_a_deleted_partition_needs_no_marker(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """``TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue``: it "may have been deleted", so skip it."""
    leaders = MarkerLeaders({(TOPIC, 0): deque([ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3)})
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(7, 0))
        await settle()
        assert not desk.reports
        await desk.broker.hear(RemoveTopicRecord(topic_id=TOPIC_ID))
        await trio.sleep(2 * PAUSE_S)
    assert desk.reports == [(7, [(TOPIC, 0)])]


async def test_a_broken_connection_is_replaced(tmp_path: Path, autojump_clock: trio.testing.MockClock) -> None:
    """The response is lost, so the leader may have appended the markers: a repeated marker changes nothing there."""
    leaders = MarkerLeaders(breaks=2)
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(7, 0, 1))
        await trio.sleep(5 * PAUSE_S)
    assert [sent.partitions for sent in leaders.sent] == [{7: [(TOPIC, 0), (TOPIC, 1)]}] * 3
    assert leaders.connections == 3
    assert desk.reports == [(7, [(TOPIC, 0), (TOPIC, 1)])]


async def test_an_unreachable_leader_is_tried_until_another_one_leads(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    leaders = MarkerLeaders(down={OTHER})
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(7, 0))
        await trio.sleep(10 * PAUSE_S)
        assert not desk.reports
        await desk.change(0, THIRD)
        await trio.sleep(2 * PAUSE_S)
    assert [sent.port for sent in leaders.sent] == [THIRD]
    assert desk.reports == [(7, [(TOPIC, 0)])]


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
async def test_a_fenced_coordinator_gives_up(
    tmp_path: Path, autojump_clock: trio.testing.MockClock, code: ErrorCode
) -> None:
    """The partition knows a newer producer or coordinator, which ends the transaction: KIP-98, "zombie fencing"."""
    leaders = MarkerLeaders({(TOPIC, 0): deque([code])})
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(7, 0, 1))
        await trio.sleep(10 * PAUSE_S)
    assert len(leaders.sent) == 1
    assert desk.reports == [(7, [(TOPIC, 1)])]


async def test_a_coordinator_that_resigned_gets_no_report_and_sends_no_more(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """The next coordinator loads the prepared transaction, and sends its markers itself."""
    leaders = MarkerLeaders({(TOPIC, 1): deque([ErrorCode.NOT_ENOUGH_REPLICAS] * 20)}, answers=trio.Event())
    is_active = True
    async with sending(tmp_path, leaders) as desk:
        desk.send(ending(7, 0, 1), lambda: is_active)
        await settle()
        is_active = False
        leaders.answers.set()
        await trio.sleep(10 * PAUSE_S)
    assert len(leaders.sent) == 1
    assert not desk.reports


async def test_markers_that_wait_go_in_one_bounded_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``TransactionMarkerChannelManager`` has one request to a broker under way, and the next has all that waits."""
    monkeypatch.setattr(markers, "_REQUEST_PARTITIONS", 4)
    leaders = MarkerLeaders(answers=trio.Event())
    async with sending(tmp_path, leaders, partitions=3) as desk:
        for producer_id in (1, 2, 3):
            desk.send(ending(producer_id, 0, 1, 2))
            await settle()
        leaders.answers.set()
        await settle()
    every = [(TOPIC, index) for index in range(3)]
    assert [sent.partitions for sent in leaders.sent] == [{1: every}, {2: every, 3: every[:1]}, {3: every[1:]}]
    assert desk.reports == [(1, every), (2, every), (3, every[:1]), (3, every[1:])]
