"""What concerns the cluster as a whole: AllocateProducerIds (67), ControllerRegistration (70), the first records."""

from __future__ import annotations

from typing import Any

from kraft.controller.brokers import registered
from kraft.controller.context import Context, Decision
from kraft.messages.abort_transaction_record import AbortTransactionRecord
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.allocate_producer_ids_response import AllocateProducerIdsResponse
from kraft.messages.begin_transaction_record import BeginTransactionRecord
from kraft.messages.controller_registration_request import ControllerRegistrationRequest
from kraft.messages.controller_registration_response import ControllerRegistrationResponse
from kraft.messages.end_transaction_record import EndTransactionRecord
from kraft.messages.producer_ids_record import ProducerIdsRecord
from kraft.messages.register_controller_record import ControllerEndpoint, ControllerFeature, RegisterControllerRecord
from kraft.messages.zk_migration_state_record import ZkMigrationStateRecord
from kraft.wire.errors import ErrorCode, KafkaError

#: How many producer ids a broker gets at a time (KIP-730).
PRODUCER_ID_BLOCK_SIZE = 1000


def allocate_producer_ids(context: Context, request: AllocateProducerIdsRequest) -> Decision:
    """Give a broker a block of producer ids that nobody else will ever get."""
    try:
        registered(context, request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Decision((), AllocateProducerIdsResponse(error_code=error.code))
    start = context.image.next_producer_id
    record = ProducerIdsRecord(
        broker_id=request.broker_id,
        broker_epoch=request.broker_epoch,
        next_producer_id=start + PRODUCER_ID_BLOCK_SIZE,
    )
    response = AllocateProducerIdsResponse(
        error_code=ErrorCode.NONE, producer_id_start=start, producer_id_len=PRODUCER_ID_BLOCK_SIZE
    )
    return Decision((record,), response)


def register_controller(context: Context, request: ControllerRegistrationRequest) -> Decision:
    """Note where a controller is reached and which features it supports (KIP-919)."""
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=request.zk_migration_ready,
        end_points=[
            ControllerEndpoint(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
            for e in request.listeners
        ],
        features=[
            ControllerFeature(
                name=f.name,
                min_supported_version=f.min_supported_version,
                max_supported_version=f.max_supported_version,
            )
            for f in request.features
        ],
    )
    unchanged = context.image.controllers.get(request.controller_id) == record
    return Decision(() if unchanged else (record,), ControllerRegistrationResponse(error_code=ErrorCode.NONE))


def activation_records(context: Context, in_transaction: bool, bootstrap: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a new active controller appends before anything else (KIP-868).

    On an empty log the ``bootstrap`` records (metadata.version is the first) as one transaction; on any other
    nothing, but an end to the transaction that a predecessor left open.
    """
    if in_transaction:
        return (AbortTransactionRecord(reason="The controller that began it is gone."),)
    if context.image.metadata_version:
        return ()
    return (
        BeginTransactionRecord(name="Bootstrap records"),
        *bootstrap,
        ZkMigrationStateRecord(zk_migration_state=0),
        EndTransactionRecord(),
    )
