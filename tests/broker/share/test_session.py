"""Share sessions: their epochs, partitions and limits (``SharePartitionManager.newContext``)."""

from __future__ import annotations

from uuid import UUID

import pytest

from kraft.broker.share.session import ShareSessionCache
from kraft.wire.errors import ErrorCode, KafkaError

KEY, OTHER = ("g", "m"), ("g", "n")
A, B, C = ((UUID(int=1), index) for index in range(3))


def refused(cache: ShareSessionCache, key: tuple[str, str], epoch: int) -> ErrorCode:
    with pytest.raises(KafkaError) as failure:
        cache.fetch(key, epoch, [], [], acknowledges=False)
    return failure.value.code


def test_a_session_keeps_its_partitions() -> None:
    cache = ShareSessionCache(2)
    assert list(cache.fetch(KEY, 0, [A, B], [], acknowledges=False)) == [A, B]
    assert list(cache.fetch(KEY, 1, [C, A], [B], acknowledges=True)) == [A, C]
    assert list(cache.fetch(KEY, 2, [], [], acknowledges=False)) == [A, C]
    assert (cache.partitions, cache.members) == (2, {"g": 1})
    assert cache.close(KEY) is not None
    assert (cache.partitions, cache.members) == (0, {})
    assert cache.close(KEY) is None


def test_a_new_session_replaces_that_of_the_same_member() -> None:
    cache = ShareSessionCache(1)
    cache.fetch(KEY, 0, [A, B], [], acknowledges=False)
    cache.fetch(KEY, 0, [C], [], acknowledges=False)
    assert (cache.partitions, cache.members) == (1, {"g": 1})
    assert refused(cache, OTHER, 0) == ErrorCode.SHARE_SESSION_LIMIT_REACHED


def test_the_epoch_is_that_of_the_next_request_and_wraps_to_one() -> None:
    """``ShareRequestMetadata.nextEpoch``: 0 and -1 have a meaning of their own."""
    cache = ShareSessionCache(1)
    cache.fetch(KEY, 0, [A], [], acknowledges=False)
    assert refused(cache, KEY, 2) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    cache.acknowledge(KEY, 1)
    assert refused(cache, KEY, 1) == ErrorCode.INVALID_SHARE_SESSION_EPOCH
    cache.sessions[KEY].epoch = 2**31 - 1
    cache.acknowledge(KEY, 2**31 - 1)
    assert cache.sessions[KEY].epoch == 1


def test_the_final_epoch_needs_a_session_and_fetches_nothing() -> None:
    cache = ShareSessionCache(1)
    assert refused(cache, KEY, -1) == ErrorCode.SHARE_SESSION_NOT_FOUND
    cache.fetch(KEY, 0, [A], [], acknowledges=False)
    assert not cache.fetch(KEY, -1, [B], [], acknowledges=True)
    assert KEY in cache.sessions, "the caller closes it once the acknowledgements are done"


def test_the_partitions_of_all_sessions_are_bounded() -> None:
    """A session that grows too large is closed, and its member begins again."""
    cache = ShareSessionCache(10, max_partitions=2)
    cache.fetch(KEY, 0, [A], [], acknowledges=False)
    with pytest.raises(KafkaError) as failure:
        cache.fetch(KEY, 1, [B, C], [], acknowledges=False)
    assert failure.value.code == ErrorCode.SHARE_SESSION_NOT_FOUND
    assert (cache.partitions, cache.sessions) == (0, {})
    with pytest.raises(KafkaError) as failure:
        cache.fetch(KEY, 0, [A, B, C], [], acknowledges=False)
    assert failure.value.code == ErrorCode.SHARE_SESSION_LIMIT_REACHED
