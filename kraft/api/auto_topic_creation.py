"""Topics that a broker creates through the controller because a client needs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kraft.api.context import BrokerContext
from kraft.controller.internal_topics import creatable
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.wire.errors import ErrorCode

#: The topic exists: either this request or an earlier one created it.
CREATED: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)

_TIMEOUT_MS = 30_000


async def create_topics(broker: BrokerContext, names: Iterable[str]) -> Sequence[CreatableTopicResult]:
    """Create topics with the broker's defaults, and return the result of each. Raises as ``broker.change`` does."""
    topics = [creatable(broker.config, name) for name in names]
    response: CreateTopicsResponse = await broker.change(CreateTopicsRequest(topics=topics, timeout_ms=_TIMEOUT_MS))
    return response.topics
