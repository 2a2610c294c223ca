"""Share sessions (KIP-932): the partitions that a member of a share group fetches from this broker.

A session has the id of its group and member. Its epoch counts the requests of the member, so a request that is lost or
repeated is noticed, and the acknowledgements in it are not done twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import UUID

import attrs

from kraft.wire.errors import ErrorCode, KafkaError

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_MAX_EPOCH = 2**31 - 1
MAX_PARTITIONS = 1_000_000
"""Not a Kafka setting. The partitions of all sessions."""

SessionKey = tuple[str, str]
"""Group id and member id."""
SharedPartition = tuple[UUID, int]
"""Topic id and partition number."""


@attrs.define
class ShareSession:
    """The partitions in the order in which the member named them. ``epoch`` is that of the next request.

    A partition is True until a response has named it without an error. Then responses omit it while it has nothing.
    """

    partitions: dict[SharedPartition, bool]
    epoch: int = 1


@attrs.define
class ShareSessionCache:
    """All share sessions of a broker: ``slots`` at most (``group.share.max.share.sessions``)."""

    slots: int
    max_partitions: int = MAX_PARTITIONS
    sessions: dict[SessionKey, ShareSession] = attrs.Factory(dict)
    members: dict[str, int] = attrs.Factory(dict)
    """The number of sessions of each group that has any."""
    partitions: int = 0

    def fetch(
        self,
        key: SessionKey,
        epoch: int,
        wanted: Iterable[SharedPartition],
        forgotten: Iterable[SharedPartition],
        *,
        acknowledges: bool,
    ) -> Mapping[SharedPartition, bool]:
        """Open, continue or check the session of a ShareFetch. Return the partitions to fetch.

        The session of the final epoch stays until :meth:`close`, and nothing is fetched for it.

        Raises KafkaError SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED, or
        INVALID_REQUEST for acknowledgements before there is a session.
        """
        if epoch == INITIAL_EPOCH:
            if acknowledges:
                raise KafkaError(ErrorCode.INVALID_REQUEST)
            return self._open(key, wanted)
        session = self._current(key, epoch)
        if epoch == FINAL_EPOCH:
            return {}
        before = len(session.partitions)
        for partition in wanted:
            session.partitions.setdefault(partition, True)
        for partition in forgotten:
            session.partitions.pop(partition, None)
        self.partitions += len(session.partitions) - before
        if self.partitions > self.max_partitions:
            self.close(key)
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        return dict(session.partitions)

    def acknowledge(self, key: SessionKey, epoch: int) -> None:
        """Continue the session of a ShareAcknowledge, which cannot open one.

        Raises KafkaError SHARE_SESSION_NOT_FOUND or INVALID_SHARE_SESSION_EPOCH.
        """
        if epoch == INITIAL_EPOCH:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        self._current(key, epoch)

    def close(self, key: SessionKey) -> ShareSession | None:
        """Forget a session, and return it."""
        session = self.sessions.pop(key, None)
        if session is not None:
            self.partitions -= len(session.partitions)
            self.members[key[0]] -= 1
            if not self.members[key[0]]:
                del self.members[key[0]]
        return session

    def _open(self, key: SessionKey, wanted: Iterable[SharedPartition]) -> Mapping[SharedPartition, bool]:
        self.close(key)
        partitions = dict.fromkeys(wanted, True)
        if len(self.sessions) >= self.slots or self.partitions + len(partitions) > self.max_partitions:
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        self.sessions[key] = ShareSession(partitions)
        self.partitions += len(partitions)
        self.members[key[0]] = self.members.get(key[0], 0) + 1
        return dict(partitions)

    def _current(self, key: SessionKey, epoch: int) -> ShareSession:
        """Return a session at this epoch, and count the request."""
        session = self.sessions.get(key)
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch == FINAL_EPOCH:
            return session
        if session.epoch != epoch:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = 1 if session.epoch == _MAX_EPOCH else session.epoch + 1
        return session
