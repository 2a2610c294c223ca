"""The open files of a process, divided among connections, logs and the reserve."""

from __future__ import annotations

import pytest

from kraft.config.setting import ConfigError
from kraft.node.open_files import MIN_OPEN_FILES, FileBudget


@pytest.mark.parametrize("limit", [128, 256, 1024, 4096, 65_536, 1_048_576])
def test_the_parts_are_the_whole_and_each_has_some(limit: int) -> None:
    budget = FileBudget.of(limit)
    assert budget.connections + budget.logs + budget.reserve == limit
    assert budget.reserve >= 32
    assert budget.logs >= 32
    assert budget.connections >= limit / 2 - 1


def test_the_words_for_a_usual_limit() -> None:
    assert str(FileBudget.of(1024)) == (
        "this process may have 1024 open files: 512 for connections, 256 for logs, 256 in reserve"
    )


def test_a_limit_too_low_for_a_node_is_refused() -> None:
    with pytest.raises(ConfigError, match="127 open files, and a node needs at least 128: raise the limit"):
        FileBudget.of(MIN_OPEN_FILES - 1)
