"""Constants and helpers for the quorum's requests and responses in both directions (KIP-595, KIP-630, KIP-853).

``kraft.quorum.outbound_requests`` encodes the requests of this node. ``kraft.quorum.inbound_requests`` decodes those of
its peers.

The voters are static (kraft.version 0), so a voter is known by its id alone. The zero UUID stands for the directory of
any voter, and the endpoints in a response are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import attrs

from kraft.config.listeners import Voter
from kraft.messages.registry import ApiKey
from kraft.wire.internal_topics import CLUSTER_METADATA_TOPIC, METADATA_TOPIC_ID

#: The only partition of the metadata log.
PARTITION: Final = 0
#: Stands for an unknown leader.
NOBODY: Final = -1
#: The maximum size of a Fetch or FetchSnapshot response, in bytes. A larger first batch is still sent.
MAX_FETCH_BYTES: Final = 8 * 2**20
#: The first version of Fetch that names topics by their ids.
TOPIC_IDS_VERSION: Final = 13
#: The first version of Fetch with the sender in ``replica_state``.
REPLICA_STATE_VERSION: Final = 15
#: The first version of Vote with pre-votes (KIP-996).
PRE_VOTE_VERSION: Final = 2

#: The supported versions of each RPC. Versions of Fetch before 12 have no diverging epoch.
VERSIONS: Final[Mapping[ApiKey, tuple[int, int]]] = {
    ApiKey.VOTE: (0, 2),
    ApiKey.BEGIN_QUORUM_EPOCH: (0, 1),
    ApiKey.END_QUORUM_EPOCH: (0, 1),
    ApiKey.FETCH: (12, 18),
    ApiKey.FETCH_SNAPSHOT: (0, 1),
}


@attrs.frozen
class Identity:
    """A member's identity and its view of the quorum.

    ``directory_id`` is the id of the directory with its metadata log. ``voters`` are the voters by id. ``listener`` is
    the name of the listener that they are reached by.
    """

    node_id: int
    cluster_id: str
    directory_id: UUID
    voters: Mapping[int, Voter]
    listener: str


def fetch_topic(version: int) -> dict[str, Any]:
    """Return the arguments of ``sole_partition`` for the topic of a Fetch of this version."""
    if version < TOPIC_IDS_VERSION:
        return {"topic": "topic", "ours": CLUSTER_METADATA_TOPIC}
    return {"topic": "topic_id", "ours": METADATA_TOPIC_ID}


def sole_partition(
    topics: Sequence[Any],
    *,
    topic: str = "topic_name",
    ours: Any = CLUSTER_METADATA_TOPIC,
    index: str = "partition_index",
) -> Any | None:
    """Return the partition of a request or response if it is the only one and the metadata log's, else None.

    ``topic`` and ``index`` are the names of the attributes with the topic and the partition index. They differ between
    the messages.
    """
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    partition = topics[0].partitions[0]
    return partition if getattr(topics[0], topic) == ours and getattr(partition, index) == PARTITION else None
