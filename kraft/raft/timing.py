"""The timeouts of a member of the quorum, in seconds. The settings are Kafka's."""

from __future__ import annotations

import attrs

_BACKOFF_BASE_S = 0.1
_BACKOFF_MAX_EXPONENT = 10
_BACKOFF_MIN_S = 1e-6  # a pause of 0 would not move a deadline that is due


@attrs.frozen
class Timing:
    """The timeouts of a quorum, in seconds.

    - ``election_timeout_s``: controller.quorum.election.timeout.ms. An election gets one to two times as long.
    - ``fetch_timeout_s``: controller.quorum.fetch.timeout.ms. After it a follower gives up its leader.
    - ``backoff_max_s``: controller.quorum.election.backoff.max.ms. The longest pause after a lost election.
    - ``request_timeout_s``: controller.quorum.request.timeout.ms. After it a request is sent again.
    - ``retry_backoff_s``: controller.quorum.retry.backoff.ms. The pause after a failed request.
    - ``fetch_max_wait_s``: how long a leader may park a Fetch without new records.
    - ``observer_session_s``: the leader removes an observer that did not fetch for so long.
    """

    election_timeout_s: float = 1.0
    fetch_timeout_s: float = 2.0
    backoff_max_s: float = 1.0
    request_timeout_s: float = 2.0
    retry_backoff_s: float = 0.02
    fetch_max_wait_s: float = 0.5
    observer_session_s: float = 300.0

    @property
    def check_quorum_s(self) -> float:
        """A leader resigns if no majority fetches from it for so long."""
        return 1.5 * self.fetch_timeout_s

    @property
    def begin_epoch_interval_s(self) -> float:
        """The interval at which a leader sends BeginQuorumEpoch to voters that do not fetch."""
        return self.fetch_timeout_s / 2

    def election_timeout(self, jitter: float) -> float:
        """Return the duration of one election. ``jitter``, from [0, 1), differs from voter to voter."""
        return self.election_timeout_s * (1 + jitter)

    def election_backoff(self, retries: int, jitter: float) -> float:
        """Return the pause after the ``retries``-th lost election: binary exponential, random, bounded, and never 0,
        although the bound may be.
        """
        longest = min(self.backoff_max_s, float(_BACKOFF_BASE_S * 2.0 ** min(retries, _BACKOFF_MAX_EXPONENT)))
        return max(longest * jitter, _BACKOFF_MIN_S)

    def succession_delay(self, rank: int, successors: int) -> float:
        """Return how long the successor of this rank, counted from 0, waits for those before it.

        The first does not wait. From the second on the pause doubles, up to half of ``backoff_max_s`` for the last.
        """
        if rank == 0:
            return 0.0
        return self.backoff_max_s * 2.0 ** max(rank - successors, -_BACKOFF_MAX_EXPONENT)
