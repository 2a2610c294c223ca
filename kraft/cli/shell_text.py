"""The contents of the files in the tree of ``kraft shell``: one line each, in the format of kafka-metadata-shell.

The image has no eligible leader replicas, so they are not shown. Cordoned directories are shown once a broker has
reported them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from kraft.config.listeners import PROTOCOLS
from kraft.messages.access_control_entry_record import AccessControlEntryRecord
from kraft.messages.delegation_token_record import DelegationTokenRecord
from kraft.messages.plain import to_plain
from kraft.messages.register_controller_record import RegisterControllerRecord
from kraft.messages.user_scram_credential_record import UserScramCredentialRecord
from kraft.metadata.image import Broker, Image, QuotaEntity
from kraft.metadata.partitions import Partition
from kraft.wire.uuids import uuid_to_text

MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}

_RESOURCES = ("UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")
_PATTERNS = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")
_OPERATIONS = (
    *("UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION"),
    *("DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT"),
)
_PERMISSIONS = ("UNKNOWN", "ANY", "DENY", "ALLOW")
_RECOVERY = ("RECOVERED", "RECOVERING")
_ENTITY_TYPES = {"client-id": "clientId"}


def provenance_text(image: Image) -> str:
    try:
        moment = datetime.fromtimestamp(image.timestamp_ms / 1000, UTC)
        when = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError):
        when = f"{image.timestamp_ms} ms"  # out of the calendar's range, although the checksum was right
    return f"offset {image.offset}, epoch {image.epoch}, time {when}"


def partition_text(partition: Partition) -> str:
    return _record(
        "PartitionRegistration",
        replicas=_list(partition.replicas),
        directories=_ids(partition.directories),
        isr=_list(partition.isr),
        removingReplicas=_list(partition.removing_replicas),
        addingReplicas=_list(partition.adding_replicas),
        leader=partition.leader,
        leaderRecoveryState=_name(_RECOVERY, partition.leader_recovery_state),
        leaderEpoch=partition.leader_epoch,
        partitionEpoch=partition.partition_epoch,
    )


def broker_text(broker: Broker) -> str:
    return _record(
        "BrokerRegistration",
        id=broker.id,
        epoch=broker.epoch,
        incarnationId=uuid_to_text(broker.incarnation_id),
        listeners=_list(_endpoint(e.listener, e.security_protocol, e.host, e.port) for e in broker.endpoints),
        supportedFeatures=_features((name, *levels) for name, levels in broker.features.items()),
        rack="Optional.empty" if broker.rack is None else f"Optional[{broker.rack}]",
        fenced=_truth(broker.fenced),
        inControlledShutdown=_truth(broker.in_controlled_shutdown),
        isMigratingZkBroker=_truth(broker.is_migrating_zk_broker),
        directories=_ids(broker.log_dirs),
        **({} if broker.cordoned_log_dirs is None else {"cordonedDirectories": _ids(broker.cordoned_log_dirs)}),
    )


def controller_text(controller: RegisterControllerRecord) -> str:
    endpoints = (_endpoint(e.name, e.security_protocol, e.host, e.port) for e in controller.end_points)
    features = ((f.name, f.min_supported_version, f.max_supported_version) for f in controller.features)
    return _record(
        "ControllerRegistration",
        id=controller.controller_id,
        incarnationId=uuid_to_text(controller.incarnation_id),
        zkMigrationReady=_truth(controller.zk_migration_ready),
        listeners=_list(endpoints),
        supportedFeatures=_features(features),
    )


def acl_text(acl: AccessControlEntryRecord) -> str:
    return "StandardAcl" + _fields(
        "[]",
        resourceType=_name(_RESOURCES, acl.resource_type),
        resourceName=acl.resource_name,
        patternType=_name(_PATTERNS, acl.pattern_type),
        principal=acl.principal,
        host=acl.host,
        operation=_name(_OPERATIONS, acl.operation),
        permissionType=_name(_PERMISSIONS, acl.permission_type),
    )


def scram_text(credential: UserScramCredentialRecord) -> str:
    return _record(
        "ScramCredentialData",
        salt=credential.salt.hex(),
        storedKey=credential.stored_key.hex(),
        serverKey=credential.server_key.hex(),
        iterations=credential.iterations,
    )


def token_text(token: DelegationTokenRecord) -> str:
    return _record("DelegationToken", **to_plain(token))


def quota_entity_name(entity: QuotaEntity) -> str:
    """Return a quota entity as a name: ``clientId(c1)_user(bob)``. A default entity has empty parentheses."""
    return "_".join(f"{_ENTITY_TYPES.get(kind, kind)}({_escaped(name or '')})" for kind, name in entity)


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _record(kind: str, **fields: Any) -> str:
    return kind + _fields("()", **fields)


def _fields(brackets: str, **fields: Any) -> str:
    return brackets[0] + ", ".join(f"{name}={value}" for name, value in fields.items()) + brackets[1]


def _endpoint(listener: str, protocol: int, host: str, port: int) -> str:
    name = f"listenerName='{listener}', securityProtocol={_name(PROTOCOLS, protocol)}"
    return f"Endpoint({name}, host='{host}', port={port})"


def _features(features: Iterable[tuple[str, int, int]]) -> str:
    return "{" + ", ".join(f"{name}: {low}-{high}" for name, low, high in sorted(features)) + "}"


def _ids(ids: Iterable[UUID]) -> str:
    return _list(map(uuid_to_text, ids))


def _list(items: Iterable[object]) -> str:
    return "[" + ", ".join(map(str, items)) + "]"


def _name(names: tuple[str, ...], number: int) -> str:
    return names[number] if 0 <= number < len(names) else f"UNKNOWN({number})"


def _truth(value: bool) -> str:
    return "true" if value else "false"
