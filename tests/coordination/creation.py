"""The automatic creation of topics, with a controller that the test plays."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import attrs
import trio
from trio.testing import wait_all_tasks_blocked

from kraft.config.properties import from_mapping
from kraft.control.controller_channel import ControllerChannel
from kraft.coordination.auto_topic_creation import AutoTopicCreation
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.testing.embedded import SETTINGS
from kraft.wire.errors import ErrorCode, KafkaError


@attrs.define
class Controller:
    """Receives the requests, and answers one as the test decides."""

    asked: list[CreateTopicsRequest] = attrs.Factory(list)
    _answers: list[CreateTopicsResponse | KafkaError] = attrs.Factory(list)
    _answered: trio.Event = attrs.Factory(trio.Event)

    async def request(self, message: Any) -> CreateTopicsResponse:
        number = len(self.asked)
        self.asked.append(message)
        while len(self._answers) <= number:
            await self._answered.wait()
        answer = self._answers[number]
        if isinstance(answer, KafkaError):
            raise answer
        return answer

    async def answer(self, *codes: ErrorCode) -> None:
        """Answer the oldest request without an answer."""
        names = [topic.name for topic in self.asked[len(self._answers)].topics]
        results = [CreatableTopicResult(name, error_code=code) for name, code in zip(names, codes, strict=True)]
        await self._give(CreateTopicsResponse(topics=results))

    async def fail(self, failure: KafkaError) -> None:
        await self._give(failure)

    async def _give(self, answer: CreateTopicsResponse | KafkaError) -> None:
        self._answers.append(answer)
        self._answered.set()
        self._answered = trio.Event()
        await wait_all_tasks_blocked()

    @property
    def names(self) -> list[list[str]]:
        return [[topic.name for topic in request.topics] for request in self.asked]


@asynccontextmanager
async def creation(**settings: str) -> AsyncIterator[tuple[AutoTopicCreation, Controller]]:
    """A running creation of a broker that has caught up."""
    config = from_mapping({**SETTINGS, **{key.replace("_", "."): value for key, value in settings.items()}}).config
    controller = Controller()
    topics = AutoTopicCreation(config, cast(ControllerChannel, controller), trio.lowlevel.checkpoint)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(topics.run)
        yield topics, controller
        nursery.cancel_scope.cancel(reason="the test is over")
