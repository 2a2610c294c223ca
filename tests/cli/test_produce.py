"""``kraft produce`` as a process: Ctrl-C, its input, and a leader that stops."""

from __future__ import annotations

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from click.testing import CliRunner

from kraft.cli.main import cli
from kraft.cli.produce import split_line
from tests.client.talk import TOPIC, lead_a_topic, servers_of
from tests.support.node_process import environment, running_node
from tests.support.trio_cluster import QUICK_LEASES, cluster_in

TIMEOUT_S = 240
# A process that makes the terminal that it is given as stdin its own, so that Ctrl-C there is a signal to it.
_ON_ITS_TERMINAL = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_node(tmp_path_factory.mktemp("node")) as node:
        yield node.bootstrap_servers


@pytest.fixture
def topic(bootstrap: str) -> str:
    name = f"t{uuid.uuid4().hex[:12]}"
    kraft("topics", "create", name, "-b", bootstrap, "--config", "max.message.bytes=400000")
    return name


def kraft(*arguments: str) -> None:
    result = CliRunner(catch_exceptions=False).invoke(cli, arguments)
    assert result.exit_code == 0, result.output


def command(name: str, topic: str, bootstrap: str, *arguments: str) -> list[str]:
    return ["-m", "kraft", name, topic, "--bootstrap-server", bootstrap, *arguments]


def wait_for_records(topic: str, bootstrap: str, count: int) -> None:
    kraft(*command("consume", topic, bootstrap)[2:], "--from-beginning", "--max-messages", str(count))


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    try:
        _, errors = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    return process.returncode, errors.decode()


def assert_interrupted(process: subprocess.Popen[bytes], topic: str, count: int) -> None:
    """The records are there, and yet the last acknowledgement may still have been on its way."""
    status, errors = finish(process)
    told = re.fullmatch(rf"Produced (\d+) records? to {topic}\.(?: (\d+) more may be stored: .+)?\n", errors)
    assert status == 130, errors
    assert told is not None, errors
    assert int(told[1]) + int(told[2] or 0) == count


def test_ctrl_c_at_a_terminal(topic: str, bootstrap: str) -> None:
    """A thread that waits in ``read`` cannot be given up: the interpreter may find stdin's lock held at its end, and
    abort ("Fatal Python error: _enter_buffered_busy").
    """
    ours, theirs = pty.openpty()
    arguments = [sys.executable, "-c", _ON_ITS_TERMINAL, *command("produce", topic, bootstrap)]
    process = subprocess.Popen(arguments, stdin=theirs, stderr=subprocess.PIPE, env=environment())
    os.close(theirs)
    try:
        os.write(ours, b"one\ntwo\n")
        wait_for_records(topic, bootstrap, 2)
        os.write(ours, b"\x03")
        assert_interrupted(process, topic, 2)
    finally:
        os.close(ours)


def test_a_signal_while_a_pipe_is_silent(topic: str, bootstrap: str) -> None:
    arguments = [sys.executable, *command("produce", topic, bootstrap)]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert process.stdin is not None
    process.stdin.write(b"one\n")
    process.stdin.flush()
    wait_for_records(topic, bootstrap, 1)
    process.send_signal(signal.SIGINT)
    with process.stdin:
        process.stdin = None  # the pipe stays open: ``communicate`` would close it
        assert_interrupted(process, topic, 1)


@pytest.mark.parametrize("content", [b"", b"one\n", b"one\ntwo", b"x" * 300_000 + b"\nlast"])
def test_a_regular_file(topic: str, bootstrap: str, content: bytes) -> None:
    """epoll refuses it (EPERM)."""
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        arguments = [sys.executable, *command("produce", topic, bootstrap)]
        process = subprocess.Popen(arguments, stdin=file, stderr=subprocess.PIPE, env=environment())
        count = len(content.splitlines())
        assert finish(process) == (0, f"Produced {count} record{'' if count == 1 else 's'} to {topic}.\n")


def test_a_closed_stdin_is_an_empty_one(topic: str, bootstrap: str) -> None:
    """``kraft produce t <&-``: Python has no ``sys.stdin`` then."""
    line = shlex.join([sys.executable, *command("produce", topic, bootstrap)]) + " <&-"
    process = subprocess.Popen(["sh", "-c", line], stderr=subprocess.PIPE, env=environment())
    assert finish(process) == (0, f"Produced 0 records to {topic}.\n")


