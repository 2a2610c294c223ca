"""What must be true of a quorum, by name. The names are Kafka's where it has one: those of its RaftEventSimulationTest,
and of the TLA+ specifications of KIP-595, KIP-853 and KIP-996; the others say what these leave to the reader.
"""

from __future__ import annotations

from collections.abc import Mapping

#: What holds after every event.
SAFETY: Mapping[str, str] = {
    "NoIllegalState": "No core raises an error, nor finds that its leader contradicts what is committed.",
    "LegalTransitions": "States change only as the transition table allows.",
    "StatesMatchRoles": "Observers are unattached or follow; only voters lead, are followed, or have votes that count; "
    "a candidate votes for itself; nobody follows itself.",
    "ElectionSafety": "No two nodes believe in different leaders of one epoch.",
    "SingleLeader": "No two election states on disk name different leaders of one epoch.",
    "OneVotePerEpoch": "No voter votes for two in one epoch, and each starts with the vote that it stored.",
    "VoteIsDurable": "A vote is on disk before the candidate is told of it.",
    "ElectedByDurableVotes": "A candidate counts only votes that are on disk, for it, in its epoch; its own too.",
    "NobodyWaitsForEver": "A voter that knows no leader, and is not about to stop, has a time to stand at.",
    "MonotonicEpoch": "The stored epoch never goes back, is never behind what the node spoke of, and is the one that "
    "the node is in.",
    "CheckQuorum": "Nobody leads for longer than 1.5 times the fetch timeout while no majority fetches.",
    "LogMatching": "An epoch has one record at an offset, wherever it is written.",
    "CoreKnowsItsLog": "What a core knows of its log is so: start, end, which epoch wrote what, and that what it calls "
    "durable is.",
    "FetchedIsDurable": "A replica fetches from an offset only if everything below is on its disk.",
    "MonotonicHighWatermark": "A high watermark never goes back while its node lives, and no leader tells "
    "a replica less than that knows.",
    "MajorityReachedHighWatermark": "What a leader calls committed is on the disks of a majority of the voters.",
    "LeaderCompleteness": "What was committed in an epoch is in the log of every leader of a later one.",
    "AckedValueNotLost": "What was ever committed stays on the disks of a majority, whatever crashes or is lost.",
    "TruncateBelowHW": "Nothing is cut that is below the high watermark, or was committed up to the epoch of the node.",
    "NoLogDivergence": "All logs are equal up to their high watermarks: all nodes apply the same, in the same order.",
    "ConsistentCommittedData": "Every snapshot holds the state that what is committed up to there leads to.",
    "SnapshotAtLogStart": "A log that does not begin at 0 has a snapshot that ends exactly where it begins.",
    "LeaderNeverLoadSnapshot": "Only a follower replaces its log by a snapshot.",
    "NoMessageStorm": "The events of a seed are bounded.",
}

#: What comes about within a bounded time once the faults are over, though a minority of the voters stays dead.
LIVENESS: Mapping[str, str] = {
    "NotStuckInProspective": "No node goes on asking whether it could win.",
    "EventuallyLeaderElected": "A majority knows one leader.",
    "ValuesEventuallyAcked": "New values are committed, and every living node applies them; none from before is left "
    "undecided.",
    "StableLeadership": "A leader that nothing disturbs stays, and every living node follows it.",
}


class Violation(Exception):
    """An invariant does not hold. ``invariant`` is its name."""

    def __init__(self, invariant: str, text: str) -> None:
        assert invariant in SAFETY or invariant in LIVENESS, invariant
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant
