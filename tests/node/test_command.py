"""``python -m kraft.node``: its output, its exit status, and the files that it opens when it cannot start."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio

from kraft.config.features import DEFAULT_METADATA_LEVEL
from kraft.config.properties import from_mapping
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.partition_record import PartitionRecord
from kraft.messages.topic_record import TopicRecord
from kraft.metadata.frame import encode_record
from kraft.metadata.levels import record_version
from kraft.node.__main__ import main
from kraft.raft.events import LeaderChange
from kraft.raft.messages import SnapshotId
from kraft.rpc.client import connect
from kraft.storage.directory import LogDirectory
from kraft.storage.format import format_directories
from kraft.storage.snapshot import write_snapshot
from kraft.wire.codec import encode
from tests.support.cluster_id import CLUSTER_ID
from tests.support.eventually import eventually
from tests.support.metadata_logs import append_records, open_log
from tests.support.node_process import STOP_TIMEOUT_S, NodeProcess, environment, free_ports
from tests.support.nodes import node_in
from tests.support.talk import batch, create, fetch_request, produce

TOPIC = "orders"


def prepare(directory: Path, **settings: str) -> NodeProcess:
    """A formatted directory with its properties file, and nothing running."""
    node = NodeProcess(directory, {key.replace("_", "."): value for key, value in settings.items()})
    directory.mkdir(parents=True, exist_ok=True)
    values = node.properties()
    (directory / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    if not node.log_directory.exists():
        format_directories(from_mapping(values).config, CLUSTER_ID, DEFAULT_METADATA_LEVEL, ignore_formatted=False)
    return node


def refusal(node: NodeProcess, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Start in this process; it must fail with status 1 and one line, which is returned."""
    assert main([str(node.directory / "server.properties"), *arguments]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    (line,) = printed.err.splitlines()
    return line


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """It does not run yet. A test that fails leaves no process to the next one."""
    node = prepare(tmp_path)
    yield node
    node.kill()


# Faults of the configuration


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("num.partitions=many", ("num.partitions", "many")),
        ("num.network.threads=0", ("num.network.threads", "0", "1")),
        ("log.cleanup.policy=burn", ("log.cleanup.policy", "burn", "delete", "compact")),
        ("listeners=nonsense", ("listeners", "nonsense")),
        ("process.roles=king", ("process.roles", "king")),
        ("process.roles=broker", ("process.roles",)),
        ("node.id=x", ("node.id", "x")),
        ("no-equals-sign", ("no-equals-sign",)),
    ],
)
def test_a_bad_setting_is_one_line_before_anything_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], override: str, says: tuple[str, ...]
) -> None:
    node = NodeProcess(tmp_path)
    path = tmp_path / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in node.properties().items()))
    line = refusal(node, capsys, "--override", override)
    assert all(word in line for word in says), line
    assert list(tmp_path.iterdir()) == [path], "nothing was opened"


def test_an_unreadable_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "server.properties" in refusal(NodeProcess(tmp_path), capsys)


