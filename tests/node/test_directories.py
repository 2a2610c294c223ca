"""The directories that a node takes, and those that it refuses before anything in them is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping
from kraft.metadata.bootstrap import bootstrap_checkpoint
from kraft.storage.errors import LogDirectoryError, StorageError, UnsupportedFormat
from kraft.storage.format import format_directories
from kraft.storage.node_directories import open_directories
from kraft.storage.snapshot import snapshot_batches
from kraft.testing.embedded import SETTINGS
from tests.support.cluster_id import CLUSTER_ID
from tests.support.nodes import node_in
from tests.support.talk import create, end_offset

TOPIC = "orders"
ID, RESERVED = "AAAAAAAAAAAAAAAAAAAAZA", "AAAAAAAAAAAAAAAAAAAAYw"
"""The first id that is not reserved, and the last one that is."""


def formatted(directory: Path, settings: dict[str, str] | None = None) -> None:
    config = from_mapping({**SETTINGS, "log.dirs": str(directory), **(settings or {})}).config
    format_directories(config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False)


async def refusal(directory: Path, settings: dict[str, str] | None = None) -> StorageError:
    """Start a node there, which must be refused; the error."""
    with pytest.RaisesGroup(StorageError, flatten_subgroups=True) as refused:
        async with node_in(directory, settings):
            raise AssertionError("it started")
    error: BaseException = refused.value
    while isinstance(error, BaseExceptionGroup):
        (error,) = error.exceptions
    assert isinstance(error, StorageError)
    assert "\n" not in str(error)
    return error


def everything_below(directory: Path) -> dict[Path, bytes | None]:
    """The content of every file, and None for every directory."""
    return {path: path.read_bytes() if path.is_file() else None for path in directory.rglob("*")}


async def test_a_metadata_log_in_another_directory(tmp_path: Path) -> None:
    """``metadata.log.dir`` (KIP-631) is the first of ``log.dirs`` by default; to exchange two of them would begin a new
    log, and set every partition aside that it does not know."""
    first, second = tmp_path / "first", tmp_path / "second"
    dirs = {"log.dirs": f"{first},{second}"}
    formatted(first, dirs)
    async with node_in(first, dirs) as running:
        await create(running.broker, TOPIC)
    for directory in (first, second):
        (directory / ".lock").unlink()  # a directory that is only opened has one
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
    formatted(tmp_path)
    (tmp_path / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\n")
    async with node_in(tmp_path) as running:
        await create(running.broker, TOPIC)
    assert "directory.id=" in (tmp_path / "meta.properties").read_text()


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ((ID, None, ID), f"Duplicate directory ID {ID} found. It was the ID of {{0}}, but also of {{2}}"),
        ((ID, RESERVED), f"Invalid reserved directory ID {RESERVED} found"),
    ],
    ids=["duplicate", "reserved"],
)
def test_the_ids_of_directories(tmp_path: Path, ids: tuple[str | None, ...], says: str) -> None:
    """``MetaPropertiesEnsemble.verify``, before a node without directory ids writes them. ``DirectoryId.reserved``: the
    first 100 ids have other meanings.
    """
    paths = [tmp_path / f"{number}" for number in range(len(ids))]
    for path, directory_id in zip(paths, ids, strict=True):
        path.mkdir()
        line = "" if directory_id is None else f"directory.id={directory_id}\n"
        (path / "meta.properties").write_text(f"version=1\ncluster.id={CLUSTER_ID}\nnode.id=1\n{line}")
    before = everything_below(tmp_path)
    config = from_mapping({**SETTINGS, "log.dirs": ",".join(map(str, paths))}).config
    with pytest.raises(LogDirectoryError) as refused, open_directories(config):
        pass
    assert str(refused.value).startswith(f"{paths[-1]}: {says.format(*paths)}; remove the line directory.id")
    assert everything_below(tmp_path) == before


async def test_a_log_that_has_records_needs_no_bootstrap(tmp_path: Path) -> None:
    """KIP-778: a cluster's log begins with ``bootstrap.checkpoint``, which is unused afterwards."""
    async with node_in(tmp_path) as running:
        await create(running.broker, TOPIC)
    (tmp_path / "bootstrap.checkpoint").unlink()
    async with node_in(tmp_path) as running:
        assert await end_offset(running.broker, TOPIC) == 0


