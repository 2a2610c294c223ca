"""The file ``quorum-state``: it keeps the epoch and the vote of this node, so that a restart cannot vote twice."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection

from kraft.quorum.log import MetadataLog
from kraft.raft.state import ElectionState
from kraft.storage.errors import REJOIN_ADVICE, StorageError
from kraft.storage.quorum_state import FILE_NAME, NOBODY, QuorumState, read_quorum_state, write_quorum_state

logger = logging.getLogger("kraft.quorum")


class ElectionFile:
    """The election state of one node, in the directory of its log. ``voters`` are the configured voters."""

    def __init__(self, log: MetadataLog, node_id: int, voters: Collection[int]) -> None:
        self.path = os.path.join(log.directory, FILE_NAME)
        self._log = log
        self._node_id = node_id
        self._voters = tuple(sorted(voters))

    def read(self) -> ElectionState:
        """Return the election state to start with. If the file does not fit the log or the voters, log a warning.

        Raises StorageError if the file is damaged, or if a record of the log has an epoch that the file does not know.
        """
        stored = read_quorum_state(self.path)
        if stored is None:
            if self._log.end_offset > 0 and self._node_id in self._voters:
                risk = "the last vote of this voter is unknown, so it may vote a second time in one epoch"
                logger.warning("%s is missing beside a log of epoch %s: %s", self.path, self._log.last_epoch, risk)
            return ElectionState(self._log.last_epoch)
        if stored.leader_epoch < self._log.last_epoch:
            self._require_snapshot(stored)
            return ElectionState(self._log.last_epoch)
        self._look_for_others(stored)
        return ElectionState(stored.leader_epoch, _known(stored.leader_id), _known(stored.voted_id))

    def _require_snapshot(self, stored: QuorumState) -> None:
        """Raise StorageError if a record has a newer epoch than the file, unless a snapshot explains it.

        No checksum covers the epoch of a batch, and an election state is durable before any append of its epoch. A
        snapshot has its epoch in its name and in its batches, and a person may have copied it here.
        """
        log, known = self._log, stored.leader_epoch
        if log.snapshot is None or log.snapshot.end_offset != log.end_offset:
            found = f"the log has a record of epoch {log.last_epoch}, and {FILE_NAME} knows none after {known}"
            raise StorageError(f"{log.directory}: {found}; one of them is damaged: {REJOIN_ADVICE}")
        found = f"the log begins with a snapshot of epoch {log.last_epoch}"
        logger.warning("%s: %s, newer than the %s of %s", log.directory, found, known, FILE_NAME)

    def _look_for_others(self, stored: QuorumState) -> None:
        here = f"controller.quorum.voters is {_names(self._voters)}"
        for what, node_id in (("leader", stored.leader_id), ("vote", stored.voted_id)):
            if node_id != NOBODY and node_id not in self._voters:
                logger.warning("%s: the %s of epoch %s is %s; %s", self.path, what, stored.leader_epoch, node_id, here)
        if stored.current_voters and set(stored.current_voters) != set(self._voters):
            then = _names(stored.current_voters)
            rest = "this is safe only if every majority of the old voters overlaps every majority of the new ones"
            logger.warning("%s: the voters were %s, and %s; %s", self.path, then, here, rest)

    def write(self, election: ElectionState) -> None:
        """Replace the file durably. May run on any thread. Raises OSError."""
        leader = NOBODY if election.leader_id is None else election.leader_id
        voted = NOBODY if election.voted_for is None else election.voted_for
        state = QuorumState(leader_id=leader, leader_epoch=election.epoch, voted_id=voted, current_voters=self._voters)
        write_quorum_state(self.path, state)


def _known(node_id: int) -> int | None:
    return None if node_id == NOBODY else node_id


def _names(voters: Collection[int]) -> str:
    return ",".join(map(str, sorted(voters)))
