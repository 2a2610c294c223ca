"""BrokerHeartbeat (63) and the end of sessions (KIP-631, KIP-841, KIP-858).

A broker is unfenced once its heartbeats show that it has replayed its own registration. It is fenced when its session
expires. In controlled shutdown it gives up its leaderships first. A broker leaves every ISR before it stops being
active; when one of its directories fails (v1+), only the ISRs of the replicas in it. If that takes several decisions
(:mod:`kraft.controller.broker_transitions`), the response has the state that holds until the last of them.

v2 reports the cordoned directories (KIP-1066), which a change of the registration holds from metadata.version 30 on.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import attrs

from kraft.controller.broker_transitions import Goal
from kraft.controller.context import Context, Decision
from kraft.controller.elections import begin_transition, final_records, led_with
from kraft.controller.registration import check_size, registered
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from kraft.metadata.image import Broker
from kraft.metadata.levels import CORDONED_DIRECTORIES, DIRECTORIES
from kraft.wire.errors import ErrorCode, KafkaError

_UNFENCE = -1


def broker_heartbeat(context: Context, request: BrokerHeartbeatRequest) -> Decision:
    """Renew the session and move the broker towards the state that it requests."""
    try:
        broker = registered(context, request.broker_id, request.broker_epoch)
        cordoned = _cordoned(context, broker, request)
    except KafkaError as error:
        return Decision((), BrokerHeartbeatResponse(error_code=error.code))
    records: list[Any] = []
    if context.transitions.is_leaving(broker.id):
        fenced = False  # a transition is under way; a later heartbeat is acted on
    elif broker.fenced:
        records, fenced = _fenced(context, broker, request)
    else:
        records, fenced = _unfenced(context, broker, request)
    records += cordoned
    context.sessions.touch(broker.id, broker.epoch, request.current_metadata_offset, fenced, context.now)
    has_shut_down = broker.in_controlled_shutdown and not broker.fenced
    return Decision(
        tuple(records),
        BrokerHeartbeatResponse(
            error_code=ErrorCode.NONE,
            is_caught_up=request.current_metadata_offset >= broker.epoch,
            is_fenced=fenced,
            should_shut_down=fenced and (request.want_shut_down or has_shut_down),
        ),
    )


def _fenced(context: Context, broker: Broker, request: BrokerHeartbeatRequest) -> tuple[list[Any], bool]:
    """The records for a fenced broker and the partitions that it now leads, and whether it is fenced after them."""
    lost, left = _directories(context, broker, request)
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch)
    if lost:
        change.log_dirs = left
    wants_fence = request.want_fence or request.want_shut_down or (bool(lost) and not left)
    if request.current_metadata_offset < broker.epoch or wants_fence:
        return [change] if change.log_dirs else [], True
    change.fenced = _UNFENCE
    return [change, *led_with(context, attrs.evolve(broker, fenced=False, log_dirs=tuple(left)))], False


def _unfenced(context: Context, broker: Broker, request: BrokerHeartbeatRequest) -> tuple[list[Any], bool]:
    """The records for an unfenced broker and its partitions, and whether it is fenced after them."""
    lost, left = _directories(context, broker, request)
    goal = _goal(context, broker, request, lost, left)
    if goal is None:
        return [], False
    records, transition = begin_transition(context, broker, goal, lost)
    if not transition.walk.finished:
        return records, False
    records += final_records(context, transition, context.next_offset + len(records))
    if lost and left and goal is not Goal.WITHOUT_DIRECTORIES:
        records.append(BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=left))
    return records, transition.fences


def _goal(
    context: Context, broker: Broker, request: BrokerHeartbeatRequest, lost: frozenset[UUID], left: list[UUID]
) -> Goal | None:
    """The state that the broker moves to, or None if it stays as it is."""
    if broker.in_controlled_shutdown:
        if context.sessions.may_stop(broker.id):
            return Goal.IN_CONTROLLED_SHUTDOWN
    # A broker without a directory cannot lead. The log cannot say "no directories": that means "no change".
    elif request.want_fence or (lost and not left):
        return Goal.FENCED
    elif request.want_shut_down:
        return Goal.IN_CONTROLLED_SHUTDOWN
    return Goal.WITHOUT_DIRECTORIES if lost and left else None


def _directories(
    context: Context, broker: Broker, request: BrokerHeartbeatRequest
) -> tuple[frozenset[UUID], list[UUID]]:
    """The directories that failed since the last heartbeat, and those that are left."""
    if context.level < DIRECTORIES:
        return frozenset(), list(broker.log_dirs)
    lost = frozenset(broker.log_dirs).intersection(request.offline_log_dirs)
    return lost, [directory for directory in broker.log_dirs if directory not in lost]


def _cordoned(
    context: Context, broker: Broker, request: BrokerHeartbeatRequest
) -> list[BrokerRegistrationChangeRecord]:
    """The record of the cordoned directories, if they changed (Kafka's ``handleDirectoriesCordoned``).

    Raises KafkaError RECORD_LIST_TOO_LARGE.
    """
    reported, known = request.cordoned_log_dirs, broker.cordoned_log_dirs
    if context.level < CORDONED_DIRECTORIES or reported is None or (known is not None and set(known) == set(reported)):
        return []
    change = BrokerRegistrationChangeRecord(broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=reported)
    check_size(change)
    return [change]