def test_a_refused_batch_is_reported_with_the_stored_records(topic: str, bootstrap: str) -> None:
    arguments = [sys.executable, *command("produce", topic, bootstrap)]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert process.stdin is not None
    process.stdin.write(b"small\n" * 3)
    process.stdin.flush()
    wait_for_records(topic, bootstrap, 3)
    process.stdin.write(b"x" * 500_000 + b"\n")
    status, errors = finish(process)
    stored, error = errors.splitlines()
    assert (status, stored) == (1, f"Produced 3 records to {topic}.")
    assert error.startswith("Error: MESSAGE_TOO_LARGE: ")


def test_lines_that_fit_alone_are_stored(topic: str, bootstrap: str) -> None:
    """All lines of one read are a batch. ``max.message.bytes`` limits a batch, and Kafka's producer splits it then."""
    kraft("topics", "alter", topic, "-b", bootstrap, "--config", "max.message.bytes=1000")
    lines = "".join(f"{number:0100}\n" for number in range(100))
    result = CliRunner().invoke(cli, command("produce", topic, bootstrap)[2:], input=lines)
    assert (result.exit_code, result.stderr) == (0, f"Produced 100 records to {topic}.\n")
    consume = [*command("consume", topic, bootstrap)[2:], "--from-beginning", "--max-messages", "100"]
    assert CliRunner().invoke(cli, consume).output == lines


async def test_produce_and_consume_outlive_a_leader(tmp_path: Path) -> None:
    async with cluster_in(tmp_path, QUICK_LEASES) as brokers:
        leader, servers = await lead_a_topic(brokers), servers_of(brokers)
        with trio.fail_after(TIMEOUT_S):
            consume = await trio.lowlevel.open_process(
                [sys.executable, *command("consume", TOPIC, servers, "--from-beginning", "--max-messages", "2")],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(),
            )
            produce = await trio.lowlevel.open_process(
                [sys.executable, *command("produce", TOPIC, servers)],
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(),
            )
            assert produce.stdin is not None
            assert consume.stdout is not None
            async with produce.stdin, consume.stdout:
                await produce.stdin.send_all(b"before\n")
                assert await consume.stdout.receive_some() == b"before\n"
                await brokers.members[leader].stop()
                await produce.stdin.send_all(b"after\n")
                assert await consume.stdout.receive_some() == b"after\n"
            assert (await produce.wait(), await consume.wait()) == (0, 0)
            assert produce.stderr is not None
            errors = b"".join([chunk async for chunk in produce.stderr])
            assert errors.endswith(f"Produced 2 records to {TOPIC}.\n".encode())


@pytest.mark.parametrize(
    ("line", "separator", "expected"),
    [
        (b"a:b:c", b":", (b"a", b"b:c")),
        (b"abc", b":", None),
        (b"a:b", None, (None, b"a:b")),
        (b":b", b":", (b"", b"b")),
    ],
)
def test_a_line_is_split_at_the_first_separator(
    line: bytes, separator: bytes | None, expected: tuple[bytes | None, bytes] | None
) -> None:
    assert split_line(line, separator) == expected


def test_a_separator_of_any_bytes_divides_the_lines(bootstrap: str, topic: str) -> None:
    arguments = [sys.executable, *command("produce", topic, bootstrap), "--key-separator", os.fsdecode(b"\xa7")]
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    assert process.communicate(b"k\xa7v\n", TIMEOUT_S) == (None, f"Produced 1 record to {topic}.\n".encode())


def test_a_line_without_the_key_separator_ends_the_command(bootstrap: str, topic: str) -> None:
    """As in Kafka's console producer: the lines before it are stored."""
    result = CliRunner().invoke(
        cli, [*command("produce", topic, bootstrap)[2:], "--key-separator", ":"], input="a:1\nb:2\nc3\nd:4\n"
    )
    assert result.exit_code == 1
    assert "Line 3 has no key separator ':'" in result.output
    assert f"Produced 2 records to {topic}." in result.output
    wait_for_records(topic, bootstrap, 2)
