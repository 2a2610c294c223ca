"""Decisions about the cluster as a whole: AllocateProducerIds (67), ControllerRegistration (70), activation records."""

from __future__ import annotations

from typing import Any

from kraft.config.features import METADATA_VERSION
from kraft.controller.context import Context, Decision
from kraft.controller.registration import check_protocols, check_size, registered
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
from kraft.metadata.delta import MetadataError
from kraft.metadata.levels import CONTROLLER_REGISTRATION, MIGRATION_STATE, TRANSACTIONS
from kraft.wire.errors import ErrorCode, KafkaError

#: The size of a block of producer ids (KIP-730).
PRODUCER_ID_BLOCK_SIZE = 1000

#: ZkMigrationStateRecord: MIGRATION and PRE_MIGRATION. The others are NONE and POST_MIGRATION.
_MIGRATING = (1, 2)


def allocate_producer_ids(context: Context, request: AllocateProducerIdsRequest) -> Decision:
    """Give a broker a block of producer ids that no other broker gets."""
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
    """Register the endpoints of a controller and the features that it supports (KIP-919)."""
    if context.level < CONTROLLER_REGISTRATION:
        message = f"Controllers register from metadata.version {CONTROLLER_REGISTRATION} on."
        code = ErrorCode.UNSUPPORTED_VERSION
        return Decision((), ControllerRegistrationResponse(error_code=code, error_message=message))
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
    try:
        check_protocols(request.listeners)
        check_size(record)
    except KafkaError as error:
        return Decision((), ControllerRegistrationResponse(error_code=error.code, error_message=error.message))
    unchanged = context.image.controllers.get(request.controller_id) == record
    return Decision(() if unchanged else (record,), ControllerRegistrationResponse(error_code=ErrorCode.NONE))


def activation_records(context: Context, in_transaction: bool, bootstrap: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the records that a new active controller appends before any other (KIP-868).

    They end a transaction that a predecessor left open. On a log without metadata they are the ``bootstrap`` records,
    the level of metadata.version first, in one transaction if that level knows transactions.

    Raises MetadataError if no controller of this version can go on with the log.
    """
    records: list[Any] = []
    if in_transaction:
        records.append(AbortTransactionRecord(reason="The controller that began it is gone."))
    image = context.image
    if image.zk_migration_state in _MIGRATING:
        raise MetadataError("a migration from ZooKeeper is under way; finish it with the controllers that began it")
    if image.metadata_version:
        return tuple(records)
    if image.brokers or image.topics or image.configs:
        raise MetadataError("the log has metadata but no metadata.version: it is from a Kafka before 3.3")
    levels = [record.feature_level for record in bootstrap if getattr(record, "name", "") == METADATA_VERSION]
    if not levels:
        raise MetadataError("bootstrap.checkpoint is missing or has no metadata.version, and the metadata log is empty")
    level = levels[0]
    first = [*bootstrap]
    if level >= MIGRATION_STATE:
        first.append(ZkMigrationStateRecord(zk_migration_state=0))
    if level >= TRANSACTIONS:
        first = [BeginTransactionRecord(name="Bootstrap records"), *first, EndTransactionRecord()]
    return (*records, *first)
