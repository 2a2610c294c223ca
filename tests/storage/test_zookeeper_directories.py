"""The directories of a broker with ZooKeeper: formatted by itself, and never those of another cluster or mode."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from kraft.config.broker import NodeConfig
from kraft.config.properties import from_mapping
from kraft.storage.directory import format_directory
from kraft.storage.errors import LogDirectoryError
from kraft.storage.meta_properties import LEGACY, MetaProperties, read_meta_properties
from kraft.storage.zookeeper_directories import open_zookeeper_directories

DIRECTORY_ID = UUID(int=500)


def config(*paths: Path, broker_id: int = 3) -> NodeConfig:
    log_dirs = ",".join(map(str, paths))
    values = {"broker.id": str(broker_id), "zookeeper.connect": "localhost:2181", "log.dirs": log_dirs}
    return from_mapping(values).config


def new_uuid() -> UUID:
    return DIRECTORY_ID


def test_a_new_directory_is_formatted_in_version_0(tmp_path: Path) -> None:
    path = tmp_path / "new"
    for _ in range(2):
        with open_zookeeper_directories(config(path), "cluster", new_uuid) as (directory,):
            assert directory.meta == MetaProperties("cluster", 3, DIRECTORY_ID, LEGACY)
    lines = (path / "meta.properties").read_text().split()
    assert {"version=0", "broker.id=3", "cluster.id=cluster"} < set(lines)
    assert not (path / "bootstrap.checkpoint").exists()


def test_a_directory_of_another_cluster_is_refused(tmp_path: Path) -> None:
    """``InconsistentClusterIdException``: zookeeper.connect may be wrong."""
    with open_zookeeper_directories(config(tmp_path), "one", new_uuid):
        pass
    with pytest.raises(LogDirectoryError, match=r"Cluster ID two .*one.*zookeeper.connect may be wrong"):
        open_zookeeper_directories(config(tmp_path), "two", new_uuid).__enter__()
    with pytest.raises(LogDirectoryError, match="belongs to node 3"):
        open_zookeeper_directories(config(tmp_path, broker_id=4), "one", new_uuid).__enter__()


@pytest.mark.parametrize(("broker_id", "reason"), [(4, "belongs to node 3"), (3, "in use by process")])
def test_a_refused_start_formats_no_directory(tmp_path: Path, broker_id: int, reason: str) -> None:
    """``KafkaServer.startup`` verifies all directories (``MetaPropertiesEnsemble.verify``) before it writes."""
    new, old = tmp_path / "new", tmp_path / "old"
    with open_zookeeper_directories(config(old), "cluster", new_uuid):
        with pytest.raises(LogDirectoryError, match=reason):
            open_zookeeper_directories(config(new, old, broker_id=broker_id), "cluster", uuid4).__enter__()
        assert not new.exists()
    with open_zookeeper_directories(config(new, old), "cluster", uuid4) as directories:
        assert [each.path for each in directories] == [str(new), str(old)]


def test_a_directory_that_was_formatted_for_a_quorum_is_refused(tmp_path: Path) -> None:
    format_directory(tmp_path, MetaProperties("cluster", 3, DIRECTORY_ID), b"", ignore_formatted=False)
    with pytest.raises(LogDirectoryError, match=r"version 1 is that of nodes with process\.roles"):
        open_zookeeper_directories(config(tmp_path), "cluster", new_uuid).__enter__()


def test_two_directories_with_one_id_are_refused(tmp_path: Path) -> None:
    """``MetaPropertiesEnsemble.verify``, which ``KafkaServer.startup`` calls first."""
    new, old, copy = (tmp_path / name for name in ("new", "old", "copy"))
    with open_zookeeper_directories(config(old), "cluster", new_uuid):
        pass
    shutil.copytree(old, copy)
    with pytest.raises(LogDirectoryError, match=rf"It was the ID of {old}, but also of {copy};"):
        open_zookeeper_directories(config(new, old, copy), "cluster", uuid4).__enter__()
    assert not new.exists()


def test_apaches_file_without_a_version_is_version_0(tmp_path: Path) -> None:
    """Brokers before KIP-631 wrote no version."""
    (tmp_path / "meta.properties").write_text("#\nbroker.id=3\ncluster.id=cluster\n")
    assert read_meta_properties(tmp_path, LEGACY) == MetaProperties("cluster", 3, None, LEGACY)
