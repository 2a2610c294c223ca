"""The life of a broker in the cluster (KIP-631): it registers, catches up while fenced, is unfenced, and shuts down
under control.

The controller grants a lease, and a heartbeat every ``broker.heartbeat.interval.ms`` renews it. A broker whose lease
has expired is fenced and keeps sending heartbeats. A broker whose registration was removed or replaced registers again.
So does one that registered before the cluster was upgraded to a metadata.version with log directories (KIP-858).

If this node is also the active controller, the lock on the log directories proves that the former incarnation has
ended. Its registration then does not wait until the old lease expires. Any other controller makes the broker wait, as
in Apache Kafka.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from uuid import UUID

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.config.features import SUPPORTED_FEATURES
from kraft.config.listeners import PLAINTEXT_ID, Endpoint
from kraft.control.controller_channel import DEFAULT_TIMEOUT_MS, ControllerChannel
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from kraft.messages.broker_registration_response import BrokerRegistrationResponse
from kraft.metadata.image import Image
from kraft.metadata.levels import DIRECTORIES
from kraft.node.publisher import Publisher
from kraft.wire.errors import ErrorCode, KafkaError

logger = logging.getLogger("kraft.lifecycle")

REGISTRATION_VERSION = 4
HEARTBEAT_VERSION = 1
_POLL_S = 0.1
_FIRST_RETRY_S = 0.05
_LONGEST_RETRY_S = 2.0
_CONTROLLED_SHUTDOWN_LIMIT_S = 10

#: Errors of a registration that a retry does not change.
_FINAL = frozenset({ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.INVALID_REGISTRATION, ErrorCode.UNSUPPORTED_VERSION})
#: Errors of a heartbeat after which the broker must register again.
_NOT_REGISTERED = frozenset({ErrorCode.STALE_BROKER_EPOCH, ErrorCode.BROKER_ID_NOT_REGISTERED})


@attrs.define(eq=False)
class Lifecycle:
    """Registration, heartbeats and controlled shutdown of this node's broker role."""

    config: NodeConfig
    cluster_id: str
    channel: ControllerChannel
    publisher: Publisher
    directory_ids: Sequence[UUID]
    incarnation_id: UUID
    _advertised: Sequence[Endpoint] = ()
    _is_fenced: bool = True
    _wants_shut_down: bool = False

    async def join(self, advertised: Sequence[Endpoint]) -> None:
        """Register, catch up, and wait until this node's own image has the broker unfenced. Clients can be served after
        that.

        Raises KafkaError if the controller refused the registration, or no controller responded within
        ``initial.broker.registration.timeout.ms``.
        """
        self._advertised = advertised
        await self._register_in_time()
        await self.publisher.catch_up()
        for pause_s in _pauses():
            if await self._send_heartbeat():
                with trio.move_on_after(self._interval_s):
                    await self.publisher.until(self._is_seen)
                    return
            await trio.sleep(pause_s)

    @property
    def _interval_s(self) -> float:
        return self.config.lease.broker_heartbeat_interval_ms / 1000

    @property
    def _timeout_ms(self) -> float:
        """How long a request may take while the lease runs: two of them must not let it expire."""
        return self.config.lease.broker_session_timeout_ms / 2

    def _is_seen(self, image: Image) -> bool:
        known = image.brokers.get(self.config.node_id)
        return known is not None and known.epoch == self.publisher.broker_epoch and known.active

    async def _register_in_time(self) -> None:
        refused = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "no controller answered")
        with trio.move_on_after(self.config.lease.initial_broker_registration_timeout_ms / 1000):
            for pause_s in _pauses():
                try:
                    await self._register()
                except KafkaError as error:
                    refused = error
                    if refused.code in _FINAL:
                        raise
                    logger.info("not registered yet: %s", refused)
                else:
                    return
                await trio.sleep(pause_s)
        raise refused

    async def _register(self, timeout_ms: float = DEFAULT_TIMEOUT_MS) -> None:
        request = BrokerRegistrationRequest(
            broker_id=self.config.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation_id,
            listeners=[Listener(each.listener, each.host, each.port, PLAINTEXT_ID) for each in self._advertised],
            features=[Feature(name, low, high) for name, (low, high) in SUPPORTED_FEATURES.items()],
            rack=self.config.identity.broker_rack,
            log_dirs=sorted(self.directory_ids),
        )
        response: BrokerRegistrationResponse = await self.channel.request(
            request, REGISTRATION_VERSION, timeout_ms=timeout_ms
        )
        if response.error_code:
            raise KafkaError(ErrorCode(response.error_code), "the controller refused this broker's registration")
        await self.publisher.registered(response.broker_epoch)
        self._is_fenced = True
        logger.info("registered with broker epoch %d", response.broker_epoch)

    async def heartbeats(self) -> None:
        """Renew the lease, for as long as the node lives. If the controller is away or slow, only heartbeats fail."""
        pauses = _pauses()
        pause_s = self._interval_s
        while True:
            await trio.sleep(pause_s)
            if await self._send_heartbeat():
                pauses = _pauses()
                pause_s = self._interval_s
                await self._register_directories()
            else:
                pause_s = min(next(pauses), self._interval_s)

    async def _send_heartbeat(self) -> bool:
        """Send one heartbeat, and register again if the response says so; return whether the broker is unfenced."""
        try:
            response = await self._heartbeat()
            code = ErrorCode(response.error_code)
            if code in _NOT_REGISTERED and not self._wants_shut_down:
                logger.warning("registering again, because a heartbeat was refused: %s", code.name)
                await self._register()
                return False
        except KafkaError as failure:
            logger.warning("no response to a heartbeat, trying again: %s", failure)
            return False
        if code:
            logger.warning("the controller refused a heartbeat, trying again: %s", code.name)
            return False
        if response.is_fenced is not self._is_fenced:
            self._is_fenced = response.is_fenced
            logger.info("this broker is %s", "fenced" if self._is_fenced else "unfenced")
        return not self._is_fenced

    async def _register_directories(self) -> None:
        """Register again if the registration has no directories and metadata.version now allows them, as Kafka's
        BrokerRegistrationTracker does.
        """
        image = self.publisher.image
        known = image.brokers.get(self.config.node_id)
        lacks_them = known is not None and known.epoch == self.publisher.broker_epoch and not known.log_dirs
        if lacks_them and image.metadata_version >= DIRECTORIES and not self._wants_shut_down:
            try:
                await self._register(self._timeout_ms)
            except KafkaError as error:
                logger.warning("cannot register the log directories, trying again: %s", error)

    async def controlled_shutdown(self) -> None:
        """Move leaderships to other brokers before the node stops, for 10 s at most.

        Every heartbeat from now on requests the shutdown. With ``controlled.shutdown.enable=false`` no leadership is
        moved: the lease expires, as after a crash.
        """
        if not self.config.replication.controlled_shutdown_enable:
            return
        self._wants_shut_down = True
        with trio.move_on_after(_CONTROLLED_SHUTDOWN_LIMIT_S):
            while True:
                try:
                    response = await self._heartbeat()
                except KafkaError as failure:
                    logger.warning("controlled shutdown failed, stopping all the same: %s", failure)
                    return
                if response.error_code or response.should_shut_down:
                    return
                await trio.sleep(_POLL_S)
        logger.warning("controlled shutdown took more than %d s, stopping all the same", _CONTROLLED_SHUTDOWN_LIMIT_S)

    async def _heartbeat(self) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self.config.node_id,
            broker_epoch=self.publisher.broker_epoch,
            current_metadata_offset=self.publisher.offset,
            want_fence=False,
            want_shut_down=self._wants_shut_down,
        )
        response: BrokerHeartbeatResponse = await self.channel.request(
            request, HEARTBEAT_VERSION, timeout_ms=self._timeout_ms
        )
        return response


def _pauses() -> Iterator[float]:
    """Pauses between retries in seconds, each twice as long as the last, up to a limit."""
    pause_s = _FIRST_RETRY_S
    while True:
        yield pause_s
        pause_s = min(pause_s * 2, _LONGEST_RETRY_S)
