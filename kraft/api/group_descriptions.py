"""Descriptions of several groups: each by its own coordinator's partition, one group in each request to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kraft.api.authorized_operations import GROUP_OPERATIONS
from kraft.coordinator.partitions import HASHED_CHARACTERS
from kraft.metadata.steps import distinct
from kraft.rpc.channel import Parked, Reply, response_of
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices, in_slices

_SLICE_GROUPS = 50


async def describe_each(
    group_ids: Sequence[str],
    submit: Callable[[str], Reply],
    refused: Callable[[str, ErrorCode], Any],
    response: Any,
    *,
    with_operations: bool,
) -> Reply:
    """Describe groups. A group that is named again is described once.

    ``submit`` describes one group, and may raise KafkaError. ``refused`` returns the response with that error. The
    groups of both are added to ``response``.
    """
    slices = Slices(_SLICE_GROUPS)
    replies = []
    for group_id in await in_slices(distinct(group_ids, str), slices):
        try:
            reply = submit(group_id)
        except KafkaError as error:
            reply = refused(group_id, error.code)
        replies.append((group_id, reply))
        await slices.spend(1 + len(group_id) // HASHED_CHARACTERS)

    async def all_described() -> Any:
        for group_id, reply in replies:
            try:
                answer: Any = await response_of(reply)
            except KafkaError as error:
                answer = refused(group_id, error.code)
            for group in answer.groups:
                if with_operations and group.error_code == 0:
                    group.authorized_operations = GROUP_OPERATIONS
                response.groups.append(group)
            await slices.spend()
        return response

    return Parked(all_described)
