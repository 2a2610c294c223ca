"""The requests to the share coordinators: each partition is asked for, and errors are reported together."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio

from kraft.coordination.groups import Groups
from kraft.coordination.share_groups import StateRequests
from kraft.coordinator.groups.share.effects import DeleteStates, InitializeStates, StateRequest, StatesAnswered
from kraft.coordinator.share.core import ShareStateRequest
from kraft.messages import delete_share_group_state_request as delete_request
from kraft.messages import initialize_share_group_state_request as initialize_request
from kraft.messages.alter_share_group_offsets_request import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kraft.wire.errors import ErrorCode, KafkaError
from tests.coordination.desk import GROUP, SETTINGS, WORLD, Later, desk_in, settle

T, U = UUID(int=1), UUID(int=2)


async def answered(request: StateRequest, *refused: tuple[UUID, int]) -> tuple[list[ShareStateRequest], StatesAnswered]:
    """Return what the share coordinator was asked, and the report."""
    asked: list[ShareStateRequest] = []
    reports: list[StatesAnswered] = []
    arrived = trio.Event()

    async def ask(element: ShareStateRequest) -> Any:
        asked.append(element)
        await trio.lowlevel.checkpoint()
        if (element.share_partition.topic_id, element.share_partition.partition) in refused:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)

    def report(event: StatesAnswered) -> None:
        reports.append(event)
        arrived.set()

    requests = StateRequests(ask)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(requests.run)
        requests.begin(request, report)
        await arrived.wait()
        nursery.cancel_scope.cancel()
    (event,) = reports
    return asked, event


async def test_states_are_initialized_with_their_epoch_and_offsets() -> None:
    request = InitializeStates("g", 3, {T: {1: 7, 0: -1}, U: {4: 9}})
    asked, event = await answered(request)
    elements = {each.share_partition: each.data for each in asked}
    assert all(isinstance(data, initialize_request.PartitionData) for data in elements.values())
    assert {key: (data.partition, data.state_epoch, data.start_offset) for key, data in elements.items()} == {  # type: ignore[union-attr]
        ("g", T, 0): (0, 3, -1),
        ("g", T, 1): (1, 3, 7),
        ("g", U, 4): (4, 3, 9),
    }
    assert event == StatesAnswered(request, {})


async def test_each_refused_partition_is_reported() -> None:
    request = DeleteStates("g", {T: frozenset({0, 1, 2})}, token="t")
    asked, event = await answered(request, (T, 1))
    assert {type(each.data) for each in asked} == {delete_request.PartitionData}
    assert event == StatesAnswered(request, {(T, 1): ErrorCode.FENCED_STATE_EPOCH})


async def test_many_partitions_are_asked_for() -> None:
    asked, event = await answered(InitializeStates("g", 1, {T: dict.fromkeys(range(500), -1)}))
    assert len({each.share_partition for each in asked}) == 500
    assert event.errors == {}


class TestAdministrators:
    """Apache: ``alterShareGroupOffsets`` has the timeout of ``scheduleWriteOperation``, as all writes."""

    async def test_a_change_of_offsets_that_is_not_committed_in_time_is_refused(
        self, tmp_path: Path, autojump_clock: object
    ) -> None:
        async with desk_in(tmp_path) as desk:
            await desk.lead()
            began = trio.current_time()
            with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"), trio.fail_after(60):
                await desk.groups.shard_of(GROUP).request(_altered_offsets()).wait()
            assert trio.current_time() - began == 5

    async def test_once_it_is_committed_it_waits_for_the_share_coordinator(
        self, tmp_path: Path, autojump_clock: object
    ) -> None:
        async def ask(_: Any) -> None:
            await trio.sleep(20)

        groups = partial(Groups, world=WORLD, settings=SETTINGS, retention_check_interval_ms=600_000)
        async with (
            desk_in(tmp_path, coordinator=lambda held: groups(held, ask_share_coordinator=ask)) as desk,
            trio.open_nursery() as nursery,
        ):
            await desk.lead()
            waiting = Later(nursery, desk.groups.shard_of(GROUP).request(_altered_offsets()).wait)
            await settle()
            began = trio.current_time()
            desk.follower_fetches()
            await trio.sleep(20.1)
            desk.follower_fetches()
            assert (await waiting.wait()).responses[0].partitions[0].error_code == ErrorCode.NONE
            assert trio.current_time() - began >= 20


def _altered_offsets() -> AlterShareGroupOffsetsRequest:
    partitions = [AlterShareGroupOffsetsRequestPartition(0, 7)]
    return AlterShareGroupOffsetsRequest(GROUP, [AlterShareGroupOffsetsRequestTopic("t", partitions)])
