"""``bootstrap.checkpoint``: the records that an empty metadata log begins with (KIP-778)."""

from __future__ import annotations

import os
from typing import Any

from kraft.config.features import SUPPORTED_FEATURES
from kraft.messages.feature_level_record import FeatureLevelRecord
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


def require_bootstrap(directory: str, records: tuple[Any, ...] | None) -> None:
    """Raise StorageError if an empty metadata log cannot begin with the records that ``load_bootstrap`` returned.

    Kafka's controller, too, refuses a feature level outside of its range (``FeatureControlManager.replay``). Here the
    log would begin at that level, and every later start would end.
    """
    path = os.path.join(directory, BOOTSTRAP_CHECKPOINT)
    if records is None:
        what = f"{path}: missing, and the metadata log is still empty: its first records are in this file"
        raise StorageError(f"{what}; restore it from a copy or another controller, or format an empty directory")
    for record in records:
        if isinstance(record, FeatureLevelRecord):
            name, level = record.name, record.feature_level
            lowest, highest = SUPPORTED_FEATURES.get(name, (0, 0))
            if not lowest <= level <= highest:
                what = f"{path}: {name} {level} is not supported; this node knows levels {lowest} to {highest}"
                raise UnsupportedFormat(f"{what}; format an empty directory with --feature {name}={highest}")
