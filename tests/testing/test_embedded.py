"""The embedded cluster: real clients use it, and nothing is left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import trio

from kraft.config.setting import ConfigError
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.rpc.client import connect
from kraft.testing import EmbeddedCluster, embedded_node
from kraft.wire.errors import KafkaError
from tests.support.eventually import eventually


async def partitions_of(bootstrap_servers: str, topic: str) -> int:
    host, _, port = bootstrap_servers.rpartition(":")
    async with connect(host, int(port), client_id="test") as connection:
        wanted = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        response = await connection.request(wanted)
    return len(response.topics[0].partitions)


def test_a_synchronous_program_uses_a_cluster_in_its_own_thread() -> None:
    with EmbeddedCluster(topics={"orders": 3}) as cluster:
        assert trio.run(partitions_of, cluster.bootstrap_servers, "orders") == 3


async def test_a_trio_program_runs_the_node_in_its_own_loop() -> None:
    async with embedded_node(topics={"orders": 2}) as node:
        assert await partitions_of(node.bootstrap_servers, "orders") == 2


def test_two_clusters_at_once_are_two_clusters() -> None:
    with EmbeddedCluster(topics={"left": 1}) as left, EmbeddedCluster() as right:
        assert left.cluster_id != right.cluster_id
        assert trio.run(partitions_of, left.bootstrap_servers, "left") == 1
        assert trio.run(partitions_of, right.bootstrap_servers, "left") == 0


@pytest.mark.parametrize("start_timeout_s", [0, 0.5], ids=["at once", "while topics are created"])
def test_a_start_that_takes_too_long_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start_timeout_s: float
) -> None:
    """``EmbeddedCluster``: "Neither leaves a thread, a port or a directory behind"."""

    async def never_created(host: str, port: int, topics: Mapping[str, int]) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("kraft.testing.embedded._create", never_created)
    monkeypatch.setattr("kraft.testing.embedded.START_TIMEOUT_S", start_timeout_s)
    open_before = set(os.listdir("/proc/self/fd"))
    threads_before = set(threading.enumerate())
    with pytest.raises(TimeoutError, match="was not ready within"), EmbeddedCluster({"orders": 3}):
        pass
    assert not list(tmp_path.iterdir())
    assert not [each for each in set(threading.enumerate()) - threads_before if each.name == "kraft cluster"]
    gc.collect()  # ``Node.run``: "A cancelled node closes nothing properly"
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= len(open_before))


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    open_before = set(os.listdir("/proc/self/fd"))
    threads_before = set(threading.enumerate())
    with EmbeddedCluster(topics={"orders": 3}):
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
    # Trio keeps idle worker threads for ten seconds; the cluster's own thread is gone.
    assert not [each for each in set(threading.enumerate()) - threads_before if each.name == "kraft cluster"]
    # A cluster that other tests share may have a checkpoint open, for as long as it takes to write it.
    eventually(lambda: len(os.listdir("/proc/self/fd")) <= len(open_before))


FORKED = """
import os, sys, tempfile
from pathlib import Path
from kraft.testing import EmbeddedCluster
cluster = EmbeddedCluster(topics={"orders": 1}).__enter__()
child = os.fork()
if child == 0:
    sys.exit()
assert os.waitpid(child, 0) == (child, 0)
print(*(name.name for name in Path(tempfile.gettempdir()).glob("kraft-*/orders-0")))
"""


def test_a_process_that_a_test_forks_removes_nothing(tmp_path: Path) -> None:
    """``TemporaryDirectory`` would: each process that has one removes it at its exit."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", FORKED], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "orders-0\n"
    assert not list(tmp_path.iterdir())


def test_a_failed_block_ends_the_node_too() -> None:
    with pytest.raises(ZeroDivisionError), EmbeddedCluster() as cluster:
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="with block"):
        _ = cluster.bootstrap_servers


async def test_a_cancelled_block_ends_the_node_too() -> None:
    with trio.move_on_after(60) as scope:
        async with embedded_node():
            scope.cancel()
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught


async def test_a_failed_block_raises_its_own_exception() -> None:
    """``embedded_node``: "the block's own exception is raised"."""
    cause = KeyError("why")
    with pytest.raises(ZeroDivisionError) as raised:
        async with embedded_node():
            raise ZeroDivisionError from cause
    assert raised.value.__cause__ is cause


async def test_a_topic_that_cannot_be_created_is_an_error_in_its_own_loop() -> None:
    """``embedded_node``: "raises ConfigError for an invalid setting, KafkaError if a topic cannot be created"."""
    with pytest.raises(KafkaError, match=r"no/slashes"):
        async with embedded_node(topics={"no/slashes": 1}):
            pass


@pytest.mark.parametrize("errors", [[ZeroDivisionError()], [ZeroDivisionError(), KeyError()]])
async def test_a_group_that_the_block_raises_stays_this_group(errors: list[Exception]) -> None:
    """``embedded_node``: "the block's own exception is raised". A nursery in the block may have made it."""
    with pytest.raises(ExceptionGroup) as raised:
        async with embedded_node():
            raise ExceptionGroup("of the block", errors)
    assert (raised.value.message, list(raised.value.exceptions)) == ("of the block", errors)


def test_a_bad_setting_is_raised_where_the_cluster_is_started() -> None:
    with pytest.raises(ConfigError, match=r"num\.partitions"), EmbeddedCluster(settings={"num.partitions": "many"}):
        pass


def test_a_setting_without_an_effect_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """``embedded_node``: "A setting that is unknown, or that changes nothing here, is a warning in the log". Otherwise
    nobody would see why a test fails that misspells a setting.
    """
    with EmbeddedCluster(settings={"auto.create.topic.enable": "false", "background.threads": "5"}):
        pass
    unknown, without_effect = (each.message for each in caplog.records if each.name == "kraft.testing")
    assert unknown.endswith("is not a setting that this node knows; did you mean auto.create.topics.enable?")
    assert without_effect.startswith("The configuration background.threads was supplied but changes nothing here")


def test_a_topic_that_cannot_be_created_is_an_error() -> None:
    with pytest.raises(KafkaError, match=r"no/slashes"), EmbeddedCluster(topics={"no/slashes": 1}):
        pass


@pytest.mark.kraft(topics={"orders": 5}, settings={"auto.create.topics.enable": "false"})
def test_the_fixture_starts_with_the_arguments_of_its_marker(kraft_cluster: EmbeddedCluster) -> None:
    assert trio.run(partitions_of, kraft_cluster.bootstrap_servers, "orders") == 5


@pytest.mark.kraft(topics={"orders": 4})
async def test_the_fixture_serves_trio_tests(kraft_cluster: EmbeddedCluster) -> None:
    assert await partitions_of(kraft_cluster.bootstrap_servers, "orders") == 4
