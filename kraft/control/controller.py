"""The controller role of a node: active while this node leads the quorum, on standby otherwise.

``lead`` runs for one epoch. It begins with the image that the standby has replayed. The task that brings a request
decides it: the core decides, then the records are encoded, replayed and appended. The next request is decided on top of
them, so one flush commits many decisions. Each caller waits until its own records are committed: a response never rests
on records that are not. A response without records waits for the records that were appended before it.

Decisions are serial. A small one has no checkpoint. A large one lets other tasks run after a few milliseconds of work,
and the requests that come meanwhile wait in their order; nothing of it is visible before its records are appended. If
its task is cancelled before that, or the leadership ends, the decision is dropped.
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import attrs
import trio

from kraft.control.controller_channel import DEFAULT_TIMEOUT_MS
from kraft.control.metadata import Metadata
from kraft.control.trace import ControllerActivated, ControllerDeactivated
from kraft.controller.context import ControllerConfig, Decision
from kraft.controller.core import (
    HANDLERS,
    HANDLERS_IN_STEPS,
    Activated,
    ControllerCore,
    ControllerRequest,
    DeadlineReached,
    Event,
)
from kraft.messages.describe_quorum_request import DescribeQuorumRequest
from kraft.messages.describe_quorum_response import DescribeQuorumResponse
from kraft.messages.no_op_record import NoOpRecord
from kraft.metadata.delta import MetadataError
from kraft.metadata.levels import WRITABLE_LEVELS
from kraft.metadata.steps import Steps, finished
from kraft.quorum.description import Directories, describe_quorum
from kraft.quorum.driver import NotLeader, Quorum
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices, in_slices
from kraft.world.world import World

_SLICE_RECORDS = 200
"""Not a Kafka setting. The cost of the steps of a decision before other tasks run: a few milliseconds of work."""

_STALL_S = 0.1
"""Not a Kafka setting. If the timer is later than that, the event loop was held."""
_READING_S = 1.0
"""Not a Kafka setting. The time to read the heartbeats that arrived while the event loop was held."""

logger = logging.getLogger("kraft.controller")


@attrs.frozen
class _Decided:
    """A response, and the condition for sending it: everything up to ``offset`` is committed in ``epoch``."""

    response: Any
    offset: int
    epoch: int


@attrs.define(eq=False)
class _Active:
    """The state of an active controller: its core, and the deadline that its timer waits for."""

    core: ControllerCore
    epoch: int
    last_append: float
    wakes_at: float = -math.inf
    deadline_moved: trio.Event = attrs.Factory(trio.Event)
    failure: Exception | None = None
    """The error after which nothing more is decided. ``lead`` raises it, or resigns if ``must_resign``."""
    must_resign: bool = False
    _deciding: trio.Lock = attrs.Factory(trio.Lock)

    @asynccontextmanager
    async def next_decision(self, message: Any = None) -> AsyncIterator[None]:
        """Wait for the end of the decisions before this one; without any, there is no checkpoint."""
        try:
            self._deciding.acquire_nowait()
        except trio.WouldBlock:
            self.core.note_waiting(trio.current_time(), message)
            await self._deciding.acquire()
        try:
            yield
        finally:
            self._deciding.release()


class Controller:
    """The controller of a node. It is active, and decides, only while its node leads the quorum.

    ``bootstrap`` has the records that an empty log starts with, the metadata.version first. An active controller that
    appended nothing for ``max_idle_interval_ms`` (metadata.max.idle.interval.ms) appends a NoOpRecord, so that
    followers can distinguish an idle controller from a dead one (KIP-835); 0 turns this off.

    The core's time is Trio's clock, so a step of the system's clock ends no session.

    ``directories`` has the directory ids that the Fetch requests of the replicas name, for DescribeQuorum.
    """

    def __init__(
        self,
        quorum: Quorum,
        metadata: Metadata,
        config: ControllerConfig,
        world: World,
        *,
        bootstrap: Sequence[Any],
        max_idle_interval_ms: int,
    ) -> None:
        self._quorum = quorum
        self._metadata = metadata
        self._config = config
        self._world = world
        self._bootstrap = tuple(bootstrap)
        self._max_idle_s = max_idle_interval_ms / 1000 if max_idle_interval_ms else math.inf
        self._active: _Active | None = None
        self._activated = quorum.trace.of(ControllerActivated)
        self._deactivated = quorum.trace.of(ControllerDeactivated)
        self.directories = Directories()

    @property
    def is_active(self) -> bool:
        """Whether this controller is active."""
        return self._active is not None

    async def request(self, message: Any, version: int | None = None, *, timeout_ms: float = DEFAULT_TIMEOUT_MS) -> Any:
        """Decide ``message`` and return the committed response. ``version`` is the newest one unless given.

        Raises KafkaError REQUEST_TIMED_OUT after ``timeout_ms``, NOT_CONTROLLER if the leadership ended before. In both
        cases the records may still be committed. With any other error nothing was appended: UNKNOWN_SERVER_ERROR if the
        core or the log failed, RECORD_LIST_TOO_LARGE if the records do not fit into the log, UNSUPPORTED_VERSION if
        ``message`` is no request to a controller.
        """
        if isinstance(message, DescribeQuorumRequest):
            return self.describe_quorum(message, version)
        with trio.move_on_after(timeout_ms / 1000):
            decided = await self._decide(message, version)
            try:
                await self._quorum.committed_as_leader(decided.offset, decided.epoch)
            except NotLeader:
                raise KafkaError(ErrorCode.NOT_CONTROLLER) from None
            return decided.response
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    def describe_quorum(self, message: DescribeQuorumRequest, version: int | None = None) -> DescribeQuorumResponse:
        """Return the response to DescribeQuorum, which needs no decision. Raises KafkaError: NOT_CONTROLLER."""
        version = message.VALID_VERSIONS[1] if version is None else version
        try:
            return describe_quorum(self._quorum, self.directories, self._world.clock, message, version)
        except NotLeader:
            raise KafkaError(ErrorCode.NOT_CONTROLLER) from None

    async def _decide(self, message: Any, version: int | None = None) -> _Decided:
        """Decide ``message``, on top of all earlier decisions. Raises KafkaError if nothing was appended."""
        is_long = type(message) in HANDLERS_IN_STEPS
        if not is_long and type(message) not in HANDLERS:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{type(message).__name__} is not for the controller.")
        active = self._active
        if active is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        request = ControllerRequest(message, message.VALID_VERSIONS[1] if version is None else version)
        async with active.next_decision(message):
            if self._active is not active:  # meanwhile
                raise KafkaError(ErrorCode.NOT_CONTROLLER)
            try:
                # A cancelled task would drop half of a decision that changes sessions or transitions: these are short.
                work = self._decision(active, request)
                slices = Slices(_SLICE_RECORDS, first=_SLICE_RECORDS)  # decisions do not begin together
                response = await in_slices(work, slices) if is_long else finished(work)
            except NotLeader:
                raise KafkaError(ErrorCode.NOT_CONTROLLER) from None
            except KafkaError:
                raise
            except Exception as failure:
                if active.failure is None:  # otherwise ``lead`` raises it
                    logger.exception("cannot decide %r, answering UNKNOWN_SERVER_ERROR", message)
                raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from failure
            if active.core.deadline < active.wakes_at:
                active.deadline_moved.set()
            return _Decided(response, self._quorum.end_offset - 1, active.epoch)

    async def lead(self, epoch: int) -> None:
        """Be the active controller of ``epoch``, until cancelled or no longer the leader.

        Error handling: an error of a replay or an append ends this task, and must end the node (OSError from the log;
        MetadataError if a decision contradicts the image). No request is decided after it. After another error of a
        decision that may have changed the core, it is logged and this node resigns. A request that the core fails on
        is answered with UNKNOWN_SERVER_ERROR.
        """
        active = None
        try:
            active = await self._activate(epoch)
            self._active = active
            logger.info("active controller of epoch %d", epoch)
            if self._activated.listeners:
                self._activated.emit(ControllerActivated(*self._activated.now(), epoch))
            while True:
                await self._wait_for_deadline(active)
        except NotLeader:
            pass  # the quorum is about to cancel this task
        except Exception:
            if active is None or not active.must_resign:
                raise
            active.failure = None  # its traceback has this frame, which has ``active``: a cycle with the whole image
            await self._quorum.resign(epoch)
            await trio.sleep_forever()  # the quorum cancels this task
        finally:
            self._active = None
            if active is not None and self._deactivated.listeners:
                self._deactivated.emit(ControllerDeactivated(*self._deactivated.now(), epoch))

    async def _activate(self, epoch: int) -> _Active:
        """Make a core from the standby's state, once the leader's first record is committed: then all others are."""
        # The log ends with that record: only an active controller appends.
        end_offset = self._quorum.end_offset
        await self._quorum.committed_as_leader(end_offset - 1, epoch)
        await self._metadata.replayed(end_offset)
        loader = self._metadata.standby()
        rng = Random(self._world.random.getrandbits(64))
        now = trio.current_time()
        core = ControllerCore(self._config, loader, end_offset, self._world.new_uuid, rng, now)
        active = _Active(core, epoch, now)
        finished(self._decision(active, Activated(self._bootstrap)))
        lowest, highest = WRITABLE_LEVELS
        if not lowest <= core.image.metadata_version <= highest:
            level = core.image.metadata_version
            raise MetadataError(f"metadata.version is {level}; a controller can be active at {lowest} to {highest}")
        return active

    async def _wait_for_deadline(self, active: _Active) -> None:
        """Wait until the core's deadline or the idle interval is over, and append the records that are due then."""
        if active.failure is not None:
            raise active.failure
        core = active.core
        begun_at = trio.current_time()
        idle_at = active.last_append + self._max_idle_s
        active.wakes_at = min(core.deadline, idle_at)
        with trio.move_on_at(active.wakes_at):
            await active.deadline_moved.wait()
            active.deadline_moved = trio.Event()
            return
        now = trio.current_time()
        if core.deadline <= now and begun_at < active.wakes_at < now - _STALL_S:
            # Kafka notes a heartbeat on arrival (BrokerHeartbeatTracker). Here it may still wait in its socket.
            await trio.sleep(_READING_S)
        async with active.next_decision():
            if active.failure is not None:  # meanwhile
                raise active.failure
            now = trio.current_time()
            if now >= core.deadline:
                finished(self._decision(active, DeadlineReached()))
            elif now >= active.last_append + self._max_idle_s:
                finished(self._append(active, Decision((NoOpRecord(),), None)))

    def _decision(self, active: _Active, event: Event) -> Steps[Any]:
        """Decide on an event, and append the records. Return the response. Raises as ``_append`` does, and what the
        core raises.

        If a decision in one step fails, it may have changed sessions and transitions without their records. Nothing is
        decided on top of these. ``lead`` resigns, as Kafka's controller does after an unexpected error.
        """
        decision = None
        try:
            decision = yield from active.core.decide_in_steps(trio.current_time(), event)
            yield from self._append(active, decision)
        except Exception as failure:
            is_refused = decision is None and isinstance(failure, KafkaError)
            changes_nothing = isinstance(event, ControllerRequest) and type(event.message) in HANDLERS_IN_STEPS
            if active.failure is None and not (is_refused or changes_nothing or isinstance(failure, NotLeader)):
                logger.exception("resigning as the controller of epoch %d: cannot decide %r", active.epoch, event)
                self._end(active, failure)
                active.must_resign = True
            raise
        return decision.response

    def _end(self, active: _Active, failure: Exception) -> None:
        """Decide nothing more, and wake ``lead``. Its epoch may be over, and a later one active."""
        if self._active is active:
            self._active = None
        active.failure = failure
        active.deadline_moved.set()

    def _append(self, active: _Active, decision: Decision) -> Steps[None]:
        """Replay the records of a decision, then append them: the log must get no record that cannot be replayed.

        The last step replays and appends them all. The steps before it change nothing.

        Raises:
            NotLeader: nothing was appended.
            KafkaError: RECORD_LIST_TOO_LARGE; nothing was replayed.
            Exception: the image and the log differ, so this controller is no longer active and ``lead`` raises the
                error.
        """
        if not decision.records:
            return
        unit = yield from self._quorum.encode(decision.records, active.epoch, is_atomic=decision.is_atomic)
        try:
            now_ms = unit.batches[0].timestamp_ms
            yield from active.core.replay_in_steps(decision.records, unit.next_offset, active.epoch, now_ms)
            self._quorum.append(unit)
        except Exception as failure:
            self._end(active, failure)
            raise
        active.last_append = trio.current_time()
