"""Topics that a broker creates through the controller because a client needs them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kraft.api.context import BrokerContext
from kraft.config.broker import NodeConfig
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.create_topics_response import CreatableTopicResult, CreateTopicsResponse
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import OFFSETS_TOPIC

#: The topic exists: either this request or an earlier one created it.
CREATED: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)

_BROKER_DEFAULT = -1
_TIMEOUT_MS = 30_000


async def create_topics(broker: BrokerContext, names: Iterable[str]) -> Sequence[CreatableTopicResult]:
    """Create topics with the broker's defaults, and return the result of each. Raises as ``broker.change`` does."""
    topics = [_creatable(broker.config, name) for name in names]
    response: CreateTopicsResponse = await broker.change(CreateTopicsRequest(topics=topics, timeout_ms=_TIMEOUT_MS))
    return response.topics


def _creatable(config: NodeConfig, name: str) -> CreatableTopic:
    """Describe the automatic creation of ``name``: internal topics by their own settings, others by the broker's
    defaults.
    """
    if name != OFFSETS_TOPIC:
        return CreatableTopic(name=name, num_partitions=_BROKER_DEFAULT, replication_factor=_BROKER_DEFAULT)
    settings = {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": str(config.groups.offsets_topic_segment_bytes),
    }
    return CreatableTopic(
        name=name,
        num_partitions=config.groups.offsets_topic_num_partitions,
        replication_factor=config.groups.offsets_topic_replication_factor,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in settings.items()],
    )