def test_an_unknown_key_is_a_warning_with_the_nearest_name(
    node: NodeProcess, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    (node.log_directory / "meta.properties").unlink()
    refusal(node, capsys, "--override", "num.partition=3")
    (warning,) = [each.getMessage() for each in caplog.records if "num.partition" in each.getMessage()]
    assert "num.partitions" in warning


def test_the_command_keeps_collections_of_garbage_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the opening of the directories to the end of the node."""
    seen: list[list[Any]] = []

    def see(*_: Any, **__: Any) -> int:
        seen.append(list(gc.callbacks))
        return 0

    before = list(gc.callbacks)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kraft.node.command.trio.run", see)
    assert main([]) == 0
    assert [each.__qualname__ for each in seen[0] if each not in before] == [
        "short_collections.<locals>.freeze_survivors"
    ]
    assert gc.callbacks == before


def test_the_command_maps_large_buffers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """world.allocator: or the event loop copies 31 MiB in one step. Its own test shows the effect."""
    calls: list[str] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("kraft.node.command.map_large_buffers", lambda: calls.append("map"))
    monkeypatch.setattr("kraft.node.command.trio.run", lambda *_, **__: calls.append("run") or 0)
    assert main([]) == 0
    assert calls == ["map", "run"]


# Faults of the directory


def test_an_unformatted_directory(node: NodeProcess, capsys: pytest.CaptureFixture[str]) -> None:
    (node.log_directory / "meta.properties").unlink()
    line = refusal(node, capsys)
    assert str(node.log_directory) in line
    assert "format" in line


def test_the_directory_of_another_node(node: NodeProcess, capsys: pytest.CaptureFixture[str]) -> None:
    meta = node.log_directory / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", "node.id=2"))
    assert "node 2" in refusal(node, capsys)


@pytest.mark.parametrize(
    "name",
    [
        "meta.properties",
        "bootstrap.checkpoint",
        "recovery-point-offset-checkpoint",
        "__cluster_metadata-0/quorum-state",
        "__cluster_metadata-0/00000000000000000000.log",
    ],
)
def test_a_pipe_in_the_place_of_a_file(node: NodeProcess, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Its reader would wait for a writer forever, and with it the event loop."""
    path = node.log_directory / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert refusal(node, capsys) == f"{path}: not a regular file"


def test_directories_of_two_clusters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = prepare(tmp_path / "a")
    other = prepare(tmp_path / "b")
    meta = other.log_directory / "meta.properties"
    meta.write_text(meta.read_text().replace("cluster.id=M", "cluster.id=N"))
    line = refusal(node, capsys, "--override", f"log.dirs={node.log_directory},{other.log_directory}")
    assert str(other.log_directory) in line


def test_a_directory_that_is_in_use(node: NodeProcess, capsys: pytest.CaptureFixture[str]) -> None:
    holder = LogDirectory.open(node.log_directory, node_id=1)
    try:
        line = refusal(node, capsys)
    finally:
        holder.close()
    assert str(node.log_directory) in line
    assert str(os.getpid()) in line


@pytest.mark.parametrize("listener", [0, 1], ids=["client", "controller"])
def test_a_port_that_is_in_use(node: NodeProcess, capsys: pytest.CaptureFixture[str], listener: int) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", node.ports[listener]))
        holder.listen()
        line = refusal(node, capsys)
    assert str(node.ports[listener]) in line
    assert "in use" in line
    if listener == 1:
        assert not list(node.log_directory.rglob("quorum-state")), "an epoch was spent"


def test_a_metrics_port_that_is_in_use(node: NodeProcess, capsys: pytest.CaptureFixture[str]) -> None:
    """Named by its setting, and before the node is a voter that others count on: no epoch is spent."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        where = f"kraft.metrics.listener=127.0.0.1:{holder.getsockname()[1]}"
        line = refusal(node, capsys, "--override", where)
    assert line == f"{where}: Address already in use; stop the process that listens there, or set another port"
    assert not list(node.log_directory.rglob("quorum-state"))


@pytest.mark.parametrize("content", ["", "version=1\n", "version=9\ncluster.id=x\nnode.id=1\n", "version=1\\u00zz"])
def test_damaged_meta_properties(node: NodeProcess, capsys: pytest.CaptureFixture[str], content: str) -> None:
    path = node.log_directory / "meta.properties"
    path.write_text(content)
    assert str(path) in refusal(node, capsys)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"data_version":7}', b"\xff\xfe\x00"])
def test_a_damaged_quorum_state(node: NodeProcess, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    """A voter without its vote could vote twice in one epoch, so the node must not guess it."""
    path = node.log_directory / "__cluster_metadata-0" / "quorum-state"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    assert str(path) in refusal(node, capsys)


def test_a_damaged_bootstrap_checkpoint(node: NodeProcess, capsys: pytest.CaptureFixture[str]) -> None:
    path = node.log_directory / "bootstrap.checkpoint"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    assert str(path) in refusal(node, capsys)


# Names that become paths

PWNED = (
    FeatureLevelRecord(name="metadata.version", feature_level=DEFAULT_METADATA_LEVEL),
    TopicRecord(name="../../pwned", topic_id=UUID(int=7)),
    PartitionRecord(partition_id=0, topic_id=UUID(int=7), replicas=[1], isr=[1], leader=1, directories=[UUID(int=100)]),
)


def write_log(node: NodeProcess, *records: object) -> Path:
    """A metadata log with these records, as a controller that checks no names would write it; its file."""
    log = open_log(node.log_directory)
    log.append_leader_change(LeaderChange(1, 1, (1,), (1,)), 1000)
    append_records(log, records, 1, 1000)
    log.close()
    return Path(log.directory) / "00000000000000000000.log"


def test_a_topic_whose_name_is_a_path_is_refused_at_replay(
    node: NodeProcess, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka's ``Topic.validate`` runs at creation only; a record may come from elsewhere."""
    path = write_log(node, *PWNED)
    line = refusal(node, capsys)
    assert line.startswith(f"{path}: damaged at offset 1: TopicRecord has a name that no topic may have: '../../pwned'")
    assert not list(node.directory.parent.rglob("pwned*"))


def test_such_a_name_in_a_snapshot_is_refused(node: NodeProcess, capsys: pytest.CaptureFixture[str]) -> None:
    directory = node.log_directory / "__cluster_metadata-0"
    directory.mkdir()
    values = [encode_record(record, record_version(record)) for record in PWNED]
    path = write_snapshot(directory, SnapshotId(9, 1), values, timestamp=1)
    line = refusal(node, capsys)
    assert line.startswith(f"{path}: at offset 2: TopicRecord has a name that no topic may have: '../../pwned'")
    assert not list(node.directory.parent.rglob("pwned*"))


# Files after a stop or a crash


async def _three_batches(directory: Path, *, kill: bool = True) -> Path:
    """A node that got three batches and was killed; its log file."""
    async with node_in(directory) as running:
        await create(running.broker, TOPIC)
        for value in (b"a", b"b", b"c"):
            assert (await produce(running.broker, TOPIC, batch(value * 10))).error_code == 0
        if kill:
            running.kill()
    return directory / f"{TOPIC}-0" / "00000000000000000000.log"


def test_a_damaged_batch_in_the_middle_names_file_and_offset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The node drops no acknowledged record silently: the records after the damage were acknowledged too."""
    path = trio.run(_three_batches, tmp_path / "data")
    data = bytearray(path.read_bytes())
    data[len(data) // 3 + 65] ^= 1
    path.write_bytes(data)
    node = prepare(tmp_path)
    line = refusal(node, capsys)
    assert str(path) in line
    assert "offset 1" in line
    assert path.read_bytes() == data, "and nothing was touched"


async def test_a_torn_tail_is_cut_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = await _three_batches(tmp_path)
    with path.open("ab") as file:
        file.write(batch(b"never acknowledged")[:-3])
    async with node_in(tmp_path) as running:
        assert (await produce(running.broker, TOPIC, batch(b"d"))).base_offset == 3
    (line,) = [each.getMessage() for each in caplog.records if str(path.parent) in each.getMessage()]
    assert str(len(batch(b"never acknowledged")) - 3) in line, "so many bytes"


@pytest.mark.parametrize(
    "name",
    [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        f"{TOPIC}-0/leader-epoch-checkpoint",
        f"{TOPIC}-0/00000000000000000000.index",
        f"{TOPIC}-0/00000000000000000000.timeindex",
        ".kafka_cleanshutdown",
        ".boot_id",
    ],
)
@pytest.mark.parametrize("content", [b"", b"\xf0\n2\nx 1 1" * 5], ids=["empty", "garbage"])
@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
async def test_rebuildable_files_may_be_damaged(tmp_path: Path, name: str, content: bytes, kill: bool) -> None:
    """As in Kafka: a damaged checkpoint or index costs a longer recovery, and no record."""
    await _three_batches(tmp_path, kill=kill)
    (tmp_path / name).write_bytes(content)
    async with node_in(tmp_path) as running:
        assert (await produce(running.broker, TOPIC, batch(b"d"))).base_offset == 3


# File permissions


def modes(directory: Path) -> tuple[set[str], set[str]]:
    """The modes of all files, and of all directories, in and below ``directory``."""
    found = [directory, *directory.rglob("*")]
    files, directories = (
        {f"{stat.S_IMODE(path.stat().st_mode):o}" for path in found if path.is_dir() is is_directory}
        for is_directory in (False, True)
    )
    return files, directories


def test_all_files_are_for_the_owner_until_the_group_is_let_in(tmp_path: Path) -> None:
    """Those of ``kraft storage format`` and of the node, whose umask shows new files to everyone."""
    node = NodeProcess(tmp_path).start()
    trio.run(_make_topic, node.ports[0], "private")
    assert node.stop() == 0
    assert modes(node.log_directory) == ({"600"}, {"700"})
    node.log_directory.chmod(0o750)
    node.start()
    trio.run(_make_topic, node.ports[0], "shared")
    assert node.stop() == 0
    assert modes(node.log_directory / "shared-0") == ({"640"}, {"750"})
    assert modes(node.log_directory / "private-0") == ({"600"}, {"700"})


async def _make_topic(port: int, name: str) -> None:
    async with connect("127.0.0.1", port) as broker:
        await create(broker, name)
        assert (await produce(broker, name, batch(b"record"))).error_code == 0


# A life


def test_ready_tree_and_sigterm(node: NodeProcess, capfd: pytest.CaptureFixture[str]) -> None:
    """One line ``ready …`` once clients may connect; the tree; SIGTERM is a controlled stop with exit status 0."""
    node.start()
    line = next(each for each in node.output if each.startswith("ready"))
    assert all(str(port) in line for port in node.ports)
    with socket.create_connection(("127.0.0.1", node.ports[0])):
        assert node.stop() == 0
    assert (node.log_directory / ".kafka_cleanshutdown").exists()


def test_the_log_says_which_node_it_is_of_and_that_it_has_stopped(node: NodeProcess) -> None:
    """Kafka's lines begin with "[BrokerServer id=1]", and ``BrokerServer.shutdown`` ends with "shut down completed"."""
    node.start()
    assert node.stop() == 0
    (first,) = lines_about(node, f"node 1 of cluster {CLUSTER_ID}")
    assert first.rstrip().endswith(": broker, controller")
    (last,) = lines_about(node, "node 1 has stopped")
    assert node.output[-1] == last


def lines_about(node: NodeProcess, words: str) -> list[str]:
    return [line for line in node.output if words in line]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_each_signal_that_stops_is_named(node: NodeProcess, name: str) -> None:
    """The JVM runs its shutdown hooks at SIGHUP, SIGINT and SIGTERM (java.lang.Terminator), and Kafka logs "Terminating
    process due to signal" (LoggingSignalHandler).
    """
    node.start()
    try:
        node.signal(signal.Signals[name])
        assert node.wait_ended() == 0
    finally:
        node.kill()
    (line,) = lines_about(node, name)
    assert "INFO" in line
    assert "controlled stop" in line
    assert (node.log_directory / ".kafka_cleanshutdown").exists()


@pytest.mark.parametrize("settings", ["broker.id=1", "broker.id.generation.enable=true"])
def test_a_signal_ends_the_wait_for_zookeeper(tmp_path: Path, settings: str) -> None:
    """ "The first signal begins a controlled stop with exit status 0", also while ZooKeeper does not answer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(STOP_TIMEOUT_S)
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        lines = [settings, f"zookeeper.connect={address}", "zookeeper.connection.timeout.ms=600000"]
        lines += [f"log.dirs={tmp_path / 'data'}", "listeners=PLAINTEXT://127.0.0.1:0"]
        properties = tmp_path / "server.properties"
        properties.write_text("\n".join(lines))
        command = [sys.executable, "-m", "kraft.node", str(properties)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as node:
            try:
                silent.accept()[0].close()
                node.send_signal(signal.SIGINT)
                _, errors = node.communicate(timeout=STOP_TIMEOUT_S)
            finally:
                node.kill()
    assert node.returncode == 0, errors
    assert "controlled stop" in errors
    assert "Traceback" not in errors


def test_a_second_hangup_does_not_end_the_node_at_once(node: NodeProcess) -> None:
    """A terminal that goes away sends SIGHUP, and then the shell sends it again to its jobs."""
    node.start()
    trio.run(_fill_topic, node.ports[0])
    with held_up(node):
        node.signal(signal.SIGHUP)
        eventually(lambda: _refuses(node.ports[0]))
        node.signal(signal.SIGHUP)
        eventually(lambda: len(lines_about(node, "SIGHUP")) == 2)
    assert node.wait_ended() == 0


def test_nohup_keeps_a_node_alive(node: NodeProcess) -> None:
    """As the JVM does, which installs no handler for a signal that it found ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        node.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    node.signal(signal.SIGHUP)
    assert node.stop() == 0
    assert lines_about(node, "SIGTERM")
    assert not lines_about(node, "SIGHUP")


def test_the_tree_shows_the_lifetimes(node: NodeProcess) -> None:
    command = [sys.executable, "-m", "kraft.node", str(node.directory / "server.properties"), "--tree"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        with process.stdout as output:
            while not output.readline().startswith("ready"):
                pass
            # The tree is printed in the same breath, before the node looks at anything else.
            process.send_signal(signal.SIGTERM)
            text = output.read()
        assert process.wait(STOP_TIMEOUT_S) == 0
    finally:
        process.kill()
        process.wait()
    names = (
        "node",
        "quorum",
        "controller plane",
        "controller",
        "data plane",
        "acceptor PLAINTEXT",
        "processor 0 CONTROLLER",
        "longest step of a task: ",
    )
    assert [name for name in names if name not in text] == []


async def _fill_topic(port: int) -> None:
    """More than the sockets of one connection can hold."""
    async with connect("127.0.0.1", port) as broker:
        await create(broker, TOPIC)
        for _ in range(16):
            assert (await produce(broker, TOPIC, batch(bytes(1_000_000)))).error_code == 0


@contextlib.contextmanager
def held_up(node: NodeProcess) -> Iterator[None]:
    """A client that does not take its answer, which is larger than its sockets: a controlled stop waits for it."""
    with socket.create_connection(("127.0.0.1", node.ports[0])) as client:
        body = encode(fetch_request(TOPIC, max_bytes=1 << 26, partition_max_bytes=1 << 26), 11)
        client.sendall(struct.pack(">ihhih", len(body) + 10, 1, 11, 1, -1) + body)
        assert client.recv(1), "the answer has begun"
        yield


def test_a_second_signal_ends_the_node_at_once(node: NodeProcess) -> None:
    """A client that does not take its answer holds the controlled stop up; the operator need not wait for it."""
    node.start()
    assert node.process is not None
    trio.run(_fill_topic, node.ports[0])
    with held_up(node):
        node.process.send_signal(signal.SIGTERM)
        eventually(lambda: _refuses(node.ports[0]))
        node.process.send_signal(signal.SIGINT)
        assert node.process.wait(STOP_TIMEOUT_S) == 130
    node.start()
    assert node.stop() == 0


def _refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:  # refused; or reset, where the listener closed during the handshake
        return True
    return False


async def test_after_kill_9_the_node_is_ready_again_with_all_it_acknowledged(node: NodeProcess) -> None:
    node.start()
    async with connect("127.0.0.1", node.ports[0]) as broker:
        await create(broker, TOPIC)
        for n in range(20):
            assert (await produce(broker, TOPIC, batch(b"%d" % n))).error_code == 0
        node.kill()
    node.start()
    async with connect("127.0.0.1", node.ports[0]) as broker:
        assert (await produce(broker, TOPIC, batch(b"next"))).base_offset == 20


def test_the_default_node_formats_its_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no FILE, and only then. The ports of the default may be taken here, which is one line as well."""
    monkeypatch.chdir(tmp_path)
    client, controller = free_ports(2)
    settings = [
        "--override",
        f"listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
        "--override",
        f"controller.quorum.voters=1@127.0.0.1:{controller}",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "kraft.node", *settings], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        with process.stdout as output:
            assert output.readline().startswith("ready")
            assert (tmp_path / "kraft-data" / "meta.properties").exists()
            process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_TIMEOUT_S) == 0
    finally:
        process.kill()
        process.wait()


def test_the_default_node_formats_no_directory_that_has_anything(tmp_path: Path) -> None:
    """A directory without ``meta.properties`` may have lost it. A new cluster id would make its records another's."""
    (tmp_path / "kraft-data" / "orders-0").mkdir(parents=True)
    ran = subprocess.run(
        [sys.executable, "-m", "kraft.node"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert "kraft-data: not formatted; run `kraft storage format` for it" in ran.stderr
    assert [path.name for path in (tmp_path / "kraft-data").iterdir()] == ["orders-0"]
