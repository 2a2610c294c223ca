"""``quorum-state``: the epoch, vote and leader that a raft voter must not forget (KIP-595), as one line of JSON.

Version 0 names candidates by id only (kraft.version 0). Version 1 (KIP-853) adds the directory id of the vote. A lost
or half-written vote could elect two leaders in one epoch. The voter therefore replaces the whole file durably before it
sends a message that depends on it.
"""

from __future__ import annotations

import json
import os
import uuid

import attrs

from kraft.storage.atomic import write_atomically
from kraft.storage.creation import open_for_reading
from kraft.storage.errors import StorageError
from kraft.wire.uuids import ZERO_UUID, uuid_from_text, uuid_to_text

FILE_NAME = "quorum-state"
NOBODY = -1

_MAX_BYTES = 2**20
_MAX_INT32 = 2**31 - 1


@attrs.frozen
class QuorumState:
    """The last state that a voter wrote. ``leader_id`` and ``voted_id`` are -1 for none."""

    leader_id: int = NOBODY
    leader_epoch: int = 0
    voted_id: int = NOBODY
    voted_directory_id: uuid.UUID = ZERO_UUID
    current_voters: tuple[int, ...] = ()
    """Only in version 0."""


def read_quorum_state(path: str | os.PathLike[str]) -> QuorumState | None:
    """Return the state, or None if the file is absent. Raises StorageError if the file is malformed."""
    try:
        with open(path, "rb", opener=open_for_reading) as file:
            data = file.read(_MAX_BYTES)
    except FileNotFoundError:
        return None
    try:
        fields = json.loads(data)
        version = fields["data_version"]
        if type(version) is not int or version not in (0, 1):
            raise ValueError(f"data_version {version!r} is not 0 or 1")
        directory_id = fields.get("votedDirectoryId")
        return QuorumState(
            leader_id=_integer(fields, "leaderId", NOBODY),
            leader_epoch=_integer(fields, "leaderEpoch"),
            voted_id=_integer(fields, "votedId", NOBODY),
            voted_directory_id=ZERO_UUID if directory_id is None else uuid_from_text(directory_id),
            current_voters=tuple(_integer(voter, "voterId") for voter in fields.get("currentVoters") or ()),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        raise StorageError(
            f"{os.fspath(path)}: not a quorum state: {reason}; restore it from a copy, or let this voter rejoin "
            "with an empty metadata directory (deleting only this file could let it vote twice in one epoch)"
        ) from None


def write_quorum_state(path: str | os.PathLike[str], state: QuorumState, *, version: int = 0) -> None:
    """Replace the file durably. Raises OSError."""
    fields: dict[str, object]
    if version == 0:
        fields = {
            "clusterId": "",
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": state.voted_id,
            "appliedOffset": 0,
            "currentVoters": [{"voterId": voter} for voter in state.current_voters],
            "data_version": 0,
        }
    else:
        fields = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": state.voted_id,
            "votedDirectoryId": uuid_to_text(state.voted_directory_id),
            "data_version": 1,
        }
    write_atomically(path, json.dumps(fields, separators=(",", ":")).encode())


def _integer(fields: dict[str, object], name: str, minimum: int = 0) -> int:
    value = fields[name]
    if type(value) is not int or not minimum <= value <= _MAX_INT32:
        raise ValueError(f"{name} is {value!r}, not a number from {minimum} to {_MAX_INT32}")
    return value
