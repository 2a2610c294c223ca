"""Legacy controllers whose operations interleave one by one, and the invariants that hold at each of them."""

from __future__ import annotations

from collections import deque
from typing import Any
from uuid import UUID

import attrs

from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.update_metadata_request import UpdateMetadataRequest
from kraft.zookeeper.controller.effects import (
    BrokerRequest,
    LegacyEffects,
    LegacyEvent,
    OperationsPerformed,
    SessionExpired,
)
from kraft.zookeeper.operations import ANY_VERSION, Check, Create, Multi, Operation, Result, Set
from kraft.zookeeper.znodes.topics import NO_LEADER, PartitionState, decode_topic, topic_path
from tests.support.legacy_cluster import LegacyBroker, LegacyClusterModel

ELECTION = ("/controller", "/controller_epoch")


@attrs.define
class _Progress:
    """A decision between two rounds, or at a pause: the operations left, and the results so far."""

    left: deque[Operation]
    results: list[Result] = attrs.Factory(list)


class LegacyInterleavings(LegacyClusterModel):
    """Events wait in an inbox for each broker. ``advance`` performs one operation, or takes one event."""

    def __init__(self, size: int, **settings: Any) -> None:
        self.inboxes: dict[int, deque[LegacyEvent]] = {each: deque() for each in range(1, size + 1)}
        self.progress: dict[int, _Progress] = {}
        self.led: dict[tuple[UUID, int, int], int] = {}
        """The leader in each leader epoch of a partition."""
        self.controllers: dict[int, int] = {}
        """The broker that was the controller in each epoch."""
        self.known: dict[tuple[int, int, int, str, int], int] = {}
        """For each incarnation of a broker, controller epoch and partition: the last leader epoch it was sent."""
        super().__init__(size, **settings)

    def step(self, broker: LegacyBroker, event: LegacyEvent) -> None:
        if isinstance(event, SessionExpired):
            self.inboxes[broker.broker_id].clear()
            self.progress.pop(broker.broker_id, None)
            self._took(broker, broker.core.step(self.now, event))
        else:
            self.inboxes[broker.broker_id].append(event)

    def advance(self, broker_id: int) -> bool:
        """Return False if the broker has nothing to do."""
        broker, progress = self.brokers[broker_id], self.progress.get(broker_id)
        if progress is not None:
            if progress.left:
                operation = progress.left.popleft()
                self._check_guard(broker, operation)
                progress.results.append(self.tree.perform(broker.session, operation))
                self._check_states(operation)
            if not progress.left:
                del self.progress[broker_id]
                self._took(broker, broker.core.step(self.now, OperationsPerformed(tuple(progress.results))))
        elif self.inboxes[broker_id]:
            self._took(broker, broker.core.step(self.now, self.inboxes[broker_id].popleft()))
        else:
            return False
        return True

    def deliver(self) -> bool:
        """Put a fired watch or a response into an inbox. Return False if there is none."""
        return self._deliver()

    def settle(self) -> None:
        while any([self._deliver(), *(self.advance(each) for each in self.brokers)]):
            pass

    def start(self, *broker_ids: int) -> None:
        """Unlike the model below, without settling."""
        settle, self.settle = self.settle, lambda: None  # type: ignore[method-assign]
        super().start(*broker_ids)
        self.settle = settle  # type: ignore[method-assign]

    def _took(self, broker: LegacyBroker, effects: LegacyEffects) -> None:
        for request in effects.requests:
            self._check_request(broker, request)
        operations = self._perform(broker, effects)
        if operations is not None:
            self.progress[broker.broker_id] = _Progress(deque(operations))

    def _check_guard(self, broker: LegacyBroker, operation: Operation) -> None:
        """Every write but that of the election is conditional on the controller epoch, and no condition is empty."""
        if isinstance(operation, Create):
            assert operation.path in ELECTION, operation
        assert not isinstance(operation, Set), operation
        if not isinstance(operation, Multi) or operation.writes[0].path in ELECTION[:1]:
            return
        assert broker.core.active is not None
        assert operation.writes[0] == Check("/controller_epoch", broker.core.active.epoch_version)
        for write in operation.writes[1:]:
            assert not isinstance(write, Set) or write.version != ANY_VERSION, write

    def _check_states(self, operation: Operation) -> None:
        """A leader is in the ISR and assigned; a leader epoch has one leader."""
        for write in operation.writes if isinstance(operation, Multi) else ():
            if not write.path.endswith("/state") or write.path not in self.tree.znodes:
                continue
            *_, topic, _, index, _ = write.path.split("/")
            state = self.state(topic, int(index))
            assert state.isr
            assert state.leader in (NO_LEADER, *state.isr), state
            topic_id = self.topic_id(topic)
            if state.leader != NO_LEADER:
                first = self.led.setdefault((topic_id, int(index), state.leader_epoch), state.leader)
                assert first == state.leader, f"brokers {first} and {state.leader} lead {topic}-{index} in one epoch"
            written = write.data if isinstance(write, Create | Set) else None
            if written == self.tree.data(write.path):
                self._check_ascends(topic_id, topic, int(index), state)

    def _check_ascends(self, topic_id: UUID, topic: str, index: int, state: PartitionState) -> None:
        epochs = [epoch for led_id, led_index, epoch in self.led if (led_id, led_index) == (topic_id, index)]
        assert not epochs or state.leader_epoch >= max(epochs), f"{topic}-{index} goes back to {state}"

    def topic_id(self, topic: str) -> UUID:
        found = decode_topic(topic, self.tree.data(topic_path(topic))).topic_id
        assert found is not None
        return found

    def _check_request(self, sender: LegacyBroker, request: BrokerRequest) -> None:
        """One request in flight, epochs on each, and a replica's LeaderAndIsr before its UpdateMetadata."""
        message, receiver = request.message, self.brokers[request.broker_id]
        assert self.controllers.setdefault(message.controller_epoch, sender.broker_id) == sender.broker_id
        assert message.broker_epoch == request.broker_epoch > 0
        unanswered = [
            each
            for by, each in receiver.unanswered
            if by is sender and each.broker_epoch == request.broker_epoch
            if each.message.controller_epoch == message.controller_epoch
        ]
        assert not unanswered, "two requests in flight"
        to = request.broker_id, request.broker_epoch, message.controller_epoch
        if isinstance(message, LeaderAndIsrRequest):
            for topic in message.topic_states:
                for led in topic.partition_states:
                    self.known[(*to, topic.topic_name, led.partition_index)] = led.leader_epoch
        assert sender.core.active is not None
        is_stopped = request.broker_id in sender.core.active.cluster.shutting_down
        if isinstance(message, UpdateMetadataRequest) and not is_stopped:
            for described in message.topic_states:
                for state in described.partition_states:
                    self._check_order(to, described.topic_name, state)

    def _check_order(self, to: tuple[int, int, int], topic: str, state: Any) -> None:
        if to[0] in state.replicas and state.leader >= 0:
            known = self.known.get((*to, topic, state.partition_index))
            assert known is not None, f"broker {to[0]} learns the leader of {topic} before its own part"
            assert state.leader_epoch <= known, "UpdateMetadata before LeaderAndIsr"
