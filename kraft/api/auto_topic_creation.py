"""Topics that a broker has the controller create because a client needs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kraft.api.context import BrokerContext
from kraft.controller.internal_topics import creatable
from kraft.messages.create_topics_request import CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.wire.errors import ErrorCode

#: The topic is there: this broker's request created it, or another one did.
CREATED: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)

_TIMEOUT_MS = 30_000


async def create_topics(broker: BrokerContext, names: Iterable[str]) -> Sequence[CreatableTopicResult]:
    """Have the controller create topics with the broker's defaults; what came of each. Raises as ``broker.change``."""
    topics = [creatable(broker.config, name) for name in names]
    response: CreateTopicsResponse = await broker.change(CreateTopicsRequest(topics=topics, timeout_ms=_TIMEOUT_MS))
    return response.topics
