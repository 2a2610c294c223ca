"""The broker's channel to the active controller, on whichever node it is.

If this node leads the quorum, its own controller gets the request, without a socket. Otherwise the channel keeps one
connection to the leader's controller listener. A broker with ZooKeeper has a connection to itself while it is the
controller, as in Apache Kafka. It sends the requests of one bounded queue, up to five at a time.

NOT_CONTROLLER, a lost connection and a new leader have one consequence: the channel sends the request again, to the
present leader, until the caller's timeout. If only the response was lost, the controller gets the request twice, as in
Apache Kafka: a CreateTopics may find the topic that its first copy created.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import attrs
import trio

from kraft.config.listeners import Voter
from kraft.messages.create_topics_response import CreateTopicsResponse
from kraft.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from kraft.messages.describe_quorum_response import DescribeQuorumResponse
from kraft.quorum.rpcs import PARTITION
from kraft.rpc.client import Connect, Connection, reason
from kraft.rpc.client import connect as connect_by_tcp
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC
from kraft.wire.schema import Message

logger = logging.getLogger("kraft.channel")

DEFAULT_TIMEOUT_MS: Final = 30_000
"""How long a request to the active controller may take, through the channel or at the controller itself."""
_QUEUED_REQUESTS = 100
_IN_FLIGHT = 5
_RETRY_BACKOFF_S = 0.05


class QuorumLeader(Protocol):
    """The part of the quorum that the channel needs: the leader, and when it changes."""

    @property
    def node_id(self) -> int: ...

    @property
    def leader_id(self) -> int | None: ...

    @property
    def epoch(self) -> int: ...

    async def change(self, leader_id: int | None, epoch: int) -> None: ...


class LocalController(Protocol):
    """The controller of this node; ``kraft.control.controller.Controller`` is one."""

    async def request(self, message: Any, version: int | None = None, *, timeout_ms: float = ...) -> Any: ...


@attrs.define(eq=False)
class _Call:
    """A request in the queue. ``done`` without a ``response`` means: send it again."""

    message: Message
    version: int | None
    response: Any = None
    is_wanted: bool = True
    done: trio.Event = attrs.Factory(trio.Event)


class ControllerChannel:
    """Sends requests to the active controller. ``controller`` gets them while this node leads; it is None where the
    node has no controller role, and with ZooKeeper.

    ``address_of`` returns where a controller listens, by its id.

    A peer answers the requests of one connection in order. A request that must not wait behind others needs a separate
    channel. The channel closes a connection whose peer sends no response for ``attempt_timeout_ms``.
    """

    def __init__(
        self,
        quorum: QuorumLeader,
        address_of: Callable[[int], Voter | None],
        controller: LocalController | None,
        *,
        attempt_timeout_ms: float = DEFAULT_TIMEOUT_MS,
        connect: Connect = connect_by_tcp,
    ) -> None:
        self._quorum = quorum
        self._address_of = address_of
        self._controller = controller
        self._attempt_timeout_s = attempt_timeout_ms / 1000
        self._connect = connect
        self._calls, self._inbox = trio.open_memory_channel[_Call](_QUEUED_REQUESTS)
        self.versions: Mapping[int, tuple[int, int]] | None = None
        """The APIs of the controller that the channel is connected to, as ``Connection.versions``; None without one."""

    def separate(self, *, attempt_timeout_ms: float = DEFAULT_TIMEOUT_MS) -> ControllerChannel:
        """Return another channel, with a connection of its own, for requests that must not wait behind others."""
        return ControllerChannel(
            self._quorum,
            self._address_of,
            self._controller,
            attempt_timeout_ms=attempt_timeout_ms,
            connect=self._connect,
        )

    async def request(
        self,
        message: Message,
        version: int | None = None,
        *,
        envelope: Message | None = None,
        timeout_ms: float = DEFAULT_TIMEOUT_MS,
    ) -> Any:
        """Send ``message`` to the active controller and return its response.

        The version is ``version``, or the newest that both sides know. If another node is the leader, the channel sends
        ``envelope``, if given, instead of ``message``, and returns the response to it.

        Raises KafkaError REQUEST_TIMED_OUT after ``timeout_ms`` (the request may still be carried out),
        UNSUPPORTED_VERSION if the controller does not know the version, UNKNOWN_SERVER_ERROR if it could not decide.
        """
        with trio.move_on_after(timeout_ms / 1000):
            while True:
                leader_id, epoch = self._quorum.leader_id, self._quorum.epoch
                if leader_id is not None:
                    if self._controller is not None and leader_id == self._quorum.node_id:
                        response = await self._request_locally(self._controller, message, version, timeout_ms)
                    else:
                        sent = (message, version) if envelope is None else (envelope, None)
                        response = await self._request_remotely(*sent)
                    if response is not None:
                        return response
                with trio.move_on_after(_RETRY_BACKOFF_S):
                    await self._quorum.change(leader_id, epoch)
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)

    async def _request_locally(
        self, controller: LocalController, message: Message, version: int | None, timeout_ms: float
    ) -> Any:
        """Return None if this node's controller is not active."""
        try:
            return await controller.request(message, version, timeout_ms=timeout_ms)
        except KafkaError as refused:
            if refused.code is not ErrorCode.NOT_CONTROLLER:
                raise
            return None

    async def _request_remotely(self, message: Message, version: int | None) -> Any:
        """Return None if the request did not reach the active controller, or its response was lost."""
        call = _Call(message, version)
        await self._calls.send(call)
        try:
            await call.done.wait()
        finally:
            call.is_wanted = False
        if isinstance(call.response, KafkaError):
            raise call.response.anew()
        return None if _is_refused(call.response) else call.response

    async def high_watermark(self) -> int:
        """Ask the leader for the high watermark of the metadata log. All changes that it has answered are below it.

        Returns -1 if no leader knows it. The caller limits the wait.
        """
        asked = TopicData(CLUSTER_METADATA_TOPIC, [PartitionData(PARTITION)])
        try:
            response: DescribeQuorumResponse = await self.request(DescribeQuorumRequest([asked]))
        except KafkaError as failure:
            logger.debug("no leader of the quorum returned its high watermark: %s", failure)
            return -1
        return max((each.high_watermark for topic in response.topics for each in topic.partitions), default=-1)

    # The task that keeps the connection.

    async def run(self) -> None:
        """Keep a connection to the leader, for as long as the node lives. No behaviour of a peer raises here."""
        while True:
            leader_id = self._quorum.leader_id
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._serve, leader_id, name=f"to controller {leader_id}")
                await self._leader_changed(leader_id)
                nursery.cancel_scope.cancel(reason="another controller leads")

    async def _leader_changed(self, leader_id: int | None) -> None:
        """Return once another node leads. A new epoch of the same leader costs no pending request."""
        while self._quorum.leader_id in (None, leader_id):
            await self._quorum.change(self._quorum.leader_id, self._quorum.epoch)

    async def _serve(self, leader_id: int | None) -> None:
        if leader_id is None or (self._controller is not None and leader_id == self._quorum.node_id):
            async for call in self._inbox:
                call.done.set()
            return
        while True:
            voter = self._address_of(leader_id)
            if voter is not None:
                await self._connect_and_send(voter)
            await trio.sleep(_RETRY_BACKOFF_S)

    async def _connect_and_send(self, voter: Voter) -> None:
        try:
            client_id = str(self._quorum.node_id)
            async with self._connect(voter.host, voter.port, client_id, self._attempt_timeout_s) as connection:
                logger.info("connected to controller %s", voter)
                self.versions = connection.versions
                try:
                    await self._run_senders(connection)
                finally:
                    self.versions = None
                logger.info("disconnected from controller %s", voter)
        except (OSError, trio.TooSlowError, KafkaError) as failure:
            logger.debug("controller %s: %s", voter, reason(failure))

    async def _run_senders(self, connection: Connection) -> None:
        """Send the requests of the queue, until the connection is lost."""
        async with trio.open_nursery() as nursery:
            for number in range(_IN_FLIGHT):
                nursery.start_soon(self._send, connection, nursery.cancel_scope, name=f"sender {number}")

    async def _send(self, connection: Connection, scope: trio.CancelScope) -> None:
        async for call in self._inbox:
            try:
                if call.is_wanted:
                    call.response = await self._exchange(connection, call)
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
            logger.debug("%s is sent again: %s", type(message).__name__, reason(failure))
            return None
        except KafkaError as refused:
            return refused.anew()  # the call keeps it
        except Exception:
            logger.exception("cannot send to a controller: %r", message)
            return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def _is_refused(response: Message | None) -> bool:
    """Whether the response is that of a controller that does not lead.

    CreateTopics, which a broker sends for a client's Metadata, is the only request without an error of its own: each of
    its topics has NOT_CONTROLLER then.
    """
    if isinstance(response, CreateTopicsResponse) and response.topics:
        return response.topics[0].error_code == ErrorCode.NOT_CONTROLLER
    return getattr(response, "error_code", ErrorCode.NONE) == ErrorCode.NOT_CONTROLLER
