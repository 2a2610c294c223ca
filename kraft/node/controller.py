"""The controller role of a node: on standby while another leads, and while this node leads the active controller.

``lead`` lives as long as the epoch that it leads. It begins with the image that the standby already has, takes one
request after the other, decides, appends, replays, and goes on. It does not wait for its records to be committed: the
next request is decided on top of them while one flush commits many. Each caller waits for its own, so an answer is
given only when all that it rests on is committed. An answer that needed no record waits for whatever was appended
before it.
"""

from __future__ import annotations

import contextlib
import logging
import math
import random
import uuid
from collections.abc import Sequence
from typing import Any

import attrs
import trio

from kraft.controller.context import ControllerConfig
from kraft.controller.core import HANDLERS, Activated, ControllerCore, Event, Request, Timeout
from kraft.messages.describe_quorum_request import DescribeQuorumRequest
from kraft.messages.no_op_record import NoOpRecord
from kraft.metadata.delta import MetadataError
from kraft.metadata.levels import WRITABLE_LEVELS
from kraft.node.clock import Clock
from kraft.node.metadata import Metadata
from kraft.node.quorum.description import Directories, describe_quorum
from kraft.node.quorum.driver import NotLeader, Quorum
from kraft.wire.errors import ErrorCode, KafkaError

_QUEUED_REQUESTS = 100
_DEFAULT_TIMEOUT_MS = 30_000

logger = logging.getLogger("kraft.controller")


@attrs.define(eq=False)
class _Call:
    """A request on its way: the answer, and the offset that must be committed before it is given."""

    request: Request
    epoch: int
    decided: trio.Event = attrs.Factory(trio.Event)
    response: Any = None
    error: KafkaError | None = None
    offset: int = -1


