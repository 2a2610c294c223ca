"""The APIs that each kind of listener offers, and those that brokers may forward.

``python -m kraft.api.index`` generates this file from the rows. Do not edit it.
"""

from __future__ import annotations

from typing import Final

from kraft.api.row import ListenerType, Versions
from kraft.messages.registry import ApiKey

OFFERED: Final[dict[ListenerType, dict[int, Versions]]] = {
    ListenerType.BROKER: {
        ApiKey.PRODUCE: (0, 13),
        ApiKey.FETCH: (4, 17),
        ApiKey.LIST_OFFSETS: (1, 9),
        ApiKey.METADATA: (0, 13),
        ApiKey.OFFSET_COMMIT: (2, 9),
        ApiKey.OFFSET_FETCH: (1, 9),
        ApiKey.FIND_COORDINATOR: (0, 6),
        ApiKey.JOIN_GROUP: (0, 9),
        ApiKey.HEARTBEAT: (0, 4),
        ApiKey.LEAVE_GROUP: (0, 5),
        ApiKey.SYNC_GROUP: (0, 5),
        ApiKey.DESCRIBE_GROUPS: (0, 6),
        ApiKey.LIST_GROUPS: (0, 5),
        ApiKey.API_VERSIONS: (0, 4),
        ApiKey.CREATE_TOPICS: (2, 7),
        ApiKey.DELETE_TOPICS: (1, 6),
        ApiKey.DELETE_RECORDS: (0, 2),
        ApiKey.INIT_PRODUCER_ID: (0, 5),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4),
        ApiKey.DESCRIBE_CONFIGS: (1, 4),
        ApiKey.ALTER_CONFIGS: (0, 2),
        ApiKey.DESCRIBE_LOG_DIRS: (1, 4),
        ApiKey.CREATE_PARTITIONS: (0, 3),
        ApiKey.DELETE_GROUPS: (0, 2),
        ApiKey.ELECT_LEADERS: (0, 2),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 1),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, 0),
        ApiKey.OFFSET_DELETE: (0, 0),
        ApiKey.DESCRIBE_QUORUM: (0, 2),
        ApiKey.UPDATE_FEATURES: (0, 2),
        ApiKey.DESCRIBE_CLUSTER: (0, 2),
        ApiKey.DESCRIBE_PRODUCERS: (0, 0),
        ApiKey.UNREGISTER_BROKER: (0, 0),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
        ApiKey.ADD_RAFT_VOTER: (0, 1),
        ApiKey.REMOVE_RAFT_VOTER: (0, 0),
    },
    ListenerType.CONTROLLER: {
        ApiKey.FETCH: (12, 18),
        ApiKey.API_VERSIONS: (0, 4),
        ApiKey.CREATE_TOPICS: (2, 7),
        ApiKey.DELETE_TOPICS: (1, 6),
        ApiKey.DESCRIBE_CONFIGS: (1, 4),
        ApiKey.ALTER_CONFIGS: (0, 2),
        ApiKey.CREATE_PARTITIONS: (0, 3),
        ApiKey.ELECT_LEADERS: (0, 2),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: (0, 1),
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: (0, 1),
        ApiKey.LIST_PARTITION_REASSIGNMENTS: (0, 0),
        ApiKey.VOTE: (0, 2),
        ApiKey.BEGIN_QUORUM_EPOCH: (0, 1),
        ApiKey.END_QUORUM_EPOCH: (0, 1),
        ApiKey.DESCRIBE_QUORUM: (0, 2),
        ApiKey.ALTER_PARTITION: (2, 3),
        ApiKey.UPDATE_FEATURES: (0, 2),
        ApiKey.ENVELOPE: (0, 0),
        ApiKey.FETCH_SNAPSHOT: (0, 1),
        ApiKey.DESCRIBE_CLUSTER: (0, 2),
        ApiKey.BROKER_REGISTRATION: (0, 4),
        ApiKey.BROKER_HEARTBEAT: (0, 1),
        ApiKey.UNREGISTER_BROKER: (0, 0),
        ApiKey.ALLOCATE_PRODUCER_IDS: (0, 0),
        ApiKey.CONTROLLER_REGISTRATION: (0, 0),
        ApiKey.ASSIGN_REPLICAS_TO_DIRS: (0, 0),
        ApiKey.ADD_RAFT_VOTER: (0, 1),
        ApiKey.REMOVE_RAFT_VOTER: (0, 0),
        ApiKey.UPDATE_RAFT_VOTER: (0, 0),
    },
    ListenerType.ZK_BROKER: {},
}
"""The versions of each API that a kind of listener offers."""

FORWARDABLE: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)
"""The APIs that a broker may forward to the active controller in an Envelope (KIP-590)."""
