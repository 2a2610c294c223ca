"""A controller core with its log in a list: the whole of a driver that a pure test needs."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import attrs

from kraft.controller.context import ControllerConfig
from kraft.controller.core import Activated, ControllerCore, ControllerRequest, DeadlineReached, Event
from kraft.messages.alter_partition_request import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_heartbeat_response import BrokerHeartbeatResponse
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from kraft.messages.broker_registration_response import BrokerRegistrationResponse
from kraft.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kraft.messages.create_topics_response import CreatableTopicResult
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.metadata.image import Image, Topic
from kraft.metadata.loader import Loader
from kraft.metadata.partitions import Partition
from kraft.wire.errors import ErrorCode

CLUSTER_ID = "toy"
LEVEL = 21
_MANY_TURNS = 100_000


def numbered_uuids(start: int) -> Iterator[UUID]:
    number = start
    while True:
        number += 1
        yield UUID(int=number)


class ToyCluster:
    """A controller, its log, and brokers by number. A new log begins at ``level`` of metadata.version.

    ``settles``: the continuation of a request ends before the next request, without other events in between.
    """

    def __init__(
        self,
        config: ControllerConfig | None = None,
        log: list[Any] | None = None,
        *,
        level: int = LEVEL,
        settles: bool = True,
    ) -> None:
        self.settles = settles
        self.config = config or ControllerConfig(CLUSTER_ID)
        self.now = 0.0
        self.log: list[Any] = []
        self._uuids = numbered_uuids(1_000_000 + 1_000 * len(log or ()))
        loader = Loader()
        if log:
            self.log = list(log)
            loader.load(self.log, len(log) - 1, 1, 0)
        self.core = ControllerCore(
            self.config, loader, len(self.log), lambda: next(self._uuids), random.Random(7), self.now
        )
        self.send(Activated((FeatureLevelRecord(name="metadata.version", feature_level=level),)))
        if settles:
            self.settle()

    @property
    def image(self) -> Image:
        return self.core.image

    def send(self, event: Event) -> Any:
        decision = self.core.step(self.now, event)
        if decision.records:
            self.log += decision.records
            self.core.replay(decision.records, len(self.log), 1, 0)
        return decision.response

    def ask(self, message: Any, version: int | None = None) -> Any:
        response = self.send(ControllerRequest(message, message.VALID_VERSIONS[1] if version is None else version))
        if self.settles:
            self.settle()
        return response

    # Brokers.

    def register(
        self, broker_id: int, *, incarnation: int = 0, rack: str | None = None, local: bool = False, **fields: Any
    ) -> BrokerRegistrationResponse:
        """``local``: the broker is in the controller's own process."""
        incarnation_id = UUID(int=100 * broker_id + incarnation + 1)
        self.core.config = attrs.evolve(self.core.config, local_incarnation_id=incarnation_id if local else None)
        values: dict[str, Any] = {
            "cluster_id": CLUSTER_ID,
            "log_dirs": [UUID(int=10_000 + broker_id)],
            "features": [Feature(name="metadata.version", min_supported_version=7, max_supported_version=21)],
            "listeners": [Listener(name="PLAINTEXT", host="localhost", port=9092)],
            **fields,
        }
        message = BrokerRegistrationRequest(broker_id=broker_id, incarnation_id=incarnation_id, rack=rack, **values)
        response: BrokerRegistrationResponse = self.ask(message)
        return response

    def heartbeat(
        self,
        broker_id: int,
        *,
        fence: bool = False,
        stop: bool = False,
        offline: Sequence[UUID] = (),
        cordoned: list[UUID] | None = None,
    ) -> BrokerHeartbeatResponse:
        """A heartbeat of a broker that has replayed everything, with those of its directories that have failed."""
        response: BrokerHeartbeatResponse = self.ask(
            BrokerHeartbeatRequest(
                broker_id=broker_id,
                broker_epoch=self.image.brokers[broker_id].epoch,
                current_metadata_offset=len(self.log) - 1,
                want_fence=fence,
                want_shut_down=stop,
                offline_log_dirs=list(offline),
                cordoned_log_dirs=cordoned,
            )
        )
        return response

    def start(self, *broker_ids: int, **fields: Any) -> None:
        """Register brokers and unfence them."""
        for broker_id in broker_ids:
            assert self.register(broker_id, **fields).error_code == ErrorCode.NONE
            assert not self.heartbeat(broker_id).is_fenced

    def pass_time(self, seconds: float, *, alive: tuple[int, ...] = ()) -> None:
        """Let time pass, with heartbeats of the brokers in ``alive`` at its end, and do what is then due."""
        self.now += seconds
        for broker_id in alive:
            self.heartbeat(broker_id)
        self._do_what_is_due_by(self.now)

    def settle(self) -> None:
        """Continue unfinished decisions, as the driver does with one pass of the event loop in between."""
        self._do_what_is_due_by(-math.inf)

    def _do_what_is_due_by(self, deadline: float) -> None:
        for _ in range(_MANY_TURNS):
            if self.core.deadline > deadline:
                return
            self.send(DeadlineReached())
        raise AssertionError("what was due must be done, or its driver spins")

    # Topics.

    def create(
        self,
        name: str = "t",
        partitions: int = 1,
        replication: int = 1,
        *,
        assignment: dict[int, list[int]] | None = None,
        configs: dict[str, str | None] | None = None,
        validate_only: bool = False,
    ) -> CreatableTopicResult:
        topic = CreatableTopic(
            name=name,
            num_partitions=-1 if assignment else partitions,
            replication_factor=-1 if assignment else replication,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
                for index, brokers in (assignment or {}).items()
            ],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        )
        response = self.ask(CreateTopicsRequest(topics=[topic], validate_only=validate_only))
        result: CreatableTopicResult = response.topics[0]
        return result

    def topic(self, name: str = "t") -> Topic:
        topic = self.image.topic(name)
        assert topic is not None
        return topic

    def in_sync(self, *isr: int, name: str = "t", index: int = 0) -> Any:
        """The leader proposes an ISR; the answer for the partition."""
        partition = self.partition(name, index)
        data = PartitionData(
            partition_index=index,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
            new_isr_with_epochs=[BrokerState(broker_id=member) for member in isr],
        )
        request = AlterPartitionRequest(
            broker_id=partition.leader,
            broker_epoch=self.image.brokers[partition.leader].epoch,
            topics=[TopicData(topic_id=self.topic(name).id, partitions=[data])],
        )
        return self.ask(request).topics[0].partitions[0]

    def partition(self, name: str = "t", index: int = 0) -> Partition:
        return self.topic(name).partitions[index]