class Controller:
    """The controller of a node. Only the one whose node leads the quorum is active and decides.

    ``bootstrap`` is what an empty log starts with, the level of metadata.version first. After
    ``max_idle_interval_ms`` (metadata.max.idle.interval.ms) without a record one that says nothing is appended, so
    that followers can tell an idle controller from a dead one (KIP-835); 0 turns it off.

    ``directories`` is what the quorum's service hears of replicas, for DescribeQuorum.
    """

    def __init__(
        self,
        quorum: Quorum,
        metadata: Metadata,
        config: ControllerConfig,
        clock: Clock,
        *,
        bootstrap: Sequence[Any],
        max_idle_interval_ms: int,
    ) -> None:
        self._quorum = quorum
        self._metadata = metadata
        self._config = config
        self._clock = clock
        self._bootstrap = tuple(bootstrap)
        self._max_idle_s = max_idle_interval_ms / 1000 if max_idle_interval_ms else math.inf
        self._calls: trio.MemorySendChannel[_Call] | None = None
        self._epoch = -1
        self.directories = Directories()

    @property
    def is_active(self) -> bool:
        """Whether requests are decided here."""
        return self._calls is not None

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
        ``timeout_ms`` (it may still be carried out), NOT_CONTROLLER if this controller is not active, or ceased to be
        before the decision was committed (it may still come to be), UNKNOWN_SERVER_ERROR if it could not decide,
        RECORD_LIST_TOO_LARGE if the decision cannot be written, UNSUPPORTED_VERSION for a message that is no request to
        a controller.
        """
        newest = message.VALID_VERSIONS[1]
        if isinstance(message, DescribeQuorumRequest):  # nothing to decide
            version = newest if version is None else version
            return describe_quorum(self._quorum, self.directories, self._clock, message, version)
        if type(message) not in HANDLERS:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{type(message).__name__} is not for the controller.")
        with trio.move_on_after(timeout_ms / 1000):
            if self._calls is None:
                raise KafkaError(ErrorCode.NOT_CONTROLLER)
            decided = Request(message, newest if version is None else version, former_incarnation_gone)
            call = _Call(decided, self._epoch)
            try:
                await self._calls.send(call)
                await self._outcome(call)
            except (trio.BrokenResourceError, trio.ClosedResourceError, NotLeader):
                raise KafkaError(ErrorCode.NOT_CONTROLLER) from None
            return call.response
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    async def _outcome(self, call: _Call) -> None:
        """Wait for the decision, and until it is committed in the epoch in which it was made. Raises NotLeader."""
        await call.decided.wait()
        if call.error is not None:
            raise call.error
        await self._quorum.committed_as_leader(call.offset, call.epoch)

    async def lead(self, epoch: int) -> None:
        """Be the active controller of ``epoch``, until cancelled or no longer the leader.

        Error handling: OSError from the log and MetadataError (the log contradicts itself) end it, and must end the
        node. A request that cannot be decided is answered UNKNOWN_SERVER_ERROR and logged.
        """
        calls, inbox = trio.open_memory_channel[_Call](_QUEUED_REQUESTS)
        try:
            core = await self._activate(epoch)
            self._calls, self._epoch = calls, epoch
            logger.info("active controller of epoch %d", epoch)
            await self._serve(core, inbox)
        except NotLeader:
            pass  # the role is about to end
        finally:
            self._calls = None
            _turn_away(inbox)
            inbox.close()
            calls.close()

    async def _activate(self, epoch: int) -> ControllerCore:
        """Take over from memory: with the leader's first record all before it is committed, and soon replayed."""
        # The log ends with that record: nobody but an active controller appends.
        end_offset = self._quorum.end_offset
        await self._quorum.committed_as_leader(end_offset - 1, epoch)
        await self._metadata.replayed(end_offset)
        loader = self._metadata.standby()
        chance = random.Random(random.getrandbits(64))
        core = ControllerCore(self._config, loader, end_offset, uuid.uuid4, chance, _now_ms())
        self._step(core, Activated(self._bootstrap), epoch)
        lowest, highest = WRITABLE_LEVELS
        if not lowest <= core.image.metadata_version <= highest:
            level = core.image.metadata_version
            raise MetadataError(f"metadata.version is {level}; a controller can be active at {lowest} to {highest}")
        return core

    async def _serve(self, core: ControllerCore, inbox: trio.MemoryReceiveChannel[_Call]) -> None:
        last_append = trio.current_time()
        while True:
            end_offset = self._quorum.end_offset
            await self._turn(core, inbox, last_append + self._max_idle_s)
            if self._quorum.end_offset != end_offset:
                last_append = trio.current_time()

    async def _turn(self, core: ControllerCore, inbox: trio.MemoryReceiveChannel[_Call], idle_deadline: float) -> None:
        """Take one request, or do what is due."""
        call: _Call | None = None
        deadline = core.deadline_ms / 1000
        with trio.move_on_at(min(deadline, idle_deadline)):
            call = await inbox.receive()
        if call is not None:
            self._decide(core, call)
        elif trio.current_time() >= deadline:
            self._step(core, Timeout(), self._epoch)
        else:
            self._append(core, (NoOpRecord(),), self._epoch)

    def _decide(self, core: ControllerCore, call: _Call) -> None:
        try:
            decision = core.step(_now_ms(), call.request)
        except Exception:
            logger.exception("no decision on %r", call.request.message)
            call.error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            try:
                self._append(core, decision.records, call.epoch)
            except NotLeader:
                call.error = KafkaError(ErrorCode.NOT_CONTROLLER)
                call.decided.set()
                raise
            except KafkaError as refused:
                call.error = refused  # a record that fits in no batch; nothing was appended
            else:
                call.response = decision.response
                call.offset = self._quorum.end_offset - 1
        call.decided.set()

    def _step(self, core: ControllerCore, event: Event, epoch: int) -> None:
        self._append(core, core.step(_now_ms(), event).records, epoch)

    def _append(self, core: ControllerCore, records: Sequence[Any], epoch: int) -> None:
        if records:
            self._quorum.append(records, epoch)
            core.replay(records, self._quorum.end_offset, epoch, self._clock.now_ms())


def _turn_away(inbox: trio.MemoryReceiveChannel[_Call]) -> None:
    """Answer what was asked and not decided before the leadership ended."""
    with contextlib.suppress(trio.WouldBlock):
        while True:
            call = inbox.receive_nowait()
            call.error = KafkaError(ErrorCode.NOT_CONTROLLER)
            call.decided.set()


def _now_ms() -> float:
    """Sessions are measured on Trio's clock, which does not jump with the system's."""
    return trio.current_time() * 1000
