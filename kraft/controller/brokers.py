"""Brokers come, stay and go: BrokerRegistration (62), BrokerHeartbeat (63), UnregisterBroker (64), sessions (KIP-631).

A broker registers fenced. It is unfenced once its heartbeats show that it has replayed its own registration, fenced
again when its session is over, and on its way out in controlled shutdown, where it gives up what it leads. Whenever
it stops being active it leaves every ISR in the same unit of records.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from kraft.controller.context import Context, Decision
from kraft.controller.elections import leads_any, with_broker, without_broker
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.messages.broker_registration_request import BrokerRegistrationRequest
from kraft.messages.broker_registration_response import BrokerRegistrationResponse
from kraft.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from kraft.messages.unregister_broker_record import UnregisterBrokerRecord
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.unregister_broker_response import UnregisterBrokerResponse
from kraft.metadata.image import Broker
from kraft.wire.errors import ErrorCode, KafkaError

#: Directory ids below this one are reserved (KIP-858).
_FIRST_FREE_DIRECTORY_ID = 100

_FENCE, _UNFENCE, _IN_CONTROLLED_SHUTDOWN = 1, -1, 1


class BrokerState(Enum):
    """Where a broker stands, as its heartbeat is judged."""

    FENCED = "registered, leads nothing, in no ISR"
    UNFENCED = "active"
    CONTROLLED_SHUTDOWN = "giving up what it leads"
    SHUTDOWN_NOW = "may stop: nothing depends on it any more"


def register_broker(context: Context, request: BrokerRegistrationRequest) -> Decision:
    """Register an incarnation of a broker, fenced, under a new epoch: the offset of the record that registers it."""
    try:
        _check_registration(context, request)
    except KafkaError as error:
        return Decision((), BrokerRegistrationResponse(error_code=error.code))
    records: list[Any] = []
    existing = context.image.brokers.get(request.broker_id)
    same_incarnation = existing is not None and existing.incarnation_id == request.incarnation_id
    if existing is not None and not same_incarnation:
        # What the former incarnation led it no longer leads, and what it had in memory is gone.
        records.extend(without_broker(context, request.broker_id))
    epoch = context.next_offset + len(records)
    record = RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in request.listeners
        ],
        features=[
            BrokerFeature(
                name=f.name,
                min_supported_version=f.min_supported_version,
                max_supported_version=f.max_supported_version,
            )
            for f in request.features
        ],
        rack=request.rack,
        fenced=existing.fenced if existing is not None and same_incarnation else True,
        in_controlled_shutdown=existing.in_controlled_shutdown if existing is not None and same_incarnation else False,
        log_dirs=list(request.log_dirs),
    )
    records.append(record)
    context.sessions.touch(request.broker_id, epoch, -1, record.fenced, context.now_ms)
    return Decision(tuple(records), BrokerRegistrationResponse(error_code=ErrorCode.NONE, broker_epoch=epoch))


def _check_registration(context: Context, request: BrokerRegistrationRequest) -> None:
    if request.cluster_id != context.config.cluster_id:
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID)
    existing = context.image.brokers.get(request.broker_id)
    if (
        existing is not None
        and existing.incarnation_id != request.incarnation_id
        and not context.former_incarnation_gone
        and not existing.in_controlled_shutdown
        and context.sessions.is_alive(existing.id, existing.epoch, context.now_ms)
    ):
        raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    if request.is_migrating_zk_broker:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, "This controller takes in no brokers from ZooKeeper.")
    directories = request.log_dirs
    taken = {d for broker in context.image.brokers.values() if broker.id != request.broker_id for d in broker.log_dirs}
    if (
        not directories
        or len(set(directories)) != len(directories)
        or any(directory.int < _FIRST_FREE_DIRECTORY_ID or directory in taken for directory in directories)
    ):
        raise KafkaError(ErrorCode.INVALID_REGISTRATION)
    supported = {feature.name: feature for feature in request.features}
    for name, level in context.image.features.items():
        feature = supported.get(name)
        if feature is None or not feature.min_supported_version <= level <= feature.max_supported_version:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def broker_heartbeat(context: Context, request: BrokerHeartbeatRequest) -> Decision:
    """Renew the session and move the broker to the state that it wants, as far as it may."""
    try:
        broker = registered(context, request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Decision((), BrokerHeartbeatResponse(error_code=error.code))
    current, following = _states(context, broker, request)
    records = () if following is current else tuple(_transition(context, broker, following))
    fenced = following in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW)
    context.sessions.touch(broker.id, broker.epoch, request.current_metadata_offset, fenced, context.now_ms)
    if following is not current and following is BrokerState.CONTROLLED_SHUTDOWN:
        context.sessions.begin_shutdown(broker.id, context.next_offset + len(records) - 1)
    return Decision(
        records,
        BrokerHeartbeatResponse(
            error_code=ErrorCode.NONE,
            is_caught_up=request.current_metadata_offset >= broker.epoch,
            is_fenced=fenced,
            should_shut_down=following is BrokerState.SHUTDOWN_NOW,
        ),
    )


def registered(context: Context, broker_id: int, broker_epoch: int) -> Broker:
    """Return the registration; raise KafkaError if the broker has none, or one of another epoch."""
    broker = context.image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED)
    if broker.epoch != broker_epoch:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH)
    return broker


def _states(context: Context, broker: Broker, request: BrokerHeartbeatRequest) -> tuple[BrokerState, BrokerState]:
    """Where the broker stands and where this heartbeat takes it."""
    if broker.fenced:
        if request.want_shut_down:
            return BrokerState.FENCED, BrokerState.SHUTDOWN_NOW
        caught_up = request.current_metadata_offset >= broker.epoch
        return BrokerState.FENCED, BrokerState.UNFENCED if caught_up and not request.want_fence else BrokerState.FENCED
    if broker.in_controlled_shutdown:
        done = context.sessions.may_stop(broker.id) and not leads_any(context, broker.id)
        return BrokerState.CONTROLLED_SHUTDOWN, BrokerState.SHUTDOWN_NOW if done else BrokerState.CONTROLLED_SHUTDOWN
    if request.want_fence:
        return BrokerState.UNFENCED, BrokerState.SHUTDOWN_NOW if request.want_shut_down else BrokerState.FENCED
    if request.want_shut_down:
        leads = leads_any(context, broker.id)
        return BrokerState.UNFENCED, BrokerState.CONTROLLED_SHUTDOWN if leads else BrokerState.SHUTDOWN_NOW
    return BrokerState.UNFENCED, BrokerState.UNFENCED


def _transition(context: Context, broker: Broker, following: BrokerState) -> Iterator[Any]:
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    if following is BrokerState.UNFENCED:
        change.fenced = _UNFENCE
        yield change
        # Who was fenced on the way out comes back without leading: only a new incarnation ends a controlled shutdown.
        if not broker.in_controlled_shutdown:
            yield from with_broker(context, broker.id)
    elif following is BrokerState.CONTROLLED_SHUTDOWN:
        change.in_controlled_shutdown = _IN_CONTROLLED_SHUTDOWN
        yield change
        yield from without_broker(context, broker.id)
    elif not broker.fenced:
        yield from fence(context, broker)


def fence(context: Context, broker: Broker) -> Iterator[Any]:
    """The records that fence a broker and give what it led to others."""
    yield from without_broker(context, broker.id)
    yield BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, fenced=_FENCE)


def unregister_broker(context: Context, request: UnregisterBrokerRequest) -> Decision:
    """Remove a registration, alive or not; its replicas stay assigned to it."""
    broker = context.image.brokers.get(request.broker_id)
    if broker is None:
        message = f"Broker ID {request.broker_id} is not currently registered"
        code = ErrorCode.BROKER_ID_NOT_REGISTERED
        return Decision((), UnregisterBrokerResponse(error_code=code, error_message=message))
    context.sessions.forget(broker.id)
    records = (
        *without_broker(context, broker.id),
        UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch),
    )
    return Decision(records, UnregisterBrokerResponse(error_code=ErrorCode.NONE, error_message=None))
