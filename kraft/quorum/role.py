"""The role of a node in the quorum: the name of the task that steps the core."""

from __future__ import annotations

import attrs

from kraft.raft.state import Follower, State


@attrs.frozen
class Role:
    """The kind of the core's state, its epoch and its leader. A change of one of them is a change of the role."""

    kind: type[State]
    epoch: int
    leader_id: int | None

    @classmethod
    def of(cls, state: State) -> Role:
        return cls(type(state), state.epoch, state.leader_id)

    def __str__(self) -> str:
        of = f" of {self.leader_id}" if self.kind is Follower else ""
        return f"{self.kind.__name__.lower()}{of} in epoch {self.epoch}"
