"""AlterReplicaLogDirs: replicas move between the directories of a running broker."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import trio

from kraft.messages.alter_replica_log_dirs_request import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kraft.messages.describe_log_dirs_request import DescribeLogDirsRequest
from kraft.rpc.client import Connection
from kraft.storage.future import mark_complete
from kraft.wire.errors import ErrorCode
from tests.support.nodes import Running, node_in
from tests.support.talk import batch, create, produce, values

LIMIT_S = 30.0


def settings(tmp_path: Path) -> Mapping[str, str]:
    return {"log.dirs": f"{tmp_path}/one,{tmp_path}/two", "num.partitions": "1"}


async def alter(broker: Connection, path: str, topic: str, index: int = 0, version: int = 2) -> ErrorCode:
    wanted = AlterReplicaLogDir(path, [AlterReplicaLogDirTopic(topic, [index])])
    response = await broker.request(AlterReplicaLogDirsRequest([wanted]), version)
    ((result,),) = ([each.partitions for each in response.results],)
    return ErrorCode(result[0].error_code)


async def places(broker: Connection, topic: str) -> dict[str, bool]:
    """The directories with a replica of the topic, and whether it is a future one."""
    response = await broker.request(DescribeLogDirsRequest(None))
    return {
        result.log_dir: partition.is_future_key
        for result in response.results
        for each in result.topics
        if each.name == topic
        for partition in each.partitions
    }


async def moved(running: Running, topic: str, path: str) -> None:
    """Wait until the replica is in ``path`` alone."""
    with trio.fail_after(LIMIT_S):
        while await places(running.broker, topic) != {path: False}:
            await trio.lowlevel.checkpoint()


async def test_a_replica_moves_with_its_records(tmp_path: Path) -> None:
    """KIP-113: the log is in the other directory, before and after a start, and takes records as before."""
    async with node_in(tmp_path / "one", settings(tmp_path)) as first:
        await create(first.broker, "moving")
        for number in range(5):
            await produce(first.broker, "moving", batch(f"{number}".encode()))
        (before,) = await places(first.broker, "moving")
        after = next(str(tmp_path / each) for each in ("one", "two") if str(tmp_path / each) != before)
        assert await alter(first.broker, after, "moving", version=1) is ErrorCode.NONE
        await moved(first, "moving", after)
        assert not (Path(before) / "moving-0").exists()
        await produce(first.broker, "moving", batch(b"5"))
        assert await values(first.broker, "moving") == [b"0", b"1", b"2", b"3", b"4", b"5"]
        assert await alter(first.broker, after, "moving") is ErrorCode.NONE
        assert await alter(first.broker, before, "moving") is ErrorCode.NONE
        await moved(first, "moving", before)
        first.kill()
    async with node_in(tmp_path / "one", settings(tmp_path)) as second:
        assert await places(second.broker, "moving") == {before: False}
        assert await values(second.broker, "moving") == [b"0", b"1", b"2", b"3", b"4", b"5"]


async def test_refused_moves(tmp_path: Path) -> None:
    """ReplicaManager.alterReplicaLogDirs: an unknown directory, a replica that is not here, a very long name."""
    async with node_in(tmp_path / "one", settings(tmp_path)) as running:
        await create(running.broker, "here")
        for path in (f"{tmp_path}/three", "one", ""):
            assert await alter(running.broker, path, "here") is ErrorCode.LOG_DIR_NOT_FOUND
        one, unknown = f"{tmp_path}/one", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await alter(running.broker, one, "here", 7) is unknown
        assert await alter(running.broker, one, "__cluster_metadata") is unknown
        assert await alter(running.broker, one, "x" * 249) is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_a_new_replica_begins_in_the_chosen_directory(tmp_path: Path) -> None:
    """KIP-113: the broker remembers the directory of a replica that it does not have yet."""
    async with node_in(tmp_path / "one", settings(tmp_path)) as running:
        for name in ("one", "two"):
            for number in range(3):
                topic = f"{name}-{number}"
                code = await alter(running.broker, f"{tmp_path}/{name}", topic)
                assert code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                await create(running.broker, topic)
                assert await places(running.broker, topic) == {f"{tmp_path}/{name}": False}


async def test_an_interrupted_move_begins_again(tmp_path: Path) -> None:
    """ "A move that a stop interrupts begins again with the next start." """
    async with node_in(tmp_path / "one", settings(tmp_path)) as first:
        await create(first.broker, "moving")
        await produce(first.broker, "moving", batch(b"0"))
        (before,) = await places(first.broker, "moving")
        first.kill()
    after = next(tmp_path / each for each in ("one", "two") if str(tmp_path / each) != before)
    partial = after / f"moving-0.{'0' * 32}-future"
    partial.mkdir()
    (partial / "00000000000000000000.log").write_bytes(b"half of a batch")
    async with node_in(tmp_path / "one", settings(tmp_path)) as second:
        await moved(second, "moving", str(after))
        assert await values(second.broker, "moving") == [b"0"]


async def test_a_crash_between_the_renames_loses_nothing(tmp_path: Path) -> None:
    """ "After a crash a marked copy without a log takes its name." """
    async with node_in(tmp_path / "one", settings(tmp_path)) as first:
        await create(first.broker, "moving")
        await produce(first.broker, "moving", batch(b"0"))
        (before,) = await places(first.broker, "moving")
    after = next(tmp_path / each for each in ("one", "two") if str(tmp_path / each) != before)
    mark_complete(shutil.copytree(Path(before) / "moving-0", after / f"moving-0.{'0' * 32}-future"))
    (Path(before) / "moving-0").rename(Path(before) / f"moving-0.{'1' * 32}-delete")
    async with node_in(tmp_path / "one", settings(tmp_path)) as second:
        assert await places(second.broker, "moving") == {str(after): False}
        assert await values(second.broker, "moving") == [b"0"]
