"""Members of groups that know what must come next: the oracle of tests in which coordinators move.

One thread drives all members, so it knows which commits and acknowledgements were answered when a member goes on.
"""

from __future__ import annotations

import logging
from collections import defaultdict, deque
from datetime import UTC, datetime
from typing import Any

import attrs
import confluent_kafka as ck

from tests.support.librdkafka import Consumer, ShareConsumer
from tests.support.writer import CLIENT

POLL_S = 0.05
MOST_RECORDS = 100
COMMIT_EVERY = 10
SHOWN_LINES = 600
"""Of a member's log, after a record that must not come next."""
RELEASE_EVERY = 7
"""Of the offsets, every seventh one is released at its first delivery."""
REFUSED = (
    ck.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    ck.KafkaError.COORDINATOR_NOT_AVAILABLE,
    ck.KafkaError.NOT_COORDINATOR,
    ck.KafkaError.ILLEGAL_GENERATION,
    ck.KafkaError.UNKNOWN_MEMBER_ID,
    ck.KafkaError.REBALANCE_IN_PROGRESS,
    ck.KafkaError.STALE_MEMBER_EPOCH,
)
"""The coordinator did not commit."""
NO_ANSWER = (
    ck.KafkaError.NETWORK_EXCEPTION,
    ck.KafkaError._ALL_BROKERS_DOWN,
    ck.KafkaError._TIMED_OUT,
    ck.KafkaError._TRANSPORT,
    ck.KafkaError._WAIT_COORD,
    ck.KafkaError.REQUEST_TIMED_OUT,
)
"""The coordinator may have committed, and the client does not know."""
NO_POSITION = "Failed to fetch committed offset"
"""After this error librdkafka 2.16 does not read the partition until it is assigned again. It means, for one, that the
coordinator moved before it answered an OffsetFetch (``rd_kafka_assignment_handle_OffsetFetch``)."""


@attrs.define
class Positions:
    """The positions at which the next owner of a partition may begin: the last one whose commit was answered, or one
    after it whose commit got no answer."""

    read: dict[int, int] = attrs.Factory(dict)
    """The end of what any member has read."""
    rejoined: int = 0
    """Members that joined again after ``NO_POSITION``."""
    _allowed: dict[int, set[int]] = attrs.Factory(dict)

    def allowed(self, partition: int) -> set[int]:
        return self._allowed.get(partition, {0})

    def committed(self, partition: int, position: int) -> None:
        self._allowed[partition] = {position}

    def perhaps_committed(self, partition: int, position: int) -> None:
        self._allowed[partition] = self.allowed(partition) | {position}


