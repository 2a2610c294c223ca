"""The commands of README.md work and print the lines of README.md. Only the ports differ, because tests run in
parallel.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.support.node_process import NodeProcess, environment, free_ports, running_node

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)


def block(language: str, words: str) -> str:
    """The one code block in which these words are."""
    (found,) = (text for kind, text in BLOCKS if kind == language and words in text)
    return str(found)


def shell(line: str, directory: Path) -> str:
    """Return a terminal's output for a line. ``python3`` is the interpreter of this test, ``kraft`` is from this
    checkout.
    """
    names = f'python3() {{ {sys.executable} "$@"; }}; kraft() {{ python3 -m kraft "$@"; }}; '
    ran = subprocess.run(
        ["bash", "-c", names + line],
        cwd=directory,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, f"{line}\n{ran.stdout}"
    return ran.stdout


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    with running_node(tmp_path / "node") as node:
        (tmp_path / "kraft-data").symlink_to(node.log_directory)
        yield node


def test_a_first_minute(node: NodeProcess, tmp_path: Path) -> None:
    for step in block("console", "kraft topics create").removeprefix("$ ").split("\n$ "):
        command, *printed = step.splitlines()
        assert shell(f"{command} --bootstrap-server {node.bootstrap_servers}", tmp_path).splitlines() == printed
    program = block("python", "confluent_kafka").replace("127.0.0.1:9092", node.bootstrap_servers)
    (tmp_path / "program.py").write_text(program)
    printed = shell("python3 program.py", tmp_path).splitlines()
    assert sorted(printed) == ["b'hello from librdkafka'", "b'hello, kafka'"]


def test_the_leader_and_the_reason(node: NodeProcess, tmp_path: Path) -> None:
    describe, explain = block("sh", "kraft quorum").splitlines()
    described = shell(describe.replace("quorum", f"quorum --bootstrap-server {node.bootstrap_servers}"), tmp_path)
    assert "LeaderId:               1\n" in described
    assert "* node 1 leads epoch 1" in shell(explain, tmp_path)


def take_a_transaction(arguments: list[str], servers: str, overrides: tuple[str, ...], directory: Path) -> None:
    """Start a node, write a transaction, and stop the node. One broker must hold the internal topics alone."""
    command = [sys.executable, *arguments, *(word for each in overrides for word in ("--override", each))]
    with subprocess.Popen(command, cwd=directory, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().startswith(b"ready")
            producer = Producer({"bootstrap.servers": servers, "transactional.id": "t", "broker.address.family": "v4"})
            producer.init_transactions(30.0)
            producer.begin_transaction()
            producer.produce("orders", b"paid")
            producer.commit_transaction(30.0)
        finally:
            process.terminate()
        assert process.wait(timeout=30) == 0


def test_a_node_without_a_configuration(tmp_path: Path) -> None:
    client, controller = free_ports(2)
    overrides = (
        f"listeners=PLAINTEXT://127.0.0.1:{client},CONTROLLER://127.0.0.1:{controller}",
        f"controller.quorum.voters=1@127.0.0.1:{controller}",
    )
    take_a_transaction(["-m", "kraft.node"], f"127.0.0.1:{client}", overrides, tmp_path)


def test_a_real_configuration(tmp_path: Path) -> None:
    """Beside the directory of a first minute, which it must leave alone."""
    (tmp_path / "kraft-data").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    storage, start = block("sh", "kraft storage").splitlines()
    assert "Formatting" in shell(storage, tmp_path)
    client, controller = free_ports(2)
    overrides = (
        f"listeners=PLAINTEXT://localhost:{client},CONTROLLER://localhost:{controller}",
        f"advertised.listeners=PLAINTEXT://localhost:{client}",
        f"controller.quorum.voters=1@localhost:{controller}",
    )
    take_a_transaction(start.split()[1:], f"localhost:{client}", overrides, tmp_path)
    assert not list((tmp_path / "kraft-data").iterdir())


def test_a_test_of_yours(tmp_path: Path) -> None:
    (tmp_path / "test_orders.py").write_text(block("python", "kraft_cluster"))
    assert "1 passed" in shell("python3 -m pytest -q", tmp_path)


def test_the_election_is_that_of_the_example() -> None:
    command, *lines = block("console", "examples/06").splitlines()
    printed = (ROOT / command.split()[-1]).with_suffix(".out").read_text().splitlines()
    assert [line for line in lines if line != " …" and line not in printed] == []
