"""Generated from spec/DeleteShareGroupOffsetsRequest.json by ``python -m kraft.codegen``; do not edit."""

from __future__ import annotations

from typing import ClassVar

import attrs

from kraft.wire.schema import Field, Message

__all__ = ["DeleteShareGroupOffsetsRequest", "DeleteShareGroupOffsetsRequestTopic"]


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteShareGroupOffsetsRequestTopic(Message):
    """Topics whose state is deleted. (0+)

    Attributes:
        topic_name: Topic name.
    """

    topic_name: str = ""

    FIELDS: ClassVar[tuple[Field, ...]] = (Field("topic_name", "string"),)


@attrs.define(eq=False, repr=False, weakref_slot=False)
class DeleteShareGroupOffsetsRequest(Message):
    """DeleteShareGroupOffsetsRequest (request of API 92): versions 0, flexible from 0.

    Attributes:
        group_id: Group id.
        topics: Topics whose state is deleted.
    """

    API_KEY: ClassVar[int] = 92
    VALID_VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int] = 0

    group_id: str = ""
    topics: list[DeleteShareGroupOffsetsRequestTopic] = attrs.Factory(list)

    FIELDS: ClassVar[tuple[Field, ...]] = (
        Field("group_id", "string"),
        Field("topics", "[]struct", DeleteShareGroupOffsetsRequestTopic),
    )
