"""Processes of an experiment: ready, not ready, stopped, and an Apache Kafka that is not there."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import trio

from kraft.experiment.processes import LOG4J, CannotStart, NodeProcess, java
from kraft.story.experiments.control_plane import CONTROLLER_REQUESTS
from tests.support.eventually import until

READY = re.compile(rb"^ready", re.MULTILINE)
WAIT = "import time; print('ready', flush=True); time.sleep(600)"


def program(directory: Path, code: str) -> NodeProcess:
    return NodeProcess("the node", directory, [sys.executable, "-c", code], READY)


async def test_a_process_is_stopped_at_the_end_of_the_block(tmp_path: Path) -> None:
    process = program(tmp_path / "node", WAIT)
    async with process.running():
        assert process.output.read_bytes() == b"ready\n"
        assert process.is_running
    assert not process.is_running


async def test_a_process_that_ends_before_it_is_ready_says_why(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"the node did not become ready:\n.*no such setting"):
        async with program(tmp_path, "raise SystemExit('no such setting')").running():
            pytest.fail("it never was ready")


async def test_a_process_does_not_outlive_a_cancelled_start(tmp_path: Path) -> None:
    """Ctrl-C, or a node beside it that cannot start: in its own session no signal of the terminal would end it."""
    process = program(tmp_path, "import time; print('loading', flush=True); time.sleep(600)")
    async with trio.open_nursery() as nursery:

        async def start() -> None:
            async with process.running():
                pytest.fail("it never was ready")

        nursery.start_soon(start)
        await until(lambda: process.output.exists() and b"loading" in process.output.read_bytes(), 60)
        nursery.cancel_scope.cancel()
    assert not process.is_running


async def test_the_output_of_an_earlier_start_does_not_count(tmp_path: Path) -> None:
    process = program(tmp_path, "print('ready', flush=True)")
    process.output.write_bytes(b"ready\n")
    process.command = [sys.executable, "-c", "pass"]
    with pytest.raises(CannotStart):
        await process.start()


def test_a_directory_without_jars_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "java").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotStart, match="has no jars"):
        java(tmp_path, "kafka.Kafka")
    (tmp_path / "java").unlink()
    with pytest.raises(CannotStart, match="no `java` is on PATH"):
        java(tmp_path, "kafka.Kafka")


def test_apaches_request_logger_writes_each_of_the_controllers_requests() -> None:
    """The filters of log4j choose by the name that Kafka gives an API in its request log."""
    assert all(f'"{re.sub("(?<=[a-z])(?=[A-Z])", "_", api).upper()}"' in LOG4J for api in CONTROLLER_REQUESTS)
