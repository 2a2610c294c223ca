"""The input of a decision, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol
from uuid import UUID

import attrs

from kraft.config.broker import BROKER_CONFIGS
from kraft.config.describe import ConfigSource, Layer
from kraft.config.setting import usable
from kraft.config.topic import effective_text
from kraft.controller.broker_transitions import BrokerTransitions
from kraft.controller.sessions import Sessions
from kraft.metadata.image import Image, ResourceType
from kraft.wire.schema import Message

#: The most records of one user request; they are appended as one batch.
MAX_RECORDS_PER_USER_OPERATION = 10_000

_UNCLEAN = "unclean.leader.election.enable"


class Randomness(Protocol):
    """The source of randomness for replica placement; ``random.Random`` is one."""

    def randrange(self, stop: int, /) -> int: ...


@attrs.frozen
class ControllerConfig:
    """The settings that the controller reads. ``static_values`` are those of its node, text by Kafka's name.

    ``voter_ids`` (controller.quorum.voters): the controllers that must support a feature before it is finalized.

    ``local_incarnation_id``: the incarnation of the broker in the controller's own process. It holds the locks on the
    broker's directories, so no former incarnation is alive, and its registration does not wait for a former session.

    ``partitions_at_once``: not a Kafka setting. The maximum number of partitions that one decision examines, where the
    decision concerns all partitions of a broker, or all without a leader. A partition costs some 25 µs until its record
    is in the log, and up to 110 µs if it is the only one of its topic. A follower's Fetch waits for about ten such
    decisions.
    """

    cluster_id: str
    node_id: int = -1
    voter_ids: tuple[int, ...] = ()
    num_partitions: int = 1
    default_replication_factor: int = 1
    broker_session_timeout_s: float = 9.0
    delete_topic_enable: bool = True
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_s: float = 300.0
    static_values: Mapping[str, str] = attrs.field(factory=dict)
    partitions_at_once: int = 250
    local_incarnation_id: UUID | None = None


@attrs.frozen
class Context:
    """The state that a decision is based on.

    ``next_offset`` is the offset of the decision's first record. ``active`` are the brokers that may lead and be in an
    ISR. ``image`` shows each broker in ``transitions`` in the state that the finished transition gives it.
    """

    config: ControllerConfig
    image: Image
    active: frozenset[int]
    sessions: Sessions
    transitions: BrokerTransitions
    next_offset: int
    now: float
    version: int
    new_uuid: Callable[[], UUID]
    random: Randomness
    _allows_unclean: dict[str, bool] = attrs.field(factory=dict, init=False)

    @property
    def level(self) -> int:
        """The finalized level of metadata.version."""
        return self.image.metadata_version

    def allows_unclean(self, topic: str) -> bool:
        """Whether an out-of-sync replica may lead a partition of the topic (unclean.leader.election.enable)."""
        allows = self._allows_unclean.get(topic)
        if allows is None:
            overrides = self.image.config(ResourceType.TOPIC, topic)
            text = effective_text(_UNCLEAN, overrides, self.broker_values())
            # Another controller may have accepted any text: as in Kafka, what is not true is false.
            allows = self._allows_unclean[topic] = text is not None and text.strip().lower() == "true"
        return allows

    def broker_values(self) -> dict[str, str]:
        """The broker settings that topic defaults come from."""
        return {key: value for _, values in reversed(self.layers()) for key, value in values.items()}

    def layers(self) -> tuple[Layer, ...]:
        """The broker settings of the controller's node, strongest first (ConfigurationControlManager)."""
        return (
            (ConfigSource.DYNAMIC_BROKER_CONFIG, self._dynamic_values(str(self.config.node_id))),
            (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, self._dynamic_values("")),
            (ConfigSource.STATIC_BROKER_CONFIG, self.config.static_values),
        )

    def _dynamic_values(self, node: str) -> dict[str, str]:
        """The dynamic settings of a node, or of all ("") nodes, except values that a broker would not take."""
        return usable(self.image.config(ResourceType.BROKER, node), BROKER_CONFIGS)


@attrs.frozen
class Decision:
    """The records to append, in order and as one unit, and the response to give once they are committed.

    ``is_atomic``: all records are committed, or none, so they must fit into one batch. Otherwise the metadata is right
    wherever the log ends.
    """

    records: tuple[Message, ...]
    response: Message | None
    is_atomic: bool = False
