"""How long a member of the quorum waits, and for what. All in seconds; the settings are Kafka's."""

from __future__ import annotations

import attrs

_BACKOFF_BASE_S = 0.1
_BACKOFF_MAX_EXPONENT = 10
_BACKOFF_MIN_S = 1e-6  # a deadline that is due already would not move


@attrs.frozen
class Timing:
    """The timeouts of a quorum.

    ``election_timeout_s``: controller.quorum.election.timeout.ms. An election may take that and up to as much again.
    ``fetch_timeout_s``: controller.quorum.fetch.timeout.ms. A follower gives its leader up after it.
    ``backoff_max_s``: controller.quorum.election.backoff.max.ms. The longest pause after a lost election.
    ``request_timeout_s``: controller.quorum.request.timeout.ms. What was not answered by then is asked again.
    ``retry_backoff_s``: controller.quorum.retry.backoff.ms. The pause after a refused request.
    ``fetch_max_wait_s``: how long a leader may hold a Fetch that has nothing to bring.
    ``observer_session_s``: an observer that did not fetch for so long is forgotten.
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
        """A leader that no majority fetches from for so long resigns."""
        return 1.5 * self.fetch_timeout_s

    @property
    def begin_epoch_interval_s(self) -> float:
        """How often a leader makes itself known to voters that do not fetch."""
        return self.fetch_timeout_s / 2

    def election_timeout(self, chance: float) -> float:
        """The time that one election gets. ``chance`` is from [0, 1), and differs from voter to voter."""
        return self.election_timeout_s * (1 + chance)

    def election_backoff(self, retries: int, chance: float) -> float:
        """The pause after the ``retries``-th lost election: binary exponential, random, bounded, and never 0."""
        longest = min(self.backoff_max_s, float(_BACKOFF_BASE_S * 2.0 ** min(retries, _BACKOFF_MAX_EXPONENT)))
        return min(longest, max(longest * chance, _BACKOFF_MIN_S))

    def succession_delay(self, rank: int, successors: int) -> float:
        """How long the successor of this rank, from 0, lets those before it try.

        The first stands at once; from the second on the pause doubles, and the last waits half of ``backoff_max_s``.
        """
        if rank == 0:
            return 0.0
        return self.backoff_max_s * 2.0 ** max(rank - successors, -_BACKOFF_MAX_EXPONENT)
