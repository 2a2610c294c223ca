"""One interface for all client libraries, so that the same lines test a feature with each of them.

An adapter only translates: it sends the test's requests through the library's own public API, and returns the results.
It raises ``Refused`` for a refusal of the broker. ``not_offered`` has the features that the library lacks.
"""

from __future__ import annotations

import abc
import contextlib
import importlib.metadata
import time
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import ClassVar, Literal

import attrs

from tests.clients.features import not_offered

TIMEOUT_S = 30.0
POLL_S = 0.1
FIRST_TIMESTAMP_MS = int(time.time() - 3600) * 1000  # an hour old: far from the broker's clock, well within retention


class Code(IntEnum):
    """The error codes that tests expect, numbered here again so that the node's own table is tested too."""

    OFFSET_OUT_OF_RANGE = 1
    UNKNOWN_TOPIC_OR_PARTITION = 3
    MESSAGE_TOO_LARGE = 10
    INVALID_TOPIC_EXCEPTION = 17
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_CONFIG = 40
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79


class Refused(Exception):
    """The broker answered with this error code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


@attrs.frozen
class Message:
    """One message as sent and as read; ``offset`` is the broker's and no part of the comparison."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int = FIRST_TIMESTAMP_MS
    partition: int = 0
    offset: int = attrs.field(default=-1, eq=False)


@attrs.frozen
class Cluster:
    controller: int
    brokers: Mapping[int, str]


@attrs.frozen
class Group:
    state: str
    members: int


class Member(abc.ABC):
    """A consumer in a group, subscribed to one topic, that commits on request."""

    @abc.abstractmethod
    def poll(self) -> list[Message]:
        """Return the received records after at most a second. Some libraries also process group events here."""

    @abc.abstractmethod
    def assignment(self) -> set[int]:
        """The partitions it holds now."""

    @abc.abstractmethod
    def commit(self) -> None:
        """Commit the position after the last polled message, and wait for the answer."""

    @abc.abstractmethod
    def close(self) -> None:
        """Leave the group (a static member does not) and close."""


OffsetSpec = Literal["earliest", "latest", "max-timestamp"] | int


class Client(abc.ABC):
    """A client library, with one method for each need of the features."""

    package: ClassVar[str]

    def __init__(self, bootstrap_servers: str) -> None:
        self.bootstrap_servers = bootstrap_servers

    @classmethod
    def version(cls) -> str:
        return importlib.metadata.version(cls.package)

    @abc.abstractmethod
    def close(self) -> None: ...

    # Topics

    @abc.abstractmethod
    def create_topic(
        self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None, replicas: int = 1
    ) -> None: ...

    @abc.abstractmethod
    def topics(self) -> set[str]: ...

    @abc.abstractmethod
    def leaders(self, topic: str) -> dict[int, int]:
        """Partition to the node that leads it."""

    @abc.abstractmethod
    def delete_topic(self, topic: str) -> None: ...

    @abc.abstractmethod
    def create_partitions(self, topic: str, total: int) -> None: ...

    # Messages

    @abc.abstractmethod
    def produce(
        self,
        topic: str,
        messages: Sequence[Message],
        *,
        codec: str = "none",
        idempotent: bool = False,
        acks: int | str = "all",
    ) -> list[int]:
        """Send all and wait; the offsets that the broker gave (-1 with acks=0)."""

    @abc.abstractmethod
    def consume(self, topic: str, count: int) -> list[Message]:
        """The first ``count`` messages of partition 0, without a group."""

    @contextlib.contextmanager
    def member(self, group: str, topic: str, static_id: str | None = None) -> Iterator[Member]:
        member = self.join(group, topic, static_id)
        try:
            yield member
        finally:
            member.close()

    @abc.abstractmethod
    def join(self, group: str, topic: str, static_id: str | None) -> Member: ...

    # Administration

    @abc.abstractmethod
    def cluster(self) -> Cluster: ...

    @abc.abstractmethod
    def configs(self, topic: str) -> dict[str, str | None]: ...

    @abc.abstractmethod
    def alter_config(self, topic: str, key: str, value: str) -> None: ...

    @abc.abstractmethod
    def delete_records(self, topic: str, before_offset: int) -> None: ...

    @abc.abstractmethod
    def offset(self, topic: str, spec: OffsetSpec) -> int:
        """ListOffsets of partition 0."""

    @abc.abstractmethod
    def groups(self) -> set[str]: ...

    @abc.abstractmethod
    def describe_group(self, group: str) -> Group: ...

    def delete_group(self, group: str) -> None:
        not_offered("no call that deletes a group")
