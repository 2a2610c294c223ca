"""What a handler may look at, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from uuid import UUID

import attrs

from kraft.config.topic import LogConfig, log_config
from kraft.controller.departures import Departures
from kraft.controller.sessions import Sessions
from kraft.metadata.image import Image, ResourceType

#: The most records that one request of a user may cause; they are written as one batch.
MAX_RECORDS_PER_USER_OPERATION = 10_000

CLUSTER_METADATA_TOPIC = "__cluster_metadata"


class Randomness(Protocol):
    """Where placement gets its randomness from; ``random.Random`` is one."""

    def randrange(self, stop: int, /) -> int: ...


@attrs.frozen
class ControllerConfig:
    """The settings that the controller reads. ``static_values`` are the node's own, Kafka's name to text.

    ``voter_ids`` (controller.quorum.voters) are the controllers that must support a feature before it is used.

    ``partitions_at_once`` is none of Kafka's: how many partitions one decision goes past that is about all of a broker,
    or all without a leader. Some 25 µs are spent on a partition until it is in the log, up to 110 on the only one of a
    topic, and a follower's Fetch is answered after about ten such decisions.
    """

    cluster_id: str
    voter_ids: tuple[int, ...] = ()
    num_partitions: int = 1
    default_replication_factor: int = 1
    broker_session_timeout_ms: int = 9_000
    delete_topic_enable: bool = True
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_ms: int = 300_000
    static_values: Mapping[str, str] = attrs.field(factory=dict)
    partitions_at_once: int = 250


@attrs.frozen
class Context:
    """The state a decision is made in.

    ``next_offset`` is where its first record will be, ``active`` are the brokers that may lead and be in an ISR.
    In ``image`` the brokers of ``departures`` already are what they will be when those are finished.
    """

    config: ControllerConfig
    image: Image
    active: frozenset[int]
    sessions: Sessions
    departures: Departures
    next_offset: int
    now_ms: float
    version: int
    former_incarnation_gone: bool
    new_uuid: Callable[[], UUID]
    random: Randomness
    _allows_unclean: dict[str, bool] = attrs.field(factory=dict, init=False)

    @property
    def level(self) -> int:
        """The level of metadata.version that the cluster is at."""
        return self.image.metadata_version

    def allows_unclean(self, topic: str) -> bool:
        """Whether a topic may be led by a replica that was out of sync (unclean.leader.election.enable)."""
        allows = self._allows_unclean.get(topic)
        if allows is None:
            allows = self._allows_unclean[topic] = self.log_config(topic).unclean_leader_election_enable
        return allows

    def broker_values(self) -> dict[str, str]:
        """The broker settings that topic defaults come from: the dynamic cluster-wide ones over the static ones."""
        return {**self.config.static_values, **self.image.config(ResourceType.BROKER, "")}

    def log_config(self, topic: str) -> LogConfig:
        """The effective settings of a topic."""
        return log_config(self.image.config(ResourceType.TOPIC, topic), self.broker_values())


@attrs.frozen
class Decision:
    """The records to append, in order and as one unit, and the answer once they are committed."""

    records: tuple[Any, ...]
    response: Any