class _Lines(logging.Handler):
    def __init__(self, lines: deque[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(f"{datetime.now(tz=UTC).time().isoformat('milliseconds')} {record.getMessage()}")


def _logger(lines: deque[str]) -> logging.Logger:
    """A logger for librdkafka, of ``lines`` alone."""
    logger = logging.Logger("librdkafka")
    logger.addHandler(_Lines(lines))
    return logger


class Reader:
    """A member with the classic or the consumer protocol. It commits now and then, and when it gives partitions up."""

    def __init__(self, servers: str, group: str, protocol: str, topic: str, positions: Positions) -> None:
        classic: dict[str, Any] = {
            "heartbeat.interval.ms": 500,
            "partition.assignment.strategy": "range",
            # The coordinator that loads a group has a member again whose LeaveGroup the former one answered: it is
            # stored with the next generation. The rebalance waits as long for it.
            "session.timeout.ms": 6_000,
        }
        self._log: deque[str] = deque(maxlen=SHOWN_LINES)
        self._settings: dict[str, Any] = {
            **CLIENT,
            "debug": "cgrp,topic",
            "log_level": "7",
            "logger": _logger(self._log),
            "bootstrap.servers": servers,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            # The rebalance timeout, too. A member that loses an answer while its coordinator moves does not learn what
            # to give up; the coordinator then waits as long, and removes it.
            "max.poll.interval.ms": 30_000,
            **(classic if protocol == "classic" else {}),
        }
        self._topic = topic
        self._shared = positions
        self._next: dict[int, int] = {}
        self._uncommitted = 0
        self.lost = 0
        self._join()

    def _join(self) -> None:
        self._consumer = Consumer(self._settings)
        self._consumer.subscribe([self._topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)

    @property
    def partitions(self) -> set[int]:
        return {each.partition for each in self._consumer.assignment()}

    def poll(self) -> None:
        """Read what there is.

        Raises:
            AssertionError: a record is not the next one of its partition.
        """
        for wait_s in (POLL_S, *[0.0] * MOST_RECORDS):
            record = self._consumer.poll(wait_s)
            if record is None:
                return
            if record.error() is None:
                self._read(record.partition(), record.offset())
            elif NO_POSITION in record.error().str():
                self._shared.rejoined += 1
                self.close()
                self._join()

    def _read(self, partition: int, offset: int) -> None:
        expected = {self._next[partition]} if partition in self._next else self._shared.allowed(partition)
        if offset not in expected:
            log = "\n".join(self._log)
            raise AssertionError(f"read offset {offset} of partition {partition}, not one of {expected}\n{log}")
        self._next[partition] = offset + 1
        self._shared.read[partition] = max(self._shared.read.get(partition, 0), offset + 1)
        self._uncommitted += 1
        if self._uncommitted >= COMMIT_EVERY:
            self.commit()

    def commit(self) -> bool:
        """Commit all positions; whether the coordinator did."""
        return self._commit(self._next)

    def _commit(self, positions: dict[int, int]) -> bool:
        if not positions:
            return True
        wanted = [ck.TopicPartition(self._topic, *each) for each in positions.items()]
        try:
            errors = [each.error for each in self._consumer.commit(offsets=wanted, asynchronous=False)]
        except ck.KafkaException as failed:
            errors = [failed.args[0]] * len(wanted)
        for (partition, position), error in zip(positions.items(), errors, strict=True):
            if error is None:
                self._shared.committed(partition, position)
            elif error.code() in NO_ANSWER:
                self._shared.perhaps_committed(partition, position)
            else:
                assert error.code() in REFUSED, error
        self._uncommitted = 0
        return not any(errors)

    def _assigned(self, _: object, partitions: list[ck.TopicPartition]) -> None:
        for each in partitions:
            self._next.pop(each.partition, None)

    def _revoked(self, _: object, partitions: list[ck.TopicPartition]) -> None:
        given_up = {each.partition for each in partitions}
        self._commit({partition: at for partition, at in self._next.items() if partition in given_up})
        for partition in given_up:
            self._next.pop(partition, None)

    def _lost(self, _: object, partitions: list[ck.TopicPartition]) -> None:
        self.lost += 1
        for each in partitions:
            self._next.pop(each.partition, None)

    def close(self) -> None:
        self._consumer.close()


@attrs.define
class Deliveries:
    """The records of a share group: released, accepted, and those whose acceptance failed, or got no answer.

    A former leader may have sent a record that another member accepts from the next leader (KIP-932: no leader stores
    its locks). The client keeps the record until the next poll, so a member may get it later. Then its acknowledgement
    must fail.
    """

    released: set[tuple[int, int]] = attrs.Factory(set)
    accepted: set[tuple[int, int]] = attrs.Factory(set)
    unsure: set[tuple[int, int]] = attrs.Factory(set)
    late: int = 0
    failures: list[str] = attrs.Factory(list)
    _histories: dict[tuple[int, int], list[str]] = attrs.Factory(lambda: defaultdict(list))

    def acknowledged(self, member: int, counts: dict[tuple[int, int], int], errors: dict[int, Any]) -> None:
        """Note a poll: the delivery count of each record, and the errors of the partitions whose outcomes failed.

        Raises:
            AssertionError: a record has an outcome after it was accepted.
        """
        now = datetime.now(tz=UTC).time().isoformat("milliseconds")
        for name, count in counts.items():
            self._histories[name].append(f"{now}: member {member}, delivery {count}: {errors.get(name[0])}")
        self.failures += [f"{now}: member {member}, {partition}: {error}" for partition, error in errors.items()]
        late = counts.keys() & self.accepted
        again = [self._histories[name] for name in late if name[0] not in errors]
        assert not again, f"records have outcomes after they were accepted: {again}"
        self.late += len(late)


class Sharer:
    """A member of a share group. It releases some records at their first delivery, and accepts all others."""

    def __init__(self, servers: str, group: str, topic: str, deliveries: Deliveries) -> None:
        settings: dict[str, Any] = {"bootstrap.servers": servers, "group.id": group}
        self._consumer = ShareConsumer({**CLIENT, **settings, "share.acknowledgement.mode": "explicit"})
        self._consumer.subscribe([topic])
        self._shared = deliveries

    def poll(self) -> None:
        """Read some records and acknowledge them.

        Raises:
            AssertionError: as :meth:`Deliveries.acknowledged`.
        """
        counts: dict[tuple[int, int], int] = {}
        released = set()
        for record in self._consumer.poll(POLL_S):
            if record.error() is not None:
                continue
            name = record.partition(), record.offset()
            counts[name] = record.delivery_count()
            is_released = record.offset() % RELEASE_EVERY == 0 and name not in self._shared.released
            if is_released:
                released.add(name)
            self._consumer.acknowledge(record, ck.AcknowledgeType.RELEASE if is_released else ck.AcknowledgeType.ACCEPT)
        if not counts:
            return
        try:
            results = {each.partition: error for each, error in self._consumer.commit_sync(60.0).items()}
        except ck.KafkaException as failed:
            results = dict.fromkeys((partition for partition, _ in counts), failed)
        errors = {partition: error for partition, error in results.items() if error is not None}
        self._shared.acknowledged(id(self), counts, errors)
        accepted = counts.keys() - released
        answered = {name for name in accepted if name[0] not in errors}
        self._shared.released |= released
        self._shared.accepted |= answered
        self._shared.unsure |= accepted - answered

    def close(self) -> None:
        self._consumer.close()
