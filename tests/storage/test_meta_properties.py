"""``meta.properties``: which files a node accepts, and which texts are no node id (KIP-631, KIP-858)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.storage.errors import LogDirectoryError
from kraft.storage.meta_properties import MetaProperties, read_meta_properties


def test_java_writes_comments_and_escapes(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "#\n#Sat Jan 01 00:00:00 UTC 2026\nnode.id=1\nversion=1\ncluster.id=x\\=y\n"
    )
    assert read_meta_properties(tmp_path) == MetaProperties("x=y", 1, None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "version is missing; restore the file"),
        ("version=1\nnode.id=1\n", "cluster.id was not found; restore the file"),
        ("version=0\nbroker.id=1\n", "version 0 is that of brokers with ZooKeeper"),
        ("version=1\ncluster.id=a\nnode.id=one\n", "Unable to read node.id as a base-10 number; restore the file"),
        ("version=2\n", "Unknown meta.properties version number 2"),
        ("version=one\n", "Invalid meta.properties version string 'one'"),
        ("version=1\ncluster.id=a\n", "Failed to find node.id"),
        ("version=1\ncluster.id=a\nnode.id=1 \n", "Unable to read node.id"),
        ("version=1\ncluster.id=a\nnode.id=1_0\n", "Unable to read node.id"),
        ("version=1\ncluster.id=a\nnode.id=2147483648\n", "Unable to read node.id"),
        ("version=1\ncluster.id=a\nnode.id=1\ndirectory.id=short\n", "Unable to read directory.id as a Uuid: .*short"),
        ("\\u12", "not a properties file"),
    ],
)
def test_a_broken_meta_properties_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(LogDirectoryError, match=problem) as refused:
        read_meta_properties(tmp_path)
    assert "meta.properties" in str(refused.value)


def test_numbers_are_javas(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version = 1 \ncluster.id:a\nnode.id=+007\n")
    assert read_meta_properties(tmp_path) == MetaProperties("a", 7)


def test_there_may_be_none(tmp_path: Path) -> None:
    assert read_meta_properties(tmp_path) is None
