"""The states as values: copies keep every field."""

from __future__ import annotations

import attrs

from kraft.raft.messages import SnapshotId
from kraft.raft.state import Follower, SnapshotDownload


def test_a_request_or_a_response_keeps_the_rest_of_the_follower_state() -> None:
    """Both methods copy the state field by field; here no field has its default."""
    download = SnapshotDownload(SnapshotId(7, 2))
    state = Follower(
        3,
        2,
        9.0,
        voted_for=2,
        resigned=True,
        had_bad_response=True,
        pending_request=5,
        request_at=4.0,
        download=download,
    )
    unlike = attrs.evolve(state, has_fetched=True)
    assert unlike.requesting(6, 8.0) == attrs.evolve(unlike, pending_request=6, request_at=8.0)
    fetched = {
        "fetch_deadline": 3.5,
        "has_fetched": True,
        "had_bad_response": False,
        "pending_request": None,
        "request_at": 1.5,
    }
    assert state.fetched(1.5, 3.5) == attrs.evolve(state, **fetched)
