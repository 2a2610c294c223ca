"""The epochs of a log, and their file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.storage import epochs as module
from kraft.storage.epochs import LeaderEpochs

ENTRIES = st.lists(st.tuples(st.integers(-1, 20), st.integers(0, 50)), max_size=12)


@given(ENTRIES)
def test_entries_that_come_together_are_those_that_come_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[int, int]]
) -> None:
    """KIP-101: the epochs rise, and so do their start offsets."""
    directory = str(tmp_path_factory.mktemp("epochs"))
    together, one_by_one = LeaderEpochs(directory), LeaderEpochs(directory)
    for epoch, start in entries:
        one_by_one.assign(epoch, start)
    together.assign_all(entries)
    assert together.entries == one_by_one.entries
    assert together.entries == sorted(together.entries)


def test_the_epochs_of_one_fetch_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower that was away for many elections gets their epochs together."""
    writes = 0
    write_lines = module.write_lines

    def count(*arguments: object, **options: object) -> None:
        nonlocal writes
        writes += 1
        write_lines(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "write_lines", count)
    epochs = LeaderEpochs(str(tmp_path))
    epochs.assign_all([(epoch, 10 * epoch) for epoch in range(100)])
    assert (writes, epochs.latest) == (1, 99)
    epochs.assign_all([(99, 995), (99, 1_000)])
    assert writes == 1
    reread = LeaderEpochs(str(tmp_path))
    reread.load()
    assert reread.entries == epochs.entries
