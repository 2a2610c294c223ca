"""The topics that Kafka keeps for itself."""

from __future__ import annotations

from uuid import UUID

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
METADATA_TOPIC_ID = UUID(int=1)
"""The fixed id of ``__cluster_metadata`` (KIP-595)."""

CLUSTER_METADATA_PARTITION = f"{CLUSTER_METADATA_TOPIC}-0"
"""The partition directory of the metadata log, as operators and file paths name it."""

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC, SHARE_STATE_TOPIC})
"""Topics that responses flag as internal. Kafka does not count the metadata log among them."""


def is_internal(topic: str) -> bool:
    return topic in INTERNAL_TOPICS
