"""Requests of peers that were put to the core, until it has answered them."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import trio

from kraft.quorum.log import MetadataLog
from kraft.quorum.wire import MAX_FETCH_BYTES
from kraft.raft.events import Reply
from kraft.raft.messages import FetchResponse, Response


@attrs.frozen
class Answer:
    """What the core says to a request, and the bytes of the records that ``response`` names."""

    response: Response
    data: bytes = b""


@attrs.define(eq=False)
class Question:
    """One request; a Fetch takes up to ``max_bytes`` of records."""

    number: int
    max_bytes: int
    _answered: trio.Event = attrs.Factory(trio.Event)
    _answer: Answer | None = None

    async def answer(self) -> Answer:
        """Wait for what the core says."""
        if self._answer is None:
            await self._answered.wait()
        assert self._answer is not None
        return self._answer

    def settle(self, answer: Answer) -> None:
        """The core has spoken."""
        self._answer = answer
        self._answered.set()


class Questions:
    """The requests that the core has not answered. It answers each, a Fetch within what its ``max_wait_s`` allows."""

    def __init__(self, log: MetadataLog) -> None:
        self._log = log
        self._numbers = 0
        self._open: dict[int, Question] = {}

    def add(self, max_bytes: int) -> Question:
        """A request that is about to be put to the core."""
        self._numbers += 1
        question = self._open[self._numbers] = Question(self._numbers, min(max_bytes, MAX_FETCH_BYTES))
        return question

    def withdraw(self, question: Question) -> None:
        """It did not come to the core."""
        del self._open[question.number]

    def settle(self, replies: Sequence[Reply]) -> None:
        """Give the core's answers to whoever asked. The log is read now: it may be another one later.

        Raises StorageError if it is damaged there.
        """
        for reply in replies:
            question, response, data = self._open.pop(reply.request_id), reply.response, b""
            if isinstance(response, FetchResponse) and response.records is not None:
                data, records = self._log.read(response.records.base_offset, question.max_bytes)
                response = response.bringing(records)
            question.settle(Answer(response, data))
