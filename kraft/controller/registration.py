"""BrokerRegistration (62) and UnregisterBroker (64), KIP-631.

A broker registers fenced, under a new epoch. The same incarnation may register again: to report its directories once
the cluster has reached metadata.version 17, or because it did not get the response. It keeps its epoch and its state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kraft.config.features import METADATA_VERSION
from kraft.controller.broker_transitions import Goal
from kraft.controller.context import Context, Decision
from kraft.controller.elections import begin_transition
from kraft.messages.broker_registration_request import BrokerRegistrationRequest
from kraft.messages.broker_registration_response import BrokerRegistrationResponse
from kraft.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from kraft.messages.unregister_broker_record import UnregisterBrokerRecord
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.unregister_broker_response import UnregisterBrokerResponse
from kraft.metadata.frame import encode_record
from kraft.metadata.image import Broker
from kraft.metadata.levels import DIRECTORIES, record_version
from kraft.wire.errors import ErrorCode, KafkaError

#: Directory ids below this one are reserved (KIP-858).
_FIRST_FREE_DIRECTORY_ID = 100
#: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, by their ids.
_PROTOCOLS = 4
_MAX_BYTES = 2**20
"""Not a Kafka setting. The size of the largest record of a registration or of its change, far below that of a batch: if
the log refused the record, the broker would have lost its former session without it, and the controller would resign.
"""


def registered(context: Context, broker_id: int, broker_epoch: int) -> Broker:
    """Return the registration. Raises KafkaError STALE_BROKER_EPOCH if there is none, or one of another epoch."""
    broker = context.image.brokers.get(broker_id)
    if broker is None or broker.epoch != broker_epoch:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH)
    return broker


def register_broker(context: Context, request: BrokerRegistrationRequest) -> Decision:
    """Register an incarnation of a broker. Its epoch is the offset of its first registration record."""
    try:
        _check_registration(context, request)
    except KafkaError as error:
        return _refused(error.code)
    records: list[Any] = []
    existing = context.image.brokers.get(request.broker_id)
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        record = _record(context, request, existing.epoch)
        record.fenced, record.in_controlled_shutdown = existing.fenced, existing.in_controlled_shutdown
    else:
        if existing is not None and _is_in_sync(context, existing):
            # Nobody leads the partitions of the former incarnation, and its unflushed records are lost.
            records, transition = begin_transition(context, existing, Goal.FENCED)
            if not transition.walk.finished:
                return _refused(ErrorCode.DUPLICATE_BROKER_REGISTRATION, records)
        record = _record(context, request, context.next_offset + len(records))
    records.append(record)
    context.sessions.touch(request.broker_id, record.broker_epoch, -1, record.fenced, context.now)
    response = BrokerRegistrationResponse(error_code=ErrorCode.NONE, broker_epoch=record.broker_epoch)
    return Decision(tuple(records), response)


def _refused(code: ErrorCode, records: Iterable[Any] = ()) -> Decision:
    return Decision(tuple(records), BrokerRegistrationResponse(error_code=code))


def _is_in_sync(context: Context, broker: Broker) -> bool:
    """Whether a broker may lead, or be one of several members of an ISR. A fenced broker has left both before."""
    return not broker.fenced or broker.id in context.transitions


def _record(context: Context, request: BrokerRegistrationRequest, epoch: int) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
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
        log_dirs=list(request.log_dirs) if context.level >= DIRECTORIES else [],
    )


def _check_registration(context: Context, request: BrokerRegistrationRequest) -> None:
    if request.cluster_id != context.config.cluster_id:
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID)
    existing = context.image.brokers.get(request.broker_id)
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        if existing.id in context.transitions:  # its state after the restart is not known yet
            raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    elif (
        existing is not None
        and request.incarnation_id != context.config.local_incarnation_id
        and not existing.in_controlled_shutdown
        and context.sessions.is_alive(existing.id, existing.epoch, context.now)
    ):
        raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    if request.is_migrating_zk_broker:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, "This controller registers no brokers from ZooKeeper.")
    check_protocols(request.listeners)
    if context.level >= DIRECTORIES:
        _check_directories(context, request)
    _check_features(context, request)
    check_size(_record(context, request, context.next_offset))


def check_size(record: object) -> None:
    """Raise KafkaError RECORD_LIST_TOO_LARGE for the record of a registration that is too large."""
    if len(encode_record(record, record_version(record))) > _MAX_BYTES:
        raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE)


def check_protocols(listeners: Iterable[Any]) -> None:
    """Raise KafkaError INVALID_REGISTRATION for a security protocol that no replaying node would know."""
    if any(not 0 <= listener.security_protocol < _PROTOCOLS for listener in listeners):
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, "A listener has no known security protocol.")


def _check_directories(context: Context, request: BrokerRegistrationRequest) -> None:
    """Raise KafkaError INVALID_REGISTRATION unless the broker has directories, and no other broker has one of them."""
    directories = request.log_dirs
    taken = {d for broker in context.image.brokers.values() if broker.id != request.broker_id for d in broker.log_dirs}
    if (
        not directories
        or len(set(directories)) != len(directories)
        or any(directory.int < _FIRST_FREE_DIRECTORY_ID or directory in taken for directory in directories)
    ):
        raise KafkaError(ErrorCode.INVALID_REGISTRATION)


def _check_features(context: Context, request: BrokerRegistrationRequest) -> None:
    """Raise KafkaError UNSUPPORTED_VERSION unless the broker supports the finalized level of every feature.

    A feature that is not finalized is at level 0, and a broker supports level 0 of a feature that it does not name.
    metadata.version has no level 0: a broker that does not name it gets INVALID_REGISTRATION.
    """
    supported = {f.name: (f.min_supported_version, f.max_supported_version) for f in request.features}
    if METADATA_VERSION not in supported:
        raise KafkaError(ErrorCode.INVALID_REGISTRATION)
    for name in supported.keys() | context.image.features.keys():
        lowest, highest = supported.get(name, (0, 0))
        if not lowest <= context.image.features.get(name, 0) <= highest:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)


def unregister_broker(context: Context, request: UnregisterBrokerRequest) -> Decision:
    """Remove a registration, of a live broker or not; its replicas stay assigned to it."""
    broker = context.image.brokers.get(request.broker_id)
    if broker is None:
        message = f"Broker ID {request.broker_id} is not currently registered"
        code = ErrorCode.BROKER_ID_NOT_REGISTERED
        return Decision((), UnregisterBrokerResponse(error_code=code, error_message=message))
    records: list[Any] = []
    if _is_in_sync(context, broker):
        records, transition = begin_transition(context, broker, Goal.FENCED)
        if not transition.walk.finished:
            # Apache Kafka's admin client retries on this code, and then finds the broker fenced.
            message = f"Broker ID {broker.id} is being taken out of its partitions"
            code = ErrorCode.REQUEST_TIMED_OUT
            return Decision(tuple(records), UnregisterBrokerResponse(error_code=code, error_message=message))
    context.sessions.forget(broker.id)
    records.append(UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch))
    return Decision(tuple(records), UnregisterBrokerResponse(error_code=ErrorCode.NONE, error_message=None))
