"""The runtime of any coordinator, with a core that writes a word and then announces it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from kraft.coordination.shards import Shards
from kraft.coordinator.core import NO_DEADLINE, Committed, CoordinatorEffects, StoredRecord, Token
from kraft.metadata.image import Image
from kraft.metadata.steps import Steps
from kraft.replication.replicas import LeaderChanges, Replicas
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import OFFSETS_TOPIC
from kraft.world.slices import Slices
from tests.coordination.desk import FOLLOWER, LEADER, WORLD, Desk, desk_in, settle


@attrs.frozen
class Word:
    key: bytes
    value: bytes | None


@attrs.define
class WordEffects(CoordinatorEffects[Word]):
    announced: list[bytes] = attrs.Factory(list)


@attrs.define
class WordCore:
    """Its event is a word, which is appended and then announced, or None: announce all that is committed."""

    words: list[bytes] = attrs.Factory(list)
    deadline: float = NO_DEADLINE

    def new_effects(self) -> WordEffects:
        return WordEffects()

    def load(self, records: Iterable[StoredRecord]) -> Steps[None]:
        for record in records:
            self.words.append(record.key or b"")
            yield 1

    def begin(self, now: float, effects: WordEffects) -> Steps[None]:
        effects.announced += self.words
        yield 1

    def in_steps(self, now: float, event: bytes | Committed[Word] | None, effects: WordEffects) -> Steps[None]:
        yield 1
        match event:
            case Committed(records):
                self.words += [each.key for each in records]
            case bytes():
                effects.append.append(Word(event, b""))
                effects.announced.append(event)
            case None:
                effects.announced += self.words

    def unload(self) -> Steps[None]:
        self.words.clear()
        yield 1

    def waiting(self) -> list[Token]:
        return []


@attrs.define(eq=False)
class Words:
    """A driver on :class:`Shards`."""

    replicas: Replicas
    announced: list[bytes] = attrs.Factory(list)
    shards: Shards[WordCore] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.shards = Shards(OFFSETS_TOPIC, self.replicas, WORLD, lambda _: WordCore(), 5.0, self._announce)

    def _announce(self, shard: Any, effects: WordEffects) -> None:
        self.announced += effects.announced

    async def offsets_deleted(self, image: Image) -> None:
        await trio.lowlevel.checkpoint()

    def apply(self, led: LeaderChanges, deleted: Iterable[str] = ()) -> None:
        self.shards.apply(led)

    async def run(self) -> None:
        await self.shards.run()


def all_words(core: WordCore) -> Steps[list[bytes]]:
    found = []
    for position in range(len(core.words)):
        yield 1
        found += core.words[position : position + 1]
    return found


@asynccontextmanager
async def words_in(path: Path, **static: str) -> AsyncIterator[tuple[Desk, Words]]:
    async with desk_in(path, coordinator=Words, **static) as desk:
        words: Any = desk.groups
        yield desk, words


async def test_effects_of_a_cores_own_wait_for_the_commit(tmp_path: Path) -> None:
    """A marker that is sent before its transaction's decision is committed could contradict the next coordinator."""
    async with words_in(tmp_path) as (desk, words):
        await desk.lead()
        shard = words.shards.shard_at(0)
        shard.take(b"a")
        await settle()
        assert words.announced == []
        desk.follower_fetches()
        await settle()
        assert words.announced == [b"a"]
        shard.take(None)
        assert words.announced == [b"a", b"a"], "without records there is nothing to wait for"


async def test_effects_of_an_append_that_fails_are_not_performed(tmp_path: Path) -> None:
    async with words_in(tmp_path) as (desk, words):
        await desk.lead()
        shard = words.shards.shard_at(0)
        shard.take(b"a")
        await desk.change(leader=FOLLOWER)
        await settle()
        assert words.announced == []
        with pytest.raises(KafkaError) as refused:
            words.shards.shard_at(0)
        assert refused.value.code == ErrorCode.NOT_COORDINATOR


async def test_a_loaded_partition_is_served_once_it_is_committed(tmp_path: Path) -> None:
    """Below ``min.insync.replicas``, too: an uncommitted decision may be lost, and then another one is made."""
    async with words_in(tmp_path, min_insync_replicas="2") as (desk, words):
        await desk.lead()
        words.shards.shard_at(0).take(b"a")
        await desk.change(leader=-1)
        await desk.change(leader=LEADER, isr=[LEADER])
        await settle()
        assert words.announced == []
        with pytest.raises(KafkaError) as refused:
            words.shards.shard_of("any")
        assert refused.value.code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        with pytest.raises(KafkaError):
            await words.shards.read_all(all_words, Slices(1))
        desk.follower_fetches()
        await desk.change(isr=[LEADER, FOLLOWER])
        desk.follower_fetches()
        await settle()
        assert words.announced == [b"a"], "what the load left unfinished is resumed"
        assert await words.shards.read_all(all_words, Slices(1)) == [b"a"]


@pytest.mark.parametrize(
    ("is_loaded_again", "code"),
    [(False, ErrorCode.NOT_COORDINATOR), (True, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)],
)
async def test_a_read_of_a_core_that_is_freed_meanwhile_is_refused(
    tmp_path: Path, is_loaded_again: bool, code: ErrorCode
) -> None:
    """A part of the state would look like all of it: OffsetFetch would return -1 for a committed offset."""
    async with words_in(tmp_path) as (desk, words):
        await desk.lead()
        shard = words.shards.shard_at(0)
        for word in (b"a", b"b"):
            shard.take(word)
        desk.follower_fetches()
        await settle()
        refusals = []

        async def read() -> None:
            with pytest.raises(KafkaError) as refused:
                await shard.read(all_words(shard.core), Slices(1))
            refusals.append(refused.value.code)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(read)
            await trio.lowlevel.checkpoint()
            shard.must_reload = is_loaded_again
            words.shards.resign(0, KafkaError(ErrorCode.NOT_COORDINATOR))
        assert refusals == [code]
