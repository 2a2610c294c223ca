"""The first records of a metadata log, from a whole file, a damaged one, and one of any size."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.control.bootstrap import load_bootstrap
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.metadata.bootstrap import bootstrap_checkpoint
from kraft.records.batch import iter_headers
from kraft.storage.errors import StorageError
from kraft.storage.snapshot import MAX_READ_BATCH_BYTES


def test_written_levels_are_read_back(tmp_path: Path) -> None:
    (tmp_path / "bootstrap.checkpoint").write_bytes(bootstrap_checkpoint(21, [("group.version", 1)]))
    assert load_bootstrap(str(tmp_path)) == (
        FeatureLevelRecord(name="metadata.version", feature_level=21),
        FeatureLevelRecord(name="group.version", feature_level=1),
    )


def test_a_file_without_its_footer_is_damaged(tmp_path: Path) -> None:
    """Kafka's BatchFileWriter: "a SnapshotFooterRecord record in the last batch"."""
    data = bootstrap_checkpoint(DEFAULT_METADATA_LEVEL)
    *_, (footer, _) = iter_headers(data)
    (tmp_path / "bootstrap.checkpoint").write_bytes(data[:footer])
    with pytest.raises(StorageError, match="without a snapshot footer"):
        load_bootstrap(str(tmp_path))


def test_a_file_beyond_the_limit_is_not_read_whole(tmp_path: Path) -> None:
    """A sparse file of any size costs its author nothing."""
    path = tmp_path / "bootstrap.checkpoint"
    path.write_bytes(bootstrap_checkpoint(DEFAULT_METADATA_LEVEL))
    assert load_bootstrap(str(tmp_path))
    os.truncate(path, 3 * MAX_READ_BATCH_BYTES)
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match=str(path)):
            load_bootstrap(str(tmp_path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * MAX_READ_BATCH_BYTES
