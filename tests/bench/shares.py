"""Share groups: the records per second that their consumers acquire and acknowledge."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid4

import attrs

from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.messages.share_acknowledge_request import AcknowledgementBatch as Acknowledged
from kraft.messages.share_acknowledge_request import AcknowledgePartition, AcknowledgeTopic, ShareAcknowledgeRequest
from kraft.messages.share_acknowledge_response import ShareAcknowledgeResponse
from kraft.messages.share_fetch_request import AcknowledgementBatch, FetchPartition, FetchTopic, ShareFetchRequest
from kraft.messages.share_fetch_response import AcquiredRecords, ShareFetchResponse
from kraft.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from kraft.wire.uuids import ZERO_UUID
from tests.bench.clients import create_topic, delete_topic, produce
from tests.bench.figures import Section, Table
from tests.bench.peers import APACHE, NEWEST_RELEASE, Peer, Running, running
from tests.bench.raw_clients import NOT_LOADED, TIMEOUT_S, Client, call, check, find_coordinator, run_clients

RECORDS = 200_000
BATCH_RECORDS = 500
"""In a batch of the log, and the most of a ShareFetch (``max.poll.records``)."""
MESSAGE_BYTES = 100
PARTITIONS = 4
CONSUMERS = 8
WARM_UP_ROUNDS = 2
ALTER_CONFIGS, HEARTBEAT, FETCH, ACKNOWLEDGE = 1, 1, 1, 1
"""The versions of the requests."""
SETTINGS = {"group.share.assignment.interval.ms": "0"}
MAX_WAIT_MS = 10
MAX_BYTES = 1 << 20
JOIN, LEAVE, OPEN, CLOSE = 0, -1, 0, -1
"""The epochs of a member that joins or leaves, and of a share session that begins or ends."""
ACCEPT = 1
GROUP_RESOURCE = 32


def measure(peers: Sequence[Peer], rounds: int) -> Section:
    """Rounds as for throughput. Only the peers that keep data on disk have share groups."""
    whole = [peer.at_release(NEWEST_RELEASE) for peer in peers if peer.keeps_on_disk]
    with (
        TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True) as scratch,
        running(whole, Path(scratch), SETTINGS) as brokers,
    ):
        return _measure(brokers, rounds)


def _measure(brokers: Sequence[Running], rounds: int) -> Section:
    table = Table(f"{CONSUMERS} consumers of a share group", [broker.name for broker in brokers], base=APACHE)
    topics = {}
    for broker in brokers:
        topics[broker.name] = create_topic(broker.bootstrap_servers, PARTITIONS)
        in_batches = {"batch.num.messages": BATCH_RECORDS, "linger.ms": 200}
        produce(broker.bootstrap_servers, topics[broker.name], RECORDS, MESSAGE_BYTES, **in_batches)
        find_coordinator(broker.port)
    for number in range(rounds + WARM_UP_ROUNDS):
        for broker in brokers:
            for words, is_apart in (("with the next ShareFetch", False), ("by ShareAcknowledge", True)):
                group = _Group.start(broker.port, topics[broker.name], is_apart)
                before = broker.cpu_s()
                load = run_clients(broker.port, group.consumers())
                spent = broker.cpu_s() - before
                figures = (
                    ("records per second", "", RECORDS / group.elapsed_s),
                    ("server CPU per request", "µs", spent / load.requests * 1e6),
                    ("client CPU per request", "µs", load.generator_cpu_s / load.requests * 1e6),
                )
                for label, unit, value in figures:
                    row = table.row(f"acknowledged {words}: {label}", unit)
                    if number >= WARM_UP_ROUNDS:
                        row.add(broker.name, value)
                group.leave()
    for broker in brokers:
        delete_topic(broker.bootstrap_servers, topics[broker.name])
    return Section("shares", [table])


@attrs.define(eq=False)
class _Member:
    id: str = attrs.Factory(lambda: str(uuid4()))
    epoch: int = JOIN
    partitions: list[int] = attrs.Factory(list)


Acquired = dict[int, list[AcquiredRecords]]
"""By partition."""


@attrs.define(eq=False)
class _Group:
    """A new share group, which reads the topic from its start."""

    port: int
    is_apart: bool
    """Whether the consumers acknowledge by ShareAcknowledge, and not with the next ShareFetch."""
    name: str = attrs.Factory(lambda: str(uuid4()))
    members: list[_Member] = attrs.Factory(lambda: [_Member() for _ in range(CONSUMERS)])
    topic_id: UUID = ZERO_UUID
    acknowledged: int = 0
    begun: float = 0.0
    elapsed_s: float = 0.0
    """Until all records are acknowledged."""

    @classmethod
    def start(cls, port: int, topic: str, is_apart: bool) -> _Group:
        """Create the group, and return once all members have their partitions."""
        group = cls(port, is_apart)
        earliest = AlterableConfig("share.auto.offset.reset", 0, "earliest")
        resource = AlterConfigsResource(GROUP_RESOURCE, group.name, [earliest])
        altered = call(port, IncrementalAlterConfigsRequest([resource]), ALTER_CONFIGS)
        check(altered.responses[0].error_code)
        deadline = time.monotonic() + TIMEOUT_S
        run_clients(port, [group._join(member, topic, deadline) for member in group.members])
        return group

    @property
    def _is_assigned(self) -> bool:
        """Whether all members have the same epoch and partitions, and no partition is left out."""
        first = self.members[0].epoch
        assigned = {index for member in self.members for index in member.partitions if member.epoch == first}
        return len(assigned) == PARTITIONS and all(each.epoch == first and each.partitions for each in self.members)

    def _join(self, member: _Member, topic: str, deadline: float) -> Client:
        while not self._is_assigned:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the share group has no assignment after {TIMEOUT_S} s")
            topics = [topic] if member.epoch == JOIN else None
            joined = yield ShareGroupHeartbeatRequest(self.name, member.id, member.epoch, None, topics), HEARTBEAT
            if joined.error_code in NOT_LOADED:
                continue
            check(joined.error_code)
            member.epoch = joined.member_epoch
            if joined.assignment is not None and joined.assignment.topic_partitions:
                (assigned,) = joined.assignment.topic_partitions
                self.topic_id, member.partitions = assigned.topic_id, assigned.partitions

    def leave(self) -> None:
        for member in self.members:
            check(call(self.port, ShareGroupHeartbeatRequest(self.name, member.id, LEAVE), HEARTBEAT).error_code)

    def consumers(self) -> list[Client]:
        """The consumers, which end once all records are acknowledged."""
        self.begun = time.perf_counter()
        return [self._consume(member) for member in self.members]

    def _consume(self, member: _Member) -> Client:
        epoch = OPEN
        acquired: Acquired = {}
        while self.acknowledged < RECORDS:
            fetched = yield self._fetch(member, epoch, acquired), FETCH
            partitions = _partitions(fetched)
            check(max((each.acknowledge_error_code for each in partitions), default=0))
            self._count(acquired)
            epoch += 1
            acquired = {each.partition_index: each.acquired_records for each in partitions if each.acquired_records}
            if acquired and self.is_apart:
                _partitions((yield self._acknowledge(member, epoch, acquired), ACKNOWLEDGE))
                self._count(acquired)
                acquired = {}
                epoch += 1
        _partitions((yield self._acknowledge(member, CLOSE, {}), ACKNOWLEDGE))

    def _fetch(self, member: _Member, epoch: int, acquired: Acquired) -> ShareFetchRequest:
        named = member.partitions if epoch == OPEN else acquired
        batches = {
            index: [AcknowledgementBatch(each.first_offset, each.last_offset, [ACCEPT]) for each in ranges]
            for index, ranges in acquired.items()
        }
        partitions = [FetchPartition(index, batches.get(index, [])) for index in named]
        topics = [FetchTopic(self.topic_id, partitions)] if partitions else []
        return ShareFetchRequest(
            self.name, member.id, epoch, MAX_WAIT_MS, 1, MAX_BYTES, BATCH_RECORDS, BATCH_RECORDS, topics=topics
        )

    def _acknowledge(self, member: _Member, epoch: int, acquired: Acquired) -> ShareAcknowledgeRequest:
        partitions = [
            AcknowledgePartition(
                index, [Acknowledged(each.first_offset, each.last_offset, [ACCEPT]) for each in ranges]
            )
            for index, ranges in acquired.items()
        ]
        topics = [AcknowledgeTopic(self.topic_id, partitions)] if partitions else []
        return ShareAcknowledgeRequest(self.name, member.id, epoch, topics=topics)

    def _count(self, acquired: Acquired) -> None:
        self.acknowledged += sum(
            each.last_offset - each.first_offset + 1 for ranges in acquired.values() for each in ranges
        )
        if acquired and self.acknowledged >= RECORDS:
            # The other consumers wait for records that do not come.
            self.elapsed_s = time.perf_counter() - self.begun


def _partitions(response: ShareFetchResponse | ShareAcknowledgeResponse) -> list[Any]:
    """Return the outcomes of a request. Raises RuntimeError for an error."""
    check(response.error_code)
    partitions: list[Any] = [each for topic in response.responses for each in topic.partitions]
    check(max((each.error_code for each in partitions), default=0))
    return partitions
