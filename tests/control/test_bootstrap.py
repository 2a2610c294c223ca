"""The first records of a metadata log, from a file of any size."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.control.bootstrap import load_bootstrap
from kraft.metadata.bootstrap import bootstrap_checkpoint
from kraft.storage.errors import StorageError
from kraft.storage.snapshot import MAX_READ_BATCH_BYTES


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
