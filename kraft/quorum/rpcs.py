"""What the quorum's requests and responses have in common, in both directions (KIP-595, KIP-630, KIP-853, KIP-996).

``kraft.quorum.outbound_requests`` encodes the requests of this node; ``kraft.quorum.inbound_requests`` decodes those of
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
from kraft.controller.context import CLUSTER_METADATA_TOPIC
from kraft.messages.registry import ApiKey
from kraft.wire.uuids import METADATA_TOPIC_ID

#: The one partition of the metadata log.
PARTITION: Final = 0
#: Stands for a leader that is not known.
NOBODY: Final = -1
#: A leader's answer to a Fetch or a FetchSnapshot is at most this large, a first batch aside.
MAX_FETCH_BYTES: Final = 8 * 2**20
#: From here on a Fetch names topics by their ids.
TOPIC_IDS_VERSION: Final = 13
#: From here on a Fetch says who asks in ``replica_state``.
REPLICA_STATE_VERSION: Final = 15
#: From here on a Vote can be a pre-vote.
PRE_VOTE_VERSION: Final = 2

#: The versions of each RPC that a quorum can be run with. Before its version 12 a Fetch knows no diverging epochs.
VERSIONS: Final[Mapping[ApiKey, tuple[int, int]]] = {
    ApiKey.VOTE: (0, 2),
    ApiKey.BEGIN_QUORUM_EPOCH: (0, 1),
    ApiKey.END_QUORUM_EPOCH: (0, 1),
    ApiKey.FETCH: (12, 18),
    ApiKey.FETCH_SNAPSHOT: (0, 1),
}


@attrs.frozen
class Identity:
    """What a member says of itself and of the quorum.

    ``directory_id`` is that of the directory with its metadata log; ``voters`` are by their ids; ``listener`` is the
    name of the listener that they are reached by.
    """

    node_id: int
    cluster_id: str
    directory_id: UUID
    voters: Mapping[int, Voter]
    listener: str


def fetch_topic(version: int) -> dict[str, Any]:
    """How a topic is named in a Fetch of this version, for ``sole_partition``."""
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
    """The partition of a request or a response, if it is the metadata log's and the only one; else None.

    The messages have different names for the attributes that say which ``topic`` it is and which ``index`` it has.
    """
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        return None
    partition = topics[0].partitions[0]
    return partition if getattr(topics[0], topic) == ours and getattr(partition, index) == PARTITION else None
