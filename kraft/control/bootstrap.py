"""``bootstrap.checkpoint``: the records that an empty metadata log begins with (KIP-778)."""

from __future__ import annotations

import os
from typing import Any

from kraft.metadata.delta import MetadataError, UnsupportedMetadata
from kraft.metadata.frame import decode_record
from kraft.quorum.support import require_supported_file
from kraft.storage.directory import BOOTSTRAP_CHECKPOINT
from kraft.storage.errors import StorageError, UnsupportedFormat
from kraft.storage.snapshot import read_snapshot


def load_bootstrap(directory: str) -> tuple[Any, ...] | None:
    """Return the records that an empty metadata log begins with; None if the file is missing.

    A log that has records needs no such file.

    Raises:
        StorageError: the file is damaged, or a later version of Kafka wrote it.
        OSError: the file cannot be read.
    """
    path = os.path.join(directory, BOOTSTRAP_CHECKPOINT)
    try:
        require_supported_file(path)
        return tuple(map(decode_record, read_snapshot(path)))
    except FileNotFoundError:
        return None
    except UnsupportedMetadata as error:
        raise UnsupportedFormat(f"{path}: {error}") from error
    except MetadataError as error:
        raise StorageError(f"{path}: {error}; restore it from a copy") from error
