"""BrokerHeartbeat (63) and the end of sessions (KIP-631, KIP-841, KIP-858).

A broker is unfenced once its heartbeats show that it has replayed its own registration, fenced again when its session
is over, and on its way out in controlled shutdown, where it gives up what it leads. Whenever it stops being active it
leaves every ISR in the same unit of records; when one of its directories fails (v1+), those of the replicas there.

v2 tells cordoned directories, which the levels of metadata.version here do not know: they are taken no notice of.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any
from uuid import UUID

import attrs

from kraft.controller.context import Context, Decision
from kraft.controller.elections import leads_any, with_broker, without_broker, without_directories
from kraft.controller.registration import registered
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.metadata.image import Broker
from kraft.metadata.levels import DIRECTORIES
from kraft.wire.errors import ErrorCode, KafkaError

_FENCE, _UNFENCE, _IN_CONTROLLED_SHUTDOWN = 1, -1, 1


class BrokerState(Enum):
    """Where a broker stands, as its heartbeat is judged."""

    FENCED = "registered, leads nothing, in no ISR"
    UNFENCED = "active"
    CONTROLLED_SHUTDOWN = "giving up what it leads"
    SHUTDOWN_NOW = "may stop: nothing depends on it any more"


def broker_heartbeat(context: Context, request: BrokerHeartbeatRequest) -> Decision:
    """Renew the session and move the broker to the state that it wants, as far as it may."""
    try:
        broker = registered(context, request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Decision((), BrokerHeartbeatResponse(error_code=error.code))
    lost = _lost_directories(context, broker, request)
    left = [directory for directory in broker.log_dirs if directory not in lost]
    # Without a directory there is nothing to lead from. The log cannot say so: no directories means no change.
    want_fence = request.want_fence or (bool(lost) and not left)
    current, following = _states(context, broker, request, want_fence=want_fence)
    records: list[Any] = []
    if lost and left:
        records.append(BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=left))
        seen = attrs.evolve(broker, log_dirs=tuple(left))
        context = attrs.evolve(
            context, image=attrs.evolve(context.image, brokers=context.image.brokers.set(broker.id, seen))
        )
    if following is not current:
        records += _transition(context, broker, following)
    elif lost:
        records += without_directories(context, broker.id, lost)
    fenced = following in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW)
    context.sessions.touch(broker.id, broker.epoch, request.current_metadata_offset, fenced, context.now_ms)
    if following is not current and following is BrokerState.CONTROLLED_SHUTDOWN:
        context.sessions.begin_shutdown(broker.id, context.next_offset + len(records) - 1)
    return Decision(
        tuple(records),
        BrokerHeartbeatResponse(
            error_code=ErrorCode.NONE,
            is_caught_up=request.current_metadata_offset >= broker.epoch,
            is_fenced=fenced,
            should_shut_down=following is BrokerState.SHUTDOWN_NOW,
        ),
    )


def _states(
    context: Context, broker: Broker, request: BrokerHeartbeatRequest, *, want_fence: bool
) -> tuple[BrokerState, BrokerState]:
    """Where the broker stands and where this heartbeat takes it."""
    if broker.fenced:
        if request.want_shut_down:
            return BrokerState.FENCED, BrokerState.SHUTDOWN_NOW
        caught_up = request.current_metadata_offset >= broker.epoch
        return BrokerState.FENCED, BrokerState.UNFENCED if caught_up and not want_fence else BrokerState.FENCED
    if broker.in_controlled_shutdown:
        done = context.sessions.may_stop(broker.id) and not leads_any(context, broker.id)
        return BrokerState.CONTROLLED_SHUTDOWN, BrokerState.SHUTDOWN_NOW if done else BrokerState.CONTROLLED_SHUTDOWN
    if want_fence:
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


def _lost_directories(context: Context, broker: Broker, request: BrokerHeartbeatRequest) -> list[UUID]:
    """The directories that have failed since the last heartbeat."""
    if context.level < DIRECTORIES:
        return []
    return [directory for directory in broker.log_dirs if directory in request.offline_log_dirs]
