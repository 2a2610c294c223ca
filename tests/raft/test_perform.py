"""Effects are performed in the order of their fields, and the election state is durable before the others."""

from __future__ import annotations

from typing import Any, cast

import attrs

from kraft.raft.events import Effects, FetchedRecords, Reply, Send, StoreChunk
from kraft.raft.messages import BeginQuorumEpochRequest, BeginQuorumEpochResponse, EpochEnd, LogSlice, SnapshotId
from kraft.raft.perform import EffectsWorld, perform
from kraft.raft.state import ElectionState
from kraft.wire.errors import ErrorCode

SNAPSHOT = SnapshotId(7, 4)
ELECTION = ElectionState(5, leader_id=2)
ALL = Effects(
    election=ELECTION,
    truncate=9,
    install=SNAPSHOT,
    append=FetchedRecords(LogSlice(7, (EpochEnd(5, 9),)), b"records"),
    flush=True,
    store=StoreChunk(SNAPSHOT, 0, True, b"piece"),
    replies=[Reply(1, BeginQuorumEpochResponse(ErrorCode.NONE, 5, 2))],
    sends=[Send(1, 2, BeginQuorumEpochRequest(5, 1))],
    high_watermark=7,
)
NOT_PERFORMED = {"fatal", "election", "transitions", "verdicts", "deadline"}
METHODS = {"replies": "reply", "sends": "send", "high_watermark": "commit"}


class World:
    """Notes each call of a method with its argument, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


def world() -> tuple[World, EffectsWorld]:
    noted = World()
    return noted, cast(EffectsWorld, noted)


def test_effects_are_performed_in_field_order() -> None:
    """``Effects`` documents the order. A field that is added later must be performed too, or be listed here."""
    noted, target = world()
    assert list(perform(ALL, target)) == [ELECTION]
    fields = [field.name for field in attrs.fields(Effects) if field.name not in NOT_PERFORMED]
    assert [name for name, *_ in noted.calls] == [METHODS.get(field, field) for field in fields]
    arguments = [getattr(ALL, field) for field in fields if field != "flush"]
    assert [argument for _, *rest in noted.calls for argument in rest] == arguments


def test_nothing_is_done_before_the_election_state_is_durable() -> None:
    """KIP-595: a vote is on disk before the driver sends it to the candidate."""
    noted, target = world()
    performance = perform(ALL, target)
    assert next(performance) == ELECTION
    assert noted.calls == []
    assert next(performance, None) is None
    assert noted.calls


def test_after_a_fatal_effect_nothing_is_done() -> None:
    noted, target = world()
    assert list(perform(attrs.evolve(ALL, fatal="the logs contradict each other"), target)) == []
    assert noted.calls == [("stop", "the logs contradict each other")]


def test_an_unset_field_causes_no_change() -> None:
    noted, target = world()
    assert list(perform(Effects(), target)) == []
    assert noted.calls == []
