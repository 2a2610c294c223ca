"""Authorized operations (KIP-430): bit sets over Kafka's ACL operation codes.

Without an authorizer, every client may do everything.
"""

from __future__ import annotations

from kraft.api.row import Operation


def bits(*operations: Operation) -> int:
    return sum(1 << operation for operation in operations)


GROUP_OPERATIONS = bits(
    Operation.READ, Operation.DELETE, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS
)
TOPIC_OPERATIONS = GROUP_OPERATIONS | bits(Operation.WRITE, Operation.CREATE, Operation.ALTER)
CLUSTER_OPERATIONS = bits(
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.CLUSTER_ACTION,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
    Operation.IDEMPOTENT_WRITE,
)
