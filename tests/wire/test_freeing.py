"""Large messages are freed in steps, and what another object has stays."""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Iterator
from typing import Any

from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.write_share_group_state_request import (
    PartitionData,
    StateBatch,
    WriteShareGroupStateRequest,
    WriteStateData,
)
from kraft.wire.freeing import STEP, free_in_steps
from kraft.wire.mapped import mapped

LENGTH = 10 * STEP


class Canary(str):
    """A string that a weak reference can watch."""


def canaries() -> tuple[list[Canary], list[weakref.ref[Canary]]]:
    made = [Canary(f"t{number}") for number in range(LENGTH)]
    return made, [weakref.ref(each) for each in made]


def freed(steps: Iterator[int], watched: list[weakref.ref[Canary]]) -> list[int]:
    """Run the steps, and return how many canaries each has freed."""
    counts = []
    before = len(watched)
    for _ in steps:
        left = sum(each() is not None for each in watched)
        counts.append(before - left)
        before = left
    return counts


def test_the_elements_of_an_array_are_freed_in_steps() -> None:
    names, watched = canaries()
    owned: list[Any] = [MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])]
    del names
    counts = freed(free_in_steps(owned), watched)
    assert sum(counts) == LENGTH
    assert max(counts) == STEP


def test_long_arrays_within_elements_are_freed_in_steps() -> None:
    names, watched = canaries()
    topics = [ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition(partition_index=n) for n in names])]
    owned: list[Any] = [ListOffsetsRequest(topics=topics)]  # the index may be anything: nothing is encoded
    del names, topics
    counts = freed(free_in_steps(owned), watched)
    assert sum(counts) == LENGTH
    assert max(counts) == STEP


def test_long_arrays_far_inside_are_freed_in_steps() -> None:
    """100,000 state batches of one partition of one topic took one step of 4 to 15 ms."""
    offsets, watched = canaries()
    batches = [StateBatch(first_offset=each) for each in offsets]  # type: ignore[arg-type]
    partitions = [PartitionData(state_batches=[]), PartitionData(state_batches=batches)]
    owned: list[Any] = [WriteShareGroupStateRequest(topics=[WriteStateData(partitions=partitions)])]
    del offsets, batches, partitions
    counts = freed(free_in_steps(owned), watched)
    assert (sum(counts), max(counts)) == (LENGTH, STEP)


def test_short_arrays_far_inside_are_freed_together() -> None:
    """A step for each of 100,000 arrays of one element took ten times as long as the elements that it counted."""
    offsets, watched = canaries()
    states = [PartitionData(state_batches=[StateBatch(first_offset=each)]) for each in offsets]  # type: ignore[arg-type]
    owned: list[Any] = [WriteShareGroupStateRequest(topics=[WriteStateData(partitions=[each]) for each in states])]
    del offsets, states
    counts = freed(free_in_steps(owned), watched)
    assert (sum(counts), max(counts)) == (LENGTH, STEP)
    assert len(counts) == 2 * LENGTH // STEP  # the topics, and their partitions


def test_the_elements_of_the_request_in_an_answer_are_freed_in_steps() -> None:
    """``mapped``: the answer has the list of its request, so the last owner of that may be the answer."""
    for answer_first in (True, False):
        names, watched = canaries()
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
        answer = MetadataRequest(topics=mapped(request.topics or [], lambda topic: topic))
        owned: list[Any] = [answer, request] if answer_first else [request, answer]
        del names, request, answer
        counts = freed(free_in_steps(owned), watched)
        assert (sum(counts), max(counts)) == (LENGTH, STEP)


def test_dictionaries_and_sets_are_freed_in_steps() -> None:
    names, watched = canaries()
    owned: list[Any] = [set(names[1::2]), dict.fromkeys(names[::2])]
    del names
    counts = freed(free_in_steps(owned), watched)
    assert (sum(counts), max(counts)) == (LENGTH, STEP)
    kept = {1: 2}
    list(free_in_steps([kept]))
    assert kept


def test_an_array_that_another_object_has_stays_as_it_is() -> None:
    """A group keeps the protocols of a JoinGroup; a heavy request must not empty them."""
    kept = [MetadataRequestTopic(name="t") for _ in range(LENGTH)]
    list(free_in_steps([MetadataRequest(topics=kept)]))
    assert len(kept) == LENGTH


def test_a_message_that_another_object_has_stays_as_it_is() -> None:
    kept = MetadataRequest(topics=[MetadataRequestTopic(name="t") for _ in range(LENGTH)])
    list(free_in_steps([kept]))
    assert len(kept.topics or ()) == LENGTH


def test_an_element_that_another_object_has_stays_as_it_is() -> None:
    kept = ListOffsetsTopic(name="t", partitions=[ListOffsetsPartition() for _ in range(LENGTH)])
    list(free_in_steps([ListOffsetsRequest(topics=[kept])]))
    assert len(kept.partitions) == LENGTH


def test_a_buffer_is_freed_in_steps_unless_a_view_has_it() -> None:
    assert len(list(free_in_steps([bytearray(100 << 20)]))) > 3
    kept = bytearray(100 << 20)
    view = memoryview(kept)
    owned: list[Any] = [kept]
    del kept
    list(free_in_steps(owned))
    assert len(view) == 100 << 20


def mapped_frame(size: int) -> memoryview:
    """A large frame, as the FrameReader makes it."""
    return memoryview(mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def test_a_mapping_is_freed_in_steps() -> None:
    """The system takes back 50 MB in 8 ms, and 4 MiB in less than one."""
    frame = mapped_frame(50 << 20)
    mapping, lengths = frame.obj, []
    watched = weakref.ref(mapping)
    owned = [frame]
    del frame, mapping
    for _ in free_in_steps(owned):
        left = watched()
        lengths.append(0 if left is None else len(left))
        del left
    step = STEP * 8192
    assert lengths == [(50 << 20) - number * step for number in range(1, len(lengths) + 1)]
    assert lengths[-1] <= step
    assert watched() is None


def test_a_mapping_of_which_another_object_has_a_view_stays_as_it_is() -> None:
    """A Produce request that is written by another task has views of the frame."""
    frame = mapped_frame(50 << 20)
    frame[-1] = 7
    view = frame[49 << 20 :]
    owned = [frame]
    del frame
    list(free_in_steps(owned))
    assert len(view) == 1 << 20
    assert view[-1] == 7
