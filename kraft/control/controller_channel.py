"""The broker's way to the active controller, wherever in the quorum that is.

If this node leads, a request goes to its own controller, with no socket in between. Else one connection is kept to the
controller listener of whoever leads, and carries what waits in one bounded queue, a few requests at a time. A refusal
because the controller is no longer the active one, a lost connection and a change of leadership all mean the same: ask
again, whoever leads now, until the caller's time is up. So an answer that was lost on its way costs a second request,
as in Apache Kafka, and a topic that the first one created then exists already.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

import attrs
import trio

from kraft.config.listeners import Voter
from kraft.quorum.peers import Connect
from kraft.rpc.client import Connection
from kraft.rpc.client import connect as connect_by_tcp
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message

logger = logging.getLogger("kraft.channel")

_QUEUED_REQUESTS = 100
_IN_FLIGHT = 5
_RETRY_BACKOFF_S = 0.05
_DEFAULT_TIMEOUT_MS = 30_000


class Leadership(Protocol):
    """What is asked of the quorum: who leads, and word of the next change."""

    @property
    def node_id(self) -> int: ...

    @property
    def leader_id(self) -> int | None: ...

    @property
    def epoch(self) -> int: ...

    async def change(self, leader_id: int | None, epoch: int) -> None: ...


class LocalController(Protocol):
    """The controller of this node; ``kraft.control.controller.Controller`` is one."""

    async def request(
        self,
        message: Any,
        version: int | None = None,
        *,
        former_incarnation_gone: bool = False,
        timeout_ms: float = ...,
    ) -> Any: ...


@attrs.define(eq=False)
class _Call:
    """A request on its way. Once it is ``done`` without an answer it is to be asked again."""

    message: Message
    version: int | None
    answer: Any = None
    is_wanted: bool = True
    done: trio.Event = attrs.Factory(trio.Event)


class ControllerChannel:
    """One such way; ``controller`` is None where the node has no controller role.

    A peer answers the requests of one connection one after the other, so what must not wait behind what has a channel
    of its own. ``attempt_timeout_ms`` is how long a peer may keep silent before its connection is given up.
    """

    def __init__(
        self,
        quorum: Leadership,
        voters: Mapping[int, Voter],
        controller: LocalController | None,
        *,
        attempt_timeout_ms: float = _DEFAULT_TIMEOUT_MS,
        connect: Connect = connect_by_tcp,
    ) -> None:
        self._quorum = quorum
        self._voters = voters
        self._controller = controller
        self._attempt_timeout_s = attempt_timeout_ms / 1000
        self._connect = connect
        self._calls, self._inbox = trio.open_memory_channel[_Call](_QUEUED_REQUESTS)

    def beside(self, *, attempt_timeout_ms: float) -> ControllerChannel:
        """Another channel, for what must not wait behind what goes over this one."""
        return ControllerChannel(
            self._quorum,
            self._voters,
            self._controller,
            attempt_timeout_ms=attempt_timeout_ms,
            connect=self._connect,
        )

    async def request(
        self,
        message: Message,
        version: int | None = None,
        *,
        former_incarnation_gone: bool = False,
        envelope: Message | None = None,
        timeout_ms: float = _DEFAULT_TIMEOUT_MS,
    ) -> Any:
        """Have the active controller carry out ``message`` and return its response.

        In ``version``, or else the newest that both sides know. ``former_incarnation_gone`` (see
        ``kraft.controller.core.Request``) is only heard by the controller of this node. ``envelope`` is what goes to
        another node instead of ``message``, and then its response is what comes back.

        Raises:
            KafkaError: REQUEST_TIMED_OUT after ``timeout_ms`` (it may still be carried out), UNSUPPORTED_VERSION if the
                controller does not know the version, UNKNOWN_SERVER_ERROR if it could not decide.
        """
        with trio.move_on_after(timeout_ms / 1000):
            while True:
                leader_id, epoch = self._quorum.leader_id, self._quorum.epoch
                if leader_id is not None:
                    if leader_id == self._quorum.node_id:
                        answer = await self._ask_here(message, version, former_incarnation_gone, timeout_ms)
                    else:
                        answer = await self._ask_there(*((message, version) if envelope is None else (envelope, None)))
                    if answer is not None and not _says_not_controller(answer):
                        return answer
                with trio.move_on_after(_RETRY_BACKOFF_S):
                    await self._quorum.change(leader_id, epoch)
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    async def _ask_here(self, message: Message, version: int | None, gone: bool, timeout_ms: float) -> Any:
        """None if this node's controller is not active yet, or no longer."""
        assert self._controller is not None, "only a node with the controller role can lead"
        try:
            return await self._controller.request(message, version, former_incarnation_gone=gone, timeout_ms=timeout_ms)
        except KafkaError as refused:
            if refused.code is not ErrorCode.NOT_CONTROLLER:
                raise
            return None

    async def _ask_there(self, message: Message, version: int | None) -> Any:
        """None if the leader was not reached, or its answer lost."""
        call = _Call(message, version)
        await self._calls.send(call)
        try:
            await call.done.wait()
        finally:
            call.is_wanted = False
        if isinstance(call.answer, KafkaError):
            raise call.answer
        return call.answer

    # The task that keeps the connection.

    async def run(self) -> None:
        """Keep a connection to whoever leads, for as long as the node lives. Nothing that a peer does raises here."""
        while True:
            leader_id = self._quorum.leader_id
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._serve, leader_id, name=f"to controller {leader_id}")
                await self._superseded(leader_id)
                nursery.cancel_scope.cancel(reason="another controller leads")

    async def _superseded(self, leader_id: int | None) -> None:
        """Return once another node leads. A new epoch of the same leader is no reason to lose an answer on its way."""
        while self._quorum.leader_id in (None, leader_id):
            await self._quorum.change(self._quorum.leader_id, self._quorum.epoch)

    async def _serve(self, leader_id: int | None) -> None:
        voter = None if leader_id is None else self._voters.get(leader_id)
        if voter is None or leader_id == self._quorum.node_id:
            async for call in self._inbox:
                call.done.set()
            return
        while True:
            try:
                client_id = str(self._quorum.node_id)
                async with self._connect(voter.host, voter.port, client_id, self._attempt_timeout_s) as connection:
                    logger.info("connected to controller %s", voter)
                    await self._carry(connection)
                    logger.info("disconnected from controller %s", voter)
            except (OSError, trio.TooSlowError, KafkaError) as failure:
                logger.debug("controller %s: %s", voter, failure or type(failure).__name__)
            await trio.sleep(_RETRY_BACKOFF_S)

    async def _carry(self, connection: Connection) -> None:
        """Send what waits in the queue, until the connection is lost."""
        async with trio.open_nursery() as nursery:
            for number in range(_IN_FLIGHT):
                nursery.start_soon(self._send, connection, nursery.cancel_scope, name=f"sender {number}")

    async def _send(self, connection: Connection, scope: trio.CancelScope) -> None:
        async for call in self._inbox:
            try:
                if call.is_wanted:
                    call.answer = await self._exchange(connection, call)
            finally:
                call.done.set()
            if connection.closed:
                scope.cancel(reason="the connection is closed")
                return

    async def _exchange(self, connection: Connection, call: _Call) -> Message | KafkaError | None:
        message = call.message
        oldest, newest = connection.versions.get(message.API_KEY, (0, -1))
        if call.version is not None and not oldest <= call.version <= newest:
            return KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        try:
            return await connection.request(message, call.version, timeout_s=self._attempt_timeout_s)
        except (OSError, trio.TooSlowError) as failure:
            logger.debug("%s is asked again: %s", type(message).__name__, failure or type(failure).__name__)
            return None
        except KafkaError as refused:
            return refused
        except Exception:
            logger.exception("cannot ask a controller %r", message)
            return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _says_not_controller(answer: Message) -> bool:
    """Whether NOT_CONTROLLER is anywhere in the answer, as Apache's NodeToControllerRequestThread looks at all error
    counts: CreateTopics and AlterPartition have it beside each topic or partition.
    """
    for field in answer.FIELDS:
        value = getattr(answer, field.name)
        if field.struct is None:
            if field.name == "error_code" and value == ErrorCode.NOT_CONTROLLER:
                return True
        elif value is not None and any(map(_says_not_controller, value if field.is_array else (value,))):
            return True
    return False
