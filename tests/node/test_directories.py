"""The directories that a node takes, and those that it refuses before anything in them is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping
from kraft.node.node import open_directories
from kraft.storage.errors import LogDirectoryError
from kraft.storage.format import format_directories
from kraft.testing.embedded import SETTINGS
from tests.node.nodes import CLUSTER_ID, node_in
from tests.node.talk import create

TOPIC = "orders"


def everything_below(directory: Path) -> dict[Path, bytes | None]:
    """The content of every file, and None for every directory."""
    return {path: path.read_bytes() if path.is_file() else None for path in directory.rglob("*")}


async def test_a_metadata_log_in_another_directory(tmp_path: Path) -> None:
    """``metadata.log.dir`` (KIP-631) is the first of ``log.dirs`` by default; to exchange two of them would begin a new
    log, and set every partition aside that it does not know."""
    first, second = tmp_path / "first", tmp_path / "second"
    dirs = {"log.dirs": f"{first},{second}"}
    config = from_mapping({**SETTINGS, **dirs}).config
    format_directories(config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False)
    async with node_in(first, dirs) as running:
        await create(running.broker, TOPIC)
    before = everything_below(tmp_path)
    exchanged = from_mapping({**SETTINGS, "log.dirs": f"{second},{first}"}).config
    with pytest.raises(LogDirectoryError) as refused, open_directories(exchanged):
        pass
    line = str(refused.value)
    assert line.startswith(f"{first / '__cluster_metadata-0'}: ")
    assert str(second) in line
    assert f"metadata.log.dir={first}" in line
    assert everything_below(tmp_path) == before
    told = from_mapping({**SETTINGS, "log.dirs": f"{second},{first}", "metadata.log.dir": str(first)}).config
    with open_directories(told) as directories:
        assert len(directories) == 2


async def test_a_directory_from_before_directory_ids(tmp_path: Path) -> None:
    """KIP-858: brokers register with the ids of their directories; without one the cluster would not take them."""
    config = from_mapping({**SETTINGS, "log.dirs": str(tmp_path)}).config
    format_directories(config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False)
    (tmp_path / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\n")
    async with node_in(tmp_path) as running:
        await create(running.broker, TOPIC)
    assert "directory.id=" in (tmp_path / "meta.properties").read_text()
