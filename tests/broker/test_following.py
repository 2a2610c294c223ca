"""Truncation offsets of a follower. A log here is the list of the epochs of its records."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kraft.broker.following import truncation_offset


def end_of_epoch(log: list[int], epoch: int) -> tuple[int, int]:
    """Return what OffsetForLeaderEpoch returns: the largest epoch up to this one, and its end offset."""
    if not log or epoch > log[-1]:
        return -1, -1
    known = max((each for each in log if each <= epoch), default=epoch)
    return known, sum(each <= epoch for each in log)


def test_the_epoch_that_both_have_ends_earlier_on_one_side() -> None:
    log = [1, 1, 1, 1]
    assert truncation_offset(1, 2, lambda epoch: end_of_epoch(log, epoch), 4, 0) == 2
    assert truncation_offset(1, 9, lambda epoch: end_of_epoch([1, 1, 3], epoch), 3, 0) == 2


def test_an_epoch_that_this_log_never_saw() -> None:
    """KIP-279: truncate to the end of the previous epoch first. The next fetch names that epoch."""
    log = [1, 1, 4, 4]
    assert truncation_offset(3, 3, lambda epoch: end_of_epoch(log, epoch), 4, 0) == 2


def test_an_epoch_unknown_to_the_leader_truncates_to_the_high_watermark() -> None:
    assert truncation_offset(-1, -1, lambda epoch: (-1, -1), 4, 3) == 3
    assert truncation_offset(-1, 2, lambda epoch: (-1, -1), 4, 3) == 2


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """A leader's and a follower's log: a common prefix, then epochs that only one of the two wrote, in rising order."""
    common = sorted(draw(st.lists(st.integers(0, 5), max_size=8)))
    last = common[-1] if common else 0
    continued = draw(st.sampled_from(("leader", "follower", "nobody")))
    tails = []
    for side, odd in (("leader", 1), ("follower", 0)):
        tail = sorted(2 * each + odd + last + 1 for each in draw(st.lists(st.integers(0, 4), max_size=6)))
        # Only one of the two logs can have more records of the last epoch of the prefix.
        more = draw(st.integers(0, 3)) if continued == side and common else 0
        tails.append([last] * more + tail)
    return common + tails[0], common + tails[1]


@given(logs())
def test_truncations_and_fetches_end_with_the_leaders_log(pair: tuple[list[int], list[int]]) -> None:
    leader, follower = pair
    common = 0
    while common < min(len(leader), len(follower)) and leader[common] == follower[common]:
        common += 1
    own = leader[-1] + 1 if leader else 1  # the leader's current epoch is newer than any in its log
    own = max(own, follower[-1] + 1 if follower else 0)
    for _ in range(len(leader) + len(follower) + 1):
        if not follower:
            break
        epoch, end = end_of_epoch([*leader, own], follower[-1])
        if epoch == follower[-1] and end >= len(follower):
            break
        cut = truncation_offset(epoch, end, lambda epoch: end_of_epoch(follower, epoch), len(follower), 0)
        assert cut < len(follower), "each answer brings the two nearer"
        assert cut >= common, "nothing that the leader has is cut"
        del follower[cut:]
    assert follower == leader[: len(follower)]
