"""Generated from spec/ConsumerProtocolSubscription.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

from kraft.wire.schema import NEW, OPEN, Field, Message

__all__ = ["ConsumerProtocolSubscription", "TopicPartition"]


class TopicPartition(Message):
    """Partitions the member holds, so that a cooperative assignor moves few. (1+)

    Attributes:
        topic (1+): Topic name.
        partitions (1+): Partition numbers.
    """

    __slots__ = ("topic", "partitions")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topic", "string", versions=(1, OPEN)),
        Field("partitions", "[]int32", versions=(1, OPEN)),
    )

    def __init__(
        self,
        topic: str = "",
        partitions: list[int] = NEW,
    ) -> None:
        self.topic = topic
        self.partitions = [] if partitions is NEW else partitions


class ConsumerProtocolSubscription(Message):
    """ConsumerProtocolSubscription (data): versions 0-3.

    v1 adds the partitions in hand (KIP-429), v2 their generation, v3 the rack (KIP-881).

    Attributes:
        topics: Topics subscribed to.
        user_data: Assignor's own data.
        owned_partitions (1+): Partitions the member holds, so that a cooperative assignor moves few.
        generation_id (2+): Generation in which it came to hold them, -1 if unknown.
        rack_id (3+): Member's rack, null if it has none.
    """

    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 3)

    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("topics", "[]string"),
        Field("user_data", "bytes", nullable=(0, OPEN), default=None),
        Field("owned_partitions", "[]struct", TopicPartition, versions=(1, OPEN), ignorable=True),
        Field("generation_id", "int32", versions=(2, OPEN), default=-1, ignorable=True),
        Field("rack_id", "string", versions=(3, OPEN), nullable=(3, OPEN), default=None, ignorable=True),
    )

    def __init__(
        self,
        topics: list[str] = NEW,
        user_data: bytes | None = None,
        owned_partitions: list[TopicPartition] = NEW,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics = [] if topics is NEW else topics
        self.user_data = user_data
        self.owned_partitions = [] if owned_partitions is NEW else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id
