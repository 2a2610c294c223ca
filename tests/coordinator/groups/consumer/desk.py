"""A coordinator of consumer groups without driver and sockets, and members that do what it orders."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import attrs

from kraft.coordinator.groups.consumer.group import ConsumerGroup, ResolvedRegex
from kraft.coordinator.groups.consumer.regexes import RegexesResolved
from kraft.coordinator.groups.core import GroupCoordinator
from kraft.coordinator.groups.rebalance import ConsumerProtocolSettings
from kraft.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest, OwnedTopicPartitions
from kraft.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse
from kraft.metadata.image import Image, Topic
from kraft.metadata.partitions import Partition, Partitions
from tests.coordinator.groups.desk import GROUP, Desk

SESSION_S = 45.0
REBALANCE_S = 30.0
T, U = UUID(int=1), UUID(int=2)
_PARTITION = Partition((1,), (1,), 1, 0, 0, ())

Owned = dict[UUID, list[int]]


def image_of(**counts: int) -> Image:
    """Topics by name with their numbers of partitions. The topic ``t`` has the id T, and ``u`` has U."""
    image = Image()
    for name, count in counts.items():
        topic_id = UUID(int=ord(name) - ord("s"))
        topic = Topic(topic_id, name, Partitions().changed(dict.fromkeys(range(count), _PARTITION)))
        image = attrs.evolve(
            image, topics=image.topics.set(topic_id, topic), topic_ids=image.topic_ids.set(name, topic_id)
        )
    return image


class ConsumerDesk(Desk):
    """``image`` are the topics. :meth:`beat` sends one heartbeat."""

    def __init__(self, max_size: int = 100, interval_s: float = 0.0, **counts: int) -> None:
        self.image = image_of(**counts or {"t": 4})
        super().__init__(consumer=ConsumerProtocolSettings(SESSION_S, 5.0, max_size, interval_s))

    def _core(self) -> GroupCoordinator:
        return GroupCoordinator(
            self.settings,
            lambda: f"id{next(self._ids)}",
            lambda: self.may_write,
            lambda: self.max_batch_bytes,
            lambda: self.image,
            timestamp_ms=self.timestamp_ms,
        )

    @property
    def consumer_group(self) -> ConsumerGroup:
        return self.core.consumers.groups[GROUP]

    def beat(
        self, member_id: str, epoch: int, owned: Owned | None = None, *, version: int = 1, **what: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """Send one heartbeat and return its response."""
        answer: ConsumerGroupHeartbeatResponse = self.answers[self.send_beat(member_id, epoch, owned, version, **what)]
        return answer

    def send_beat(self, member_id: str, epoch: int, owned: Owned | None = None, version: int = 1, **what: Any) -> int:
        topics = what.pop("topics", None)
        if epoch == 0:
            owned = owned or {}
            if "subscribed_topic_regex" not in what:
                topics = topics or ["t"]
            what.setdefault("rebalance_timeout_ms", round(REBALANCE_S * 1000))
        message = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=topics,
            topic_partitions=None if owned is None else [OwnedTopicPartitions(*each) for each in owned.items()],
            **what,
        )
        return self.send(message, version)

    def resolve(self) -> list[tuple[str, ...]]:
        """Finish the searches that have begun, and return their expressions."""
        searches, self.searches = self.searches, []
        for search in searches:
            resolved = {
                regex: ResolvedRegex(
                    frozenset(name for name in search.image.topic_ids if re.fullmatch(regex, name)),
                    search.image.offset,
                    search.timestamp_ms,
                )
                for regex in search.regexes
            }
            self.step(RegexesResolved(search.group_id, resolved, search.image))
        return [search.regexes for search in searches]

    def settle_all(self, *members: Member) -> None:
        """Let all members heartbeat until nothing changes."""
        for _ in range(20):
            before = [(member.epoch, member.owned) for member in members]
            for member in members:
                member.beat()
            if before == [(member.epoch, member.owned) for member in members]:
                return
        raise AssertionError("the group does not settle")


def assignment(answer: ConsumerGroupHeartbeatResponse) -> Owned | None:
    if answer.assignment is None:
        return None
    return {topic.topic_id: topic.partitions for topic in answer.assignment.topic_partitions}


class Member:
    """A client that owns at once what the coordinator assigns, and reports it with each heartbeat."""

    def __init__(self, desk: ConsumerDesk, member_id: str, **what: Any) -> None:
        self.desk, self.member_id = desk, member_id
        self.epoch = 0
        self.owned: Owned = {}
        self.what = what
        self._taken(desk.beat(member_id, 0, **what))

    def beat(self, **changes: Any) -> ConsumerGroupHeartbeatResponse:
        instance = {key: value for key, value in self.what.items() if key == "instance_id"}
        answer = self.desk.beat(self.member_id, self.epoch, self.owned, **instance, **changes)
        self._taken(answer)
        return answer

    def _taken(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        given = assignment(answer)
        if given is not None:
            self.owned = given


__all__ = ["GROUP", "ConsumerDesk", "Member", "T", "U", "assignment", "image_of"]
