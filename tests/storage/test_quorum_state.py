"""``quorum-state`` (KIP-595, KIP-853)."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from kraft.storage.errors import StorageError
from kraft.storage.quorum_state import QuorumState, read_quorum_state, write_quorum_state


def test_version_0_is_apaches_line(tmp_path: Path) -> None:
    path = tmp_path / "quorum-state"
    state = QuorumState(leader_id=1, leader_epoch=2, current_voters=(1, 2))
    write_quorum_state(path, state)
    assert path.read_text() == (
        '{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,'
        '"currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}'
    )
    assert read_quorum_state(path) == state


def test_version_1_names_the_directory_of_the_vote(tmp_path: Path) -> None:
    path = tmp_path / "quorum-state"
    state = QuorumState(leader_epoch=5, voted_id=3, voted_directory_id=UUID(int=9))
    write_quorum_state(path, state, version=1)
    assert read_quorum_state(path) == state


def test_no_file_is_no_state(tmp_path: Path) -> None:
    assert read_quorum_state(tmp_path / "quorum-state") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"data_version":2,"leaderId":1,"leaderEpoch":1,"votedId":1}',
        '{"data_version":0,"leaderId":"1","leaderEpoch":1,"votedId":1}',
        '{"data_version":0,"leaderId":1,"leaderEpoch":1,"votedId":1,"currentVoters":[1]}',
        '{"data_version":true,"leaderId":1,"leaderEpoch":1,"votedId":1}',
        '{"data_version":0,"leaderId":1,"leaderEpoch":2147483648,"votedId":1}',
        '{"data_version":0,"leaderId":1,"leaderEpoch":-1,"votedId":1}',
        '{"data_version":0,"leaderId":-2,"leaderEpoch":1,"votedId":1}',
        '{"data_version":0,"leaderId":1,"leaderEpoch":1,"votedId":1,"currentVoters":[{"voterId":-1}]}',
        "\0" * 100_000,
        "[" * 5000,
    ],
)
def test_damage_is_one_line_with_the_remedy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "quorum-state"
    path.write_text(text)
    with pytest.raises(StorageError, match="not a quorum state") as refused:
        read_quorum_state(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500