async def test_an_empty_log_needs_its_bootstrap(tmp_path: Path) -> None:
    formatted(tmp_path)
    (tmp_path / "bootstrap.checkpoint").unlink()
    line = str(await refusal(tmp_path))
    assert line.startswith(f"{tmp_path / 'bootstrap.checkpoint'}: missing")
    assert "restore it" in line
    assert not (tmp_path / "__cluster_metadata-0" / "quorum-state").exists()


async def test_the_bootstrap_is_that_of_the_metadata_directory(tmp_path: Path) -> None:
    """``metadata.log.dir``: a later Kafka formats only this one with a ``bootstrap.checkpoint``."""
    data, metadata = tmp_path / "data", tmp_path / "metadata"
    settings = {"metadata.log.dir": str(metadata)}
    formatted(data, settings)
    (data / "bootstrap.checkpoint").unlink()
    async with node_in(data, settings) as running:
        await create(running.broker, TOPIC)


@pytest.mark.parametrize(
    ("bootstrap", "says"),
    [
        (bootstrap_checkpoint(31), "at offset 1: metadata.version 31 needs a newer kraft"),
        (
            b"".join(snapshot_batches([b"\x01\x7f\x00\x00"], epoch=0, timestamp=0)),
            "a metadata record of unknown type 127",
        ),
    ],
    ids=["level", "type"],
)
async def test_a_bootstrap_of_a_newer_kafka(tmp_path: Path, bootstrap: bytes, says: str) -> None:
    """KIP-778: a node does not begin a log at a level that it does not know, nor does it begin it and end."""
    formatted(tmp_path)
    (tmp_path / "bootstrap.checkpoint").write_bytes(bootstrap)
    before = set(everything_below(tmp_path))
    error = await refusal(tmp_path)
    assert isinstance(error, UnsupportedFormat)
    assert str(error).startswith(f"{tmp_path / 'bootstrap.checkpoint'}: {says}")
    assert set(everything_below(tmp_path)) - before == {tmp_path / ".lock"}


async def test_a_bootstrap_with_a_feature_that_this_node_lacks(tmp_path: Path) -> None:
    """``require_bootstrap``: the log would begin at that level. Apache Kafka 4.3 formats with this one by default."""
    formatted(tmp_path)
    file = tmp_path / "bootstrap.checkpoint"
    file.write_bytes(bootstrap_checkpoint(30, [("group.version", 1), ("eligible.leader.replicas.version", 1)]))
    error = await refusal(tmp_path)
    assert isinstance(error, UnsupportedFormat)
    assert str(error).startswith(f"{file}: eligible.leader.replicas.version 1 is not supported")
    assert not (tmp_path / "__cluster_metadata-0" / "quorum-state").exists()


async def test_a_log_that_has_records_needs_no_supported_bootstrap(tmp_path: Path) -> None:
    """The cluster may have left the levels of its first records."""
    async with node_in(tmp_path) as running:
        await create(running.broker, TOPIC)
    (tmp_path / "bootstrap.checkpoint").write_bytes(bootstrap_checkpoint(30, [("streams.version", 1)]))
    async with node_in(tmp_path) as running:
        assert await end_offset(running.broker, TOPIC) == 0


@pytest.mark.parametrize("epoch", [0, 1])
async def test_the_quorum_state_of_a_later_kafka_with_static_voters(tmp_path: Path, epoch: int) -> None:
    """KIP-853: Apache Kafka 4 writes data_version 1 with kraft.version 0 too."""
    formatted(tmp_path)
    (tmp_path / "__cluster_metadata-0").mkdir()
    (tmp_path / "__cluster_metadata-0" / "quorum-state").write_text(
        f'{{"leaderId":-1,"leaderEpoch":{epoch},"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",'
        '"data_version":1}'
    )
    async with node_in(tmp_path) as running:
        await create(running.broker, TOPIC)
