"""Kafka's checkpoint files."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.storage.checkpoint import MAX_ENTRIES, known_offsets, read_offsets, write_offsets
from kraft.storage.errors import CheckpointError

_names = st.text("abcXYZ019._-", min_size=1, max_size=20)


def test_the_layout_is_kafkas(tmp_path: Path) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    write_offsets(path, {("b", 1): 7, ("a", 0): 5})
    assert path.read_text() == "0\n2\na 0 5\nb 1 7\n"
    assert os.listdir(tmp_path) == [path.name]


@given(offsets=st.dictionaries(st.tuples(_names, st.integers(0, 9)), st.integers(0, 2**63 - 1)))
def test_round_trip(offsets: dict[tuple[str, int], int], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("checkpoint") / "file"
    write_offsets(path, offsets)
    assert read_offsets(path) == offsets


def test_an_absent_file_has_no_entries(tmp_path: Path) -> None:
    assert read_offsets(tmp_path / "none") == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1\n0\n",
        "0\n",
        "0\nx\n",
        "0\n2\na 0 1\n",
        "0\n1\na 0 1\nb 0 1\n",
        "0\n1\na 0 1\n\n",
        "0\n1\na 0\n",
        "0\n1\na b c\n",
        "\0\0",
        f"0\n1\n{'a' * 1024} 0 1\n",
        f"0\n{MAX_ENTRIES + 1}\na 0 1\n",
        f"0\n{'9' * 1000}\na 0 1\n",
    ],
)
def test_damage_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(CheckpointError, match="file: not a checkpoint file"):
        read_offsets(path)


def test_a_large_file_that_is_no_checkpoint_needs_no_memory(tmp_path: Path) -> None:
    """The file is 256 MiB of short entries. A list of its lines would need twenty times as much."""
    path = tmp_path / "file"
    path.write_bytes(b"0\n1\n" + b"a 0 1\n" * 2**20)
    os.truncate(path, 256 * 2**20)
    tracemalloc.start()
    try:
        assert known_offsets(path) == {}
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
