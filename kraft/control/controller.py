"""The controller role of a node: on standby while another leads, and while this node leads the active controller.

``lead`` lives as long as the epoch that it leads. It begins with the image that the standby already has. A request is
decided in the task that brings it, without a checkpoint: decided, replayed, appended. The next is decided on top of
that, while one flush commits many. Each caller waits for its own, so an answer is given only when all that it rests on
is committed. An answer that needed no record waits for whatever was appended before it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from random import Random
from typing import Any

import attrs
import trio

from kraft.control.metadata import Metadata
from kraft.control.trace import ControllerActivated, ControllerDeactivated
from kraft.controller.context import ControllerConfig
from kraft.controller.core import HANDLERS, Activated, ControllerCore, Request, Timeout
from kraft.messages.describe_quorum_request import DescribeQuorumRequest
from kraft.messages.describe_quorum_response import DescribeQuorumResponse
from kraft.messages.no_op_record import NoOpRecord
from kraft.metadata.delta import MetadataError
from kraft.metadata.levels import WRITABLE_LEVELS
from kraft.quorum.description import Directories, describe_quorum
from kraft.quorum.driver import NotLeader, Quorum
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.world import World

_DEFAULT_TIMEOUT_MS = 30_000

logger = logging.getLogger("kraft.controller")


@attrs.frozen
class Decided:
    """A response, and what must be committed before it is given: everything up to ``offset``, in ``epoch``."""

    response: Any
    offset: int
    epoch: int


@attrs.define(eq=False)
class _Active:
    """What there is of an active controller: its core, and what its timer has to know."""

    core: ControllerCore
    epoch: int
    last_append: float
    wakes_at: float = -math.inf
    sooner: trio.Event = attrs.Factory(trio.Event)
    failure: Exception | None = None


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
        """Whether requests are decided here."""
        return self._active is not None

    async def request(
        self,
        message: Any,
        version: int | None = None,
        *,
        former_incarnation_gone: bool = False,
        timeout_ms: float = _DEFAULT_TIMEOUT_MS,
    ) -> Any:
        """Have ``message`` decided and return the response once it is committed. Raises as ``decide`` and
        ``committed``.
        """
        if isinstance(message, DescribeQuorumRequest):
            return self.describe_quorum(message, version)
        decided = self.decide(message, version, former_incarnation_gone=former_incarnation_gone)
        return await self.committed(decided, timeout_ms=timeout_ms)

    def describe_quorum(self, message: DescribeQuorumRequest, version: int | None = None) -> DescribeQuorumResponse:
        """What DescribeQuorum is told; there is nothing to decide. Raises KafkaError: NOT_CONTROLLER."""
        version = message.VALID_VERSIONS[1] if version is None else version
        try:
            return describe_quorum(self._quorum, self.directories, self._world.clock, message, version)
        except NotLeader:
            raise KafkaError(ErrorCode.NOT_CONTROLLER) from None

    def decide(self, message: Any, version: int | None = None, *, former_incarnation_gone: bool = False) -> Decided:
        """Decide ``message`` (as its newest version unless told), on top of all that was decided before.

        ``former_incarnation_gone``: see ``kraft.controller.core.Request``. Raises KafkaError: NOT_CONTROLLER if this
        controller is not active, UNKNOWN_SERVER_ERROR if it could not decide, RECORD_LIST_TOO_LARGE if the decision
        cannot be written, UNSUPPORTED_VERSION for a message that is no request to a controller. Then nothing was
        decided.
        """
        if type(message) not in HANDLERS:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{type(message).__name__} is not for the controller.")
        active = self._active
        if active is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        version = message.VALID_VERSIONS[1] if version is None else version
        try:
            decision = active.core.step(_now_ms(), Request(message, version, former_incarnation_gone))
        except Exception:
            logger.exception("no decision on %r", message)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from None
        try:
            self._append(active, decision.records)
        except NotLeader:
            raise KafkaError(ErrorCode.NOT_CONTROLLER) from None
        except KafkaError:
            raise
        except Exception as failure:  # ``lead`` raises it
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from failure
        if active.core.deadline_ms / 1000 < active.wakes_at:
            active.sooner.set()
        return Decided(decision.response, self._quorum.end_offset - 1, active.epoch)

    async def committed(self, decided: Decided, *, timeout_ms: float = _DEFAULT_TIMEOUT_MS) -> Any:
        """Return the response once all that it rests on is committed.

        Raises KafkaError: REQUEST_TIMED_OUT after ``timeout_ms`` (it may still be carried out), NOT_CONTROLLER if the
        leadership ended before (it may still come to be).
        """
        with trio.move_on_after(timeout_ms / 1000):
            try:
                await self._quorum.committed_as_leader(decided.offset, decided.epoch)
            except NotLeader:
                raise KafkaError(ErrorCode.NOT_CONTROLLER) from None
            return decided.response
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    async def lead(self, epoch: int) -> None:
        """Be the active controller of ``epoch``, until cancelled or no longer the leader.

        Error handling: whatever a replay or an append raises (OSError from the log; MetadataError, a decision that
        contradicts the image) ends it, and must end the node; no request is decided in between. A request that cannot
        be decided is answered UNKNOWN_SERVER_ERROR and logged.
        """
        try:
            active = await self._activate(epoch)
            self._active = active
            logger.info("active controller of epoch %d", epoch)
            if self._activated.listeners:
                self._activated.emit(ControllerActivated(*self._activated.now(), epoch))
            while True:
                await self._do_what_is_due(active)
        except NotLeader:
            pass  # the role is about to end
        finally:
            self._active = None
            if self._deactivated.listeners:
                self._deactivated.emit(ControllerDeactivated(*self._deactivated.now(), epoch))

    async def _activate(self, epoch: int) -> _Active:
        """Take over from memory: with the leader's first record all before it is committed, and soon replayed."""
        # The log ends with that record: nobody but an active controller appends.
        end_offset = self._quorum.end_offset
        await self._quorum.committed_as_leader(end_offset - 1, epoch)
        await self._metadata.replayed(end_offset)
        loader = self._metadata.standby()
        chance = Random(self._world.random.getrandbits(64))
        core = ControllerCore(self._config, loader, end_offset, self._world.new_uuid, chance, _now_ms())
        active = _Active(core, epoch, trio.current_time())
        self._append(active, core.step(_now_ms(), Activated(self._bootstrap)).records)
        lowest, highest = WRITABLE_LEVELS
        if not lowest <= core.image.metadata_version <= highest:
            level = core.image.metadata_version
            raise MetadataError(f"metadata.version is {level}; a controller can be active at {lowest} to {highest}")
        return active

    async def _do_what_is_due(self, active: _Active) -> None:
        """Wait for the next thing that time brings, and do it."""
        if active.failure is not None:
            raise active.failure
        core = active.core
        idle_at = active.last_append + self._max_idle_s
        active.wakes_at = min(core.deadline_ms / 1000, idle_at)
        with trio.move_on_at(active.wakes_at):
            await active.sooner.wait()
            active.sooner = trio.Event()
            return
        now = trio.current_time()
        if now >= core.deadline_ms / 1000:
            self._append(active, core.step(_now_ms(), Timeout()).records)
        elif now >= active.last_append + self._max_idle_s:
            self._append(active, (NoOpRecord(),))

    def _append(self, active: _Active, records: Sequence[Any]) -> None:
        """Replay what was decided, then append it: what cannot be replayed must not come into the log.

        Raises NotLeader, and KafkaError RECORD_LIST_TOO_LARGE; nothing was replayed then. After any other error the
        image and the log have parted, so that this controller must not decide anything any more.
        """
        if not records:
            return
        unit = self._quorum.encode(records, active.epoch)
        try:
            active.core.replay(records, unit.next_offset, active.epoch, self._world.clock.now_ms())
            self._quorum.append(unit)
        except Exception as failure:
            self._active = None
            active.failure = failure
            active.sooner.set()
            raise
        active.last_append = trio.current_time()


def _now_ms() -> float:
    """Sessions are measured on Trio's clock, which does not jump with the system's."""
    return trio.current_time() * 1000
