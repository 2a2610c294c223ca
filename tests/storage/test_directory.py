"""Log directories: the lock, the owner, and how the last user stopped."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pytest

from kraft.storage import directory
from kraft.storage.directory import (
    LastStop,
    LogDirectory,
    format_directory,
    partition_of,
    remove_retired,
)
from kraft.storage.errors import LogDirectoryError
from kraft.storage.meta_properties import MetaProperties, read_meta_properties

META = MetaProperties("AAAAAAAAAAAAAAAAAAAAAg", 1, UUID(int=3))


@pytest.fixture
def formatted(tmp_path: Path) -> Path:
    format_directory(tmp_path, META, b"bootstrap", ignore_formatted=False)
    return tmp_path


def test_format_writes_the_files_of_kafka_storage(formatted: Path) -> None:
    assert (formatted / "meta.properties").read_text() == (
        "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAg\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAw\n"
    )
    assert (formatted / "bootstrap.checkpoint").read_bytes() == b"bootstrap"
    assert read_meta_properties(formatted) == META


def test_format_refuses_a_formatted_directory(formatted: Path) -> None:
    with pytest.raises(LogDirectoryError, match="already formatted"):
        format_directory(formatted, META, b"", ignore_formatted=False)
    assert format_directory(formatted, META, b"", ignore_formatted=True) is False


def test_a_directory_from_before_directory_ids_is_given_one(tmp_path: Path) -> None:
    """KIP-858: a broker generates the id of a directory that has none, and keeps it in ``meta.properties``."""
    (tmp_path / "meta.properties").write_text("#\n#Sat Jan 01\nnode.id=1\nversion=1\ncluster.id=x\\=y\nown=kept\n")
    used = LogDirectory.open(tmp_path, node_id=1)
    used.close()
    assert used.meta == MetaProperties("x=y", 1, used.directory_id)
    assert read_meta_properties(tmp_path) == used.meta
    assert "own=kept\n" in (tmp_path / "meta.properties").read_text()
    again = LogDirectory.open(tmp_path, node_id=1)
    again.close()
    assert again.directory_id == used.directory_id


def test_a_directory_that_gets_no_id_is_unlocked(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")
    with pytest.raises(LogDirectoryError, match="belongs to node 1"):
        LogDirectory.open(tmp_path, node_id=2)
    (tmp_path / "meta.properties.tmp").mkdir()
    with pytest.raises(OSError, match=r"meta\.properties\.tmp"):
        LogDirectory.open(tmp_path, node_id=1)
    assert read_meta_properties(tmp_path) == MetaProperties("x", 1, None)
    (tmp_path / "meta.properties.tmp").rmdir()
    LogDirectory.open(tmp_path, node_id=1).close()


def test_foreign_and_unformatted_directories_are_refused(formatted: Path) -> None:
    with pytest.raises(LogDirectoryError, match="not formatted"):
        LogDirectory.open(formatted / "other", node_id=1)
    with pytest.raises(LogDirectoryError, match="belongs to node 1, and this is node 2"):
        LogDirectory.open(formatted, node_id=2)
    with pytest.raises(LogDirectoryError, match="belongs to cluster"):
        LogDirectory.open(formatted, node_id=1, cluster_id="other")


def test_one_user_at_a_time(formatted: Path) -> None:
    held = LogDirectory.open(formatted, node_id=1)
    with pytest.raises(LogDirectoryError, match=r"in use by process \d+, which holds .*\.lock"):
        LogDirectory.open(formatted, node_id=1)
    script = f"from kraft.storage.directory import LogDirectory; LogDirectory.open({str(formatted)!r}, node_id=1)"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "LogDirectoryError" in other.stderr
    held.close()
    held.close()
    LogDirectory.open(formatted, node_id=1).close()


def test_a_full_disk_keeps_no_lock(formatted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pwrite(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as full:
        full.setattr(os, "pwrite", pwrite)
        with pytest.raises(OSError, match="no space"):
            LogDirectory.open(formatted, node_id=1)
    LogDirectory.open(formatted, node_id=1).close()


def test_how_the_last_user_left(formatted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reopened() -> LogDirectory:
        return LogDirectory.open(formatted, node_id=1)

    used = reopened()
    assert used.last_stop is LastStop.POWER_LOST
    used.close()
    # Killed before its logs were recovered: the directory counts as after a power cut.
    used = reopened()
    assert used.last_stop is LastStop.POWER_LOST
    used.mark_opened()
    used.close()
    used = reopened()
    assert used.last_stop is LastStop.KILLED
    used.mark_opened()
    used.mark_clean_shutdown(5)
    used.close()
    assert (formatted / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":5}'
    used = reopened()
    assert used.last_stop is LastStop.CLEAN
    used.mark_opened()
    used.close()
    monkeypatch.setattr(directory, "_boot_id", lambda: "another boot")
    used = reopened()
    assert used.last_stop is LastStop.POWER_LOST
    used.close()


def test_a_power_cut_before_all_logs_are_open_is_no_controlled_stop(
    formatted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KAFKA-10471: the mark is deleted before logs are loaded, so that a crash meanwhile is a hard shutdown."""
    used = LogDirectory.open(formatted, node_id=1)
    used.mark_opened()
    used.mark_clean_shutdown()
    used.close()
    used = LogDirectory.open(formatted, node_id=1)
    used.unmark_clean_shutdown()
    used.close()
    monkeypatch.setattr(directory, "_boot_id", lambda: "another boot")
    used = LogDirectory.open(formatted, node_id=1)
    assert used.last_stop is LastStop.POWER_LOST
    used.close()


