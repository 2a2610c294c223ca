"""Generated from spec/EndQuorumEpochResponse.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import OPEN, Field, Message

__all__ = ["EndQuorumEpochResponse", "NodeEndpoint", "PartitionData", "TopicData"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class PartitionData(Message):
    """The partitions of this topic. (0+)

    Attributes:
        partition_index: Number of the partition in its topic.
        error_code: The outcome as a Kafka error code; 0 is success.
        leader_id: Leader of that epoch, or -1.
        leader_epoch: Newest epoch the receiver knows.
    """

    partition_index: int = 0
    error_code: int = 0
    leader_id: int = 0
    leader_epoch: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("partition_index", "int32"),
        Field("error_code", "int16"),
        Field("leader_id", "int32"),
        Field("leader_epoch", "int32"),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class TopicData(Message):
    """One entry per topic. (0+)

    Attributes:
        topic_name: Name of the topic.
        partitions: The partitions of this topic.
    """

    topic_name: str = ""
    partitions: list[PartitionData] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic_name", "string"),
        Field("partitions", "[]struct", PartitionData),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class NodeEndpoint(Message):
    """Where to reach the nodes that the response names as leader. (1+)

    Attributes:
        node_id (1+): Id of the node.
        host (1+): Host name or address to connect to.
        port (1+): Port to connect to.
    """

    node_id: int = 0
    host: str = ""
    port: int = 0

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("node_id", "int32", versions=(1, OPEN)),
        Field("host", "string", versions=(1, OPEN)),
        Field("port", "uint16", versions=(1, OPEN)),
    )


@attrs.define(eq=False, repr=False, weakref_slot=False)
class EndQuorumEpochResponse(Message):
    """EndQuorumEpochResponse (response of API 54): versions 0-1, flexible from 1.

    Attributes:
        error_code: The outcome as a Kafka error code; 0 is success.
        topics: One entry per topic.
        node_endpoints (1+): Where to reach the nodes that the response names as leader.
    """

    API_KEY: ClassVar[int] = 54
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int] = 1

    error_code: int = 0
    topics: list[TopicData] = attrs.Factory(list)
    node_endpoints: list[NodeEndpoint] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("error_code", "int16"),
        Field("topics", "[]struct", TopicData),
        Field("node_endpoints", "[]struct", NodeEndpoint, versions=(1, OPEN), tag=0, tagged=(1, OPEN)),
    )
