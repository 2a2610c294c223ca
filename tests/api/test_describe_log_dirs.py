"""DescribeLogDirs: where partitions are, and how large."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kraft.messages.describe_log_dirs_request import DescribableLogDirTopic, DescribeLogDirsRequest
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.support.talk import batch, create, produce


async def test_a_directory_whose_volume_is_gone_has_its_own_error(
    broker: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``ReplicaManager.describeLogDirs`` catches what fails in one directory."""

    def fail(path: str) -> None:
        raise OSError(errno.EIO, "Input/output error", path)

    monkeypatch.setattr(os, "statvfs", fail)
    response = await broker.request(DescribeLogDirsRequest(topics=None), 4)
    [result] = response.results
    assert (response.error_code, result.error_code) == (ErrorCode.NONE, ErrorCode.KAFKA_STORAGE_ERROR)


@pytest.mark.parametrize("version", range(1, 6))
async def test_describe_log_dirs(broker: Connection, new_name: str, version: int) -> None:
    """KIP-113, the size of the volume (KIP-827), and cordoned directories (KIP-1066)."""
    await create(broker, new_name, 2)
    records = batch(b"a" * 500)
    await produce(broker, new_name, records, partition=1)
    request = DescribeLogDirsRequest(topics=[DescribableLogDirTopic(new_name, [0, 1, 9])])
    (result,) = (await broker.request(request, version)).results
    assert (result.error_code, result.is_cordoned) == (0, False)
    assert Path(result.log_dir).is_absolute()
    (topic,) = result.topics
    sizes = {each.partition_index: each.partition_size for each in topic.partitions}
    assert sizes == {0: 0, 1: len(records)}
    if version >= 4:
        assert result.total_bytes >= result.usable_bytes > 0
    everything = (await broker.request(DescribeLogDirsRequest(topics=None), version)).results[0]
    assert new_name in {each.name for each in everything.topics}
