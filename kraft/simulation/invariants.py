"""The invariants of a quorum, by name. Where Kafka has a name for one, it is Kafka's.

Sources of the names: ``RaftEventSimulationTest`` and the TLA+ specifications of KIP-595, KIP-853 and KIP-996.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Must hold after every event.
SAFETY: Mapping[str, str] = {
    "NoIllegalState": "No core raises an error, and no leader contradicts a follower's committed records.",
    "LegalTransitions": "A core changes its state only as the transition table allows.",
    "StatesMatchRoles": "Observers are Unattached or Follower. Only voters lead, are followed, or have votes that "
    "count. A candidate votes for itself. No node follows itself.",
    "ElectionSafety": "No two nodes believe in different leaders of one epoch.",
    "SingleLeader": "No two election states on disk name different leaders of one epoch, and no voter's forgets one.",
    "OneVotePerEpoch": "No voter votes for two candidates in one epoch, and each restarts with its stored vote.",
    "VoteIsDurable": "A voter stores its vote before it sends the response to the candidate.",
    "ElectedByDurableVotes": "A candidate counts only votes, its own included, that are stored for it in its epoch.",
    "NobodyWaitsForEver": "A voter without a leader has an election deadline, unless it is shutting down.",
    "MonotonicEpoch": "The stored epoch of a node never goes back, is never lower than one that it sent, and equals "
    "the current one.",
    "CheckQuorum": "A leader resigns if no majority fetches for 1.5 times the fetch timeout.",
    "LogMatching": "No two logs have different records of one epoch at one offset.",
    "CoreKnowsItsLog": "A core's view equals its log: start, end, epochs of the records. Records that it holds to be "
    "durable are durable.",
    "FetchedIsDurable": "A replica fetches from an offset only if every record below is on its disk.",
    "MonotonicHighWatermark": "A node's high watermark never goes back until it restarts, and no leader sends "
    "a replica a lower one than it has.",
    "MajorityReachedHighWatermark": "A leader commits only records that a majority of the voters has on disk.",
    "LeaderCompleteness": "Every record committed in an epoch is in the log of every leader of a later epoch.",
    "AckedValueNotLost": "Every committed record stays on the disks of a majority, despite crashes and lost disks.",
    "TruncateBelowHW": "A node truncates no record below its high watermark, nor one committed up to its epoch.",
    "NoLogDivergence": "All logs are equal below their high watermarks: all nodes apply the same records in order.",
    "ConsistentCommittedData": "Every snapshot holds the state after the committed records below its offset.",
    "SnapshotAtLogStart": "A log that does not start at 0 has a snapshot that ends at its start offset.",
    "LeaderNeverLoadSnapshot": "Only a follower replaces its log by a snapshot.",
    "NoMessageStorm": "A seed has a bounded number of events.",
}

#: Must hold within a bounded time after the faults are over, even if a minority of the voters stays down.
LIVENESS: Mapping[str, str] = {
    "NotStuckInProspective": "No node stays Prospective, sending pre-votes without end.",
    "EventuallyLeaderElected": "A majority of the voters knows one leader.",
    "ValuesEventuallyAcked": "The leader commits new values, every living node applies them, and no older value stays "
    "undecided.",
    "StableLeadership": "Without faults the leader stays, and every living node follows it.",
}


class Violation(Exception):
    """An invariant does not hold. ``invariant`` is its name."""

    def __init__(self, invariant: str, text: str) -> None:
        assert invariant in SAFETY or invariant in LIVENESS, invariant
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant
