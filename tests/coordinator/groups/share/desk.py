"""A coordinator of share groups without driver and sockets, and a share coordinator that the test lets answer."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kraft.coordinator.groups.core import GroupCoordinator
from kraft.coordinator.groups.rebalance import ShareProtocolSettings
from kraft.coordinator.groups.share.effects import StateRequest, StatesAnswered
from kraft.coordinator.groups.share.group import ShareGroup
from kraft.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kraft.messages.share_group_heartbeat_response import ShareGroupHeartbeatResponse
from kraft.wire.errors import ErrorCode
from tests.coordinator.groups.consumer.desk import T, U, image_of
from tests.coordinator.groups.desk import GROUP, Desk

SESSION_S = 45.0
RETRY_S = 30.0

Owned = dict[UUID, list[int]]


class ShareDesk(Desk):
    """``image`` are the topics. :meth:`beat` sends one heartbeat, :meth:`answer_states` lets the share coordinator
    answer.
    """

    def __init__(self, max_size: int = 100, interval_s: float = 0.0, **counts: int) -> None:
        self.image = image_of(**counts or {"t": 4})
        share = ShareProtocolSettings(SESSION_S, 5.0, max_size, interval_s, RETRY_S)
        super().__init__(share=share)  # type: ignore[arg-type]

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
    def share_group(self) -> ShareGroup:
        return self.core.shares.groups[GROUP]

    def beat(self, member_id: str, epoch: int, **what: Any) -> ShareGroupHeartbeatResponse:
        """Send one heartbeat and return its response."""
        answer: ShareGroupHeartbeatResponse = self.answers[self.send_beat(member_id, epoch, **what)]
        return answer

    def send_beat(self, member_id: str, epoch: int, **what: Any) -> int:
        topics = what.pop("topics", ["t"] if epoch == 0 else None)
        what = {"group_id": GROUP, **what}
        message = ShareGroupHeartbeatRequest(
            member_id=member_id, member_epoch=epoch, subscribed_topic_names=topics, **what
        )
        return self.send(message, 1)

    def answer_states(self, code: ErrorCode = ErrorCode.NONE) -> list[StateRequest]:
        """Let the share coordinator answer all requests, with the same error for each partition."""
        requests, self.state_requests = self.state_requests, []
        for request in requests:
            named = getattr(request, "start_offsets", None) or getattr(request, "partitions", {})
            failed = [(topic_id, each) for topic_id, some in named.items() for each in some if code]
            self.step(StatesAnswered(request, dict.fromkeys(failed, code)))
        return requests

    def settle_all(self, *members: Sharer) -> None:
        """Let all members heartbeat, and the share coordinator answer, until nothing changes."""
        for _ in range(20):
            before = [(member.epoch, member.shared) for member in members]
            self.answer_states()
            for member in members:
                member.beat()
            if before == [(member.epoch, member.shared) for member in members] and not self.state_requests:
                return
        raise AssertionError("the group does not settle")


def shared(answer: ShareGroupHeartbeatResponse) -> Owned | None:
    """Return the assignment of a response."""
    if answer.assignment is None:
        return None
    return {topic.topic_id: topic.partitions for topic in answer.assignment.topic_partitions}


class Sharer:
    """A client that knows its epoch and its partitions from the last response."""

    def __init__(self, desk: ShareDesk, member_id: str, **what: Any) -> None:
        self.desk, self.member_id = desk, member_id
        self.epoch = 0
        self.shared: Owned = {}
        self._taken(desk.beat(member_id, 0, **what))

    def beat(self, **what: Any) -> ShareGroupHeartbeatResponse:
        answer = self.desk.beat(self.member_id, self.epoch, **what)
        self._taken(answer)
        return answer

    def _taken(self, answer: ShareGroupHeartbeatResponse) -> None:
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        given = shared(answer)
        if given is not None:
            self.shared = given


__all__ = ["GROUP", "RETRY_S", "SESSION_S", "ShareDesk", "Sharer", "T", "U", "shared"]