def test_no_boot_id_is_never_the_same_boot(formatted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "_KERNEL_BOOT_ID", "/nonexistent")
    used = LogDirectory.open(formatted, node_id=1)
    used.mark_opened()
    used.close()
    used = LogDirectory.open(formatted, node_id=1)
    assert used.last_stop is LastStop.POWER_LOST
    used.close()


@pytest.mark.parametrize(
    ("name", "partition"),
    [
        ("topic-0", ("topic", 0)),
        ("with-dash.and_more-12", ("with-dash.and_more", 12)),
        ("__cluster_metadata-0", ("__cluster_metadata", 0)),
        ("topic", None),
        ("topic-x", None),
        ("topic-0." + "a" * 32 + "-delete", None),
        ("topic-0." + "a" * 32 + "-stray", None),
        ("topic-0." + "a" * 32 + "-future", None),
    ],
)
def test_partition_directories(name: str, partition: tuple[str, int] | None) -> None:
    assert partition_of(name) == partition


@pytest.mark.parametrize(
    ("name", "reason", "retired"),
    [
        ("orders-12", "delete", "orders-12.{}-delete"),
        ("orders-12", "stray", "orders-12.{}-stray"),
        ("orders-12." + "f" * 32 + "-future", "delete", "orders-12.{}-delete"),
        ("x" * 249 + "-12", "delete", "x" * 212 + "-12.{}-delete"),
        ("x" * 249 + "-12", "stray", "x" * 213 + "-12.{}-stray"),
    ],
)
def test_a_retired_name_has_the_partition(formatted: Path, name: str, reason: str, retired: str) -> None:
    """A broker of Apache Kafka ends at its start if ``LocalLog.parseTopicPartitionName`` refuses a name, which it does
    without a partition. ``LocalLog.logDirNameWithSuffixCappedLength`` shortens the topic alone.
    """
    (formatted / name).mkdir()
    used = LogDirectory.open(formatted, node_id=1)
    path = used.retire_partition(name, UUID(int=1), reason)
    assert os.path.basename(path) == retired.format(UUID(int=1).hex)
    assert os.path.isdir(path)
    used.close()


def test_retired_partitions(formatted: Path) -> None:
    used = LogDirectory.open(formatted, node_id=1)
    for name in ("b-1", "a-0", "x" * 249 + "-0"):
        (formatted / name).mkdir()
    assert used.partitions() == [("a", 0), ("b", 1), ("x" * 249, 0)]
    used.retire_partition("b-1", UUID(int=1), "stray")
    deleted = used.retire_partition("x" * 249 + "-0", UUID(int=1))
    assert used.partitions() == [("a", 0)]
    assert used.retired() == [deleted]
    remove_retired(deleted)
    remove_retired(deleted)
    assert used.retired() == []
    with pytest.raises(ValueError, match="not a retired"):
        remove_retired(str(formatted / "a-0"))
    used.close()
