"""The driver of the active controller: one task that takes requests, decides, appends, replays, and goes on.

It does not wait for its records to be committed: the next request is decided on top of them while one flush commits
many. Each caller waits for its own, so an answer is given only when all that it rests on is committed. An answer that
needed no record waits for whatever was appended before it.
"""

from __future__ import annotations

import logging
import math
import random
import uuid
from collections.abc import Sequence
from typing import Any

import attrs
import trio

from kraft.controller.context import ControllerConfig
from kraft.controller.core import HANDLERS, Activated, ControllerCore, Event, Request, SessionTimeout
from kraft.messages.controller_registration_request import ControllerRegistrationRequest
from kraft.messages.no_op_record import NoOpRecord
from kraft.metadata.delta import MetadataError
from kraft.metadata.levels import WRITABLE_LEVELS
from kraft.node.clock import Clock
from kraft.node.quorum import MetadataFollower, Quorum
from kraft.wire.errors import ErrorCode, KafkaError

_QUEUED_REQUESTS = 100
_DEFAULT_TIMEOUT_MS = 30_000

logger = logging.getLogger(__name__)


@attrs.define(eq=False)
class _Call:
    """A request on its way: the answer, and the offset that must be committed before it is given."""

    request: Request
    decided: trio.Event = attrs.Factory(trio.Event)
    response: Any = None
    error: KafkaError | None = None
    offset: int = -1


class Controller:
    """The active controller of a node that leads the quorum.

    ``bootstrap`` is what an empty log starts with, the level of metadata.version first. After
    ``max_idle_interval_ms`` (metadata.max.idle.interval.ms) without a record one that says nothing is appended, so
    that followers can tell an idle controller from a dead one (KIP-835); 0 turns it off.
    """

    def __init__(
        self,
        quorum: Quorum,
        config: ControllerConfig,
        clock: Clock,
        *,
        bootstrap: Sequence[Any],
        max_idle_interval_ms: int,
    ) -> None:
        self._quorum = quorum
        self._config = config
        self._clock = clock
        self._bootstrap = tuple(bootstrap)
        self._max_idle_s = max_idle_interval_ms / 1000 if max_idle_interval_ms else math.inf
        self._calls, self._inbox = trio.open_memory_channel[_Call](_QUEUED_REQUESTS)

    async def request(
        self,
        message: Any,
        version: int | None = None,
        *,
        former_incarnation_gone: bool = False,
        timeout_ms: float = _DEFAULT_TIMEOUT_MS,
    ) -> Any:
        """Have ``message`` decided (as its newest version unless told) and return the response once it is committed.

        ``former_incarnation_gone``: see ``kraft.controller.core.Request``. Raises KafkaError: REQUEST_TIMED_OUT after
        ``timeout_ms`` (it may still be carried out), NOT_CONTROLLER if this controller has ended, UNKNOWN_SERVER_ERROR
        if it could not decide, UNSUPPORTED_VERSION for a message that is no request to a controller.
        """
        if type(message) not in HANDLERS:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{type(message).__name__} is not for the controller.")
        newest = message.VALID_VERSIONS[1]
        call = _Call(Request(message, newest if version is None else version, former_incarnation_gone))
        with trio.move_on_after(timeout_ms / 1000):
            try:
                await self._calls.send(call)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise KafkaError(ErrorCode.NOT_CONTROLLER) from None
            await call.decided.wait()
            if call.error is not None:
                raise call.error
            await self._quorum.committed(call.offset)
            return call.response
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    def stop(self) -> None:
        """Take no more requests; ``run`` returns once those taken are decided."""
        self._calls.close()

    async def run(
        self,
        registration: ControllerRegistrationRequest,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Be the active controller; started once the metadata is replayed and the controller's first records committed.

        ``registration`` is how this controller makes itself known. Returns after ``stop``.

        Error handling: OSError from the log and MetadataError (the log contradicts itself) end it, and must end the
        node. A request that cannot be decided is answered UNKNOWN_SERVER_ERROR and logged.
        """
        async with self._inbox:
            core = await self._activate(registration)
            await self._quorum.committed(self._quorum.end_offset - 1)
            task_status.started()
            last_append = trio.current_time()
            while True:
                end_offset = self._quorum.end_offset
                try:
                    await self._turn(core, last_append + self._max_idle_s)
                except trio.EndOfChannel:
                    return
                if self._quorum.end_offset != end_offset:
                    last_append = trio.current_time()

    async def _activate(self, registration: ControllerRegistrationRequest) -> ControllerCore:
        """Replay the log, then append what a new active controller has to say."""
        follower = MetadataFollower(self._quorum)
        await follower.catch_up(self._quorum.end_offset)
        core = ControllerCore(
            self._config, follower.loader, self._quorum.end_offset, uuid.uuid4, random.Random(), _now_ms()
        )
        self._step(core, Activated(self._bootstrap))
        lowest, highest = WRITABLE_LEVELS
        if not lowest <= core.image.metadata_version <= highest:
            level = core.image.metadata_version
            raise MetadataError(f"metadata.version is {level}; a controller can be active at {lowest} to {highest}")
        self._step(core, Request(registration, registration.VALID_VERSIONS[1]))
        return core

    async def _turn(self, core: ControllerCore, idle_deadline: float) -> None:
        """Take one request, or do what is due."""
        call: _Call | None = None
        session_deadline = core.deadline_ms / 1000
        with trio.move_on_at(min(session_deadline, idle_deadline)):
            call = await self._inbox.receive()
        if call is not None:
            self._decide(core, call)
        elif trio.current_time() >= session_deadline:
            self._step(core, SessionTimeout())
        else:
            self._append(core, (NoOpRecord(),))

    def _decide(self, core: ControllerCore, call: _Call) -> None:
        try:
            decision = core.step(_now_ms(), call.request)
        except Exception:
            logger.exception("no decision on %r", call.request.message)
            call.error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            self._append(core, decision.records)
            call.response = decision.response
            call.offset = self._quorum.end_offset - 1
        call.decided.set()

    def _step(self, core: ControllerCore, event: Event) -> None:
        self._append(core, core.step(_now_ms(), event).records)

    def _append(self, core: ControllerCore, records: Sequence[Any]) -> None:
        if records:
            self._quorum.append(records)
            core.replay(records, self._quorum.end_offset, self._quorum.epoch, self._clock.now_ms())


def _now_ms() -> float:
    """Sessions are measured on Trio's clock, which does not jump with the system's."""
    return trio.current_time() * 1000
