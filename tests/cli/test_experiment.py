"""``kraft experiment``: what it writes, and one line for what it lacks. No test here starts a node."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import cattrs
import click
import pytest
import trio
from click.testing import CliRunner, Result

from kraft.cli import experiment
from kraft.experiment.generations import GenerationsPlan
from kraft.experiment.processes import CannotStart
from kraft.story.experiments.generations import GenerationCell
from kraft.story.experiments.plots import KaleidoMissing
from kraft.story.report.section import Figure
from tests.story.experiments.results import measured
from tests.story.experiments.test_generations import RESULT


def run(*arguments: str) -> Result:
    return CliRunner().invoke(experiment.command, list(arguments))


@pytest.fixture(autouse=True)
def _pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chromium may be missing where the tests run."""
    monkeypatch.setattr(experiment, "check_pictures", lambda: None)


@pytest.fixture
def _plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for plotly and kaleido."""

    def write(figure: Figure, path: Path) -> None:
        path.write_bytes(figure["layout"]["title"]["text"].encode())

    monkeypatch.setattr("kraft.story.report.page._plotly", lambda: "/* plotly.js */")
    monkeypatch.setattr(experiment, "write_picture", write)


@pytest.mark.usefixtures("_plots")
def test_a_result_is_drawn_again(tmp_path: Path) -> None:
    """The page, the tables and the pictures come from the JSON file alone."""
    recorded = tmp_path / "recorded.json"
    recorded.write_text(json.dumps(cattrs.unstructure(measured())))
    into = tmp_path / "new"
    done = run("control-plane", "--into", str(into), "--from", str(recorded))
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in into.iterdir()) == [
        "control-plane-intervals-apache.png",
        "control-plane-intervals-kraft.png",
        "control-plane-times-apache.png",
        "control-plane-times-kraft.png",
        "control-plane.html",
        "control-plane.md",
    ]
    assert "- machine: 2 CPUs" in (into / "control-plane.md").read_text()


@pytest.mark.parametrize("content", ["", '{"cells"', "{}", "[]", "7", '{"machine": 7, "cells": [{}]}', "\xff"])
@pytest.mark.parametrize("name", ["control-plane", "generations"])
def test_a_file_that_is_no_result_is_one_line(tmp_path: Path, name: str, content: str) -> None:
    """ "It never prints a traceback" (docs/tools.md): the file may be cut, or of another version."""
    recorded = tmp_path / "recorded.json"
    recorded.write_text(content, encoding="latin-1")
    done = run(name, "--into", str(tmp_path / "new"), "--from", str(recorded))
    assert (done.exit_code, done.output) == (1, f"Error: {recorded}: not a result of this experiment\n")


@pytest.mark.usefixtures("_plots")
def test_a_result_on_both_generations_is_drawn_again(tmp_path: Path) -> None:
    recorded = tmp_path / "recorded.json"
    recorded.write_text(json.dumps(cattrs.unstructure(RESULT)))
    into = tmp_path / "new"
    done = run("generations", "--into", str(into), "--from", str(recorded))
    assert done.exit_code == 0, done.output
    assert {path.name for path in into.iterdir()} == {
        "generations-takeover.png",
        "generations.html",
        "generations.md",
    }


def test_each_cell_is_kept_when_it_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run takes many minutes. One that fails in the end has lost nothing."""

    async def fail(plan: GenerationsPlan, say: object, keep: Callable[[GenerationCell], None]) -> None:
        keep(RESULT.cells[0])
        keep(RESULT.cells[1])
        raise CannotStart("no more memory")

    monkeypatch.setattr("kraft.experiment.generations.run", fail)
    done = run("generations", "--apache", str(tmp_path), "--into", str(tmp_path / "new"))
    assert (done.exit_code, done.output) == (1, "Error: no more memory\n")
    kept = json.loads((tmp_path / "new" / "generations.json").read_text())
    assert kept["cells"] == cattrs.unstructure(RESULT)["cells"][:2]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_an_experiment_as_ctrl_c_does(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``_measure``: "its nodes are in sessions of their own, and end only when it stops them"."""
    stopped: list[str] = []

    async def measure(*_: object) -> None:
        try:
            signal.raise_signal(number)
            await trio.sleep(30)
        finally:
            stopped.append("its nodes")

    def escaped(*_: object) -> None:
        raise AssertionError("the signal would have killed the command")

    monkeypatch.setattr("kraft.experiment.generations.run", measure)
    before = signal.signal(number, escaped)
    try:
        done = run("generations", "--apache", str(tmp_path), "--into", str(tmp_path / "new"))
        assert signal.getsignal(number) is escaped
    finally:
        signal.signal(number, before)
    assert (done.exit_code, done.output.strip(), stopped) == (1, "Aborted!", ["its nodes"])


def test_without_the_means_to_draw_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the command would end with an error after many minutes."""

    def missing() -> None:
        raise KaleidoMissing("no kaleido")

    async def measured_after_all(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(experiment, "check_pictures", missing)
    monkeypatch.setattr("kraft.experiment.generations.run", measured_after_all)
    done = run("generations", "--apache", str(tmp_path), "--into", str(tmp_path / "new"))
    assert (done.exit_code, done.output) == (1, "Error: no kaleido\n")


def test_without_jars_nothing_is_measured(tmp_path: Path) -> None:
    done = run("generations", "--into", str(tmp_path))
    assert done.exit_code == 2
    assert "Missing option '--apache'" in done.output


@pytest.mark.parametrize("numbers", ["", "0", "ten", "5,-1", "1000001"])
def test_numbers_of_partitions_are_checked(tmp_path: Path, numbers: str) -> None:
    done = run("generations", "--apache", str(tmp_path), "--into", str(tmp_path), "--partitions", numbers)
    assert done.exit_code == 2
    assert "is not a list of numbers from 1 to 1,000,000" in done.output


def test_a_directory_without_jars_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "java").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run("control-plane", "--apache", str(tmp_path), "--into", str(tmp_path / "out"))
    assert done.exit_code == 1
    assert done.output.splitlines()[-1].startswith(f"Error: {tmp_path} has no jars")


def test_an_unknown_software_is_refused(tmp_path: Path) -> None:
    done = run("control-plane", "--apache", str(tmp_path), "--into", str(tmp_path), "--software", "kraft,redpanda")
    assert done.exit_code == 2
    assert "'redpanda' is none of kraft, apache" in done.output


@pytest.mark.parametrize(
    ("failure", "status", "output"),
    [
        (trio.TooSlowError(), 1, "Error: The cluster did not take a step of the experiment in time\n"),
        (BaseExceptionGroup("", [BaseExceptionGroup("", [KeyboardInterrupt()])]), 1, "Aborted!\n"),
    ],
)
def test_a_late_cluster_and_ctrl_c_are_one_line(failure: BaseException, status: int, output: str) -> None:
    """docs/tools.md: "Errors of the input, of the cluster or of the disk print no traceback"."""

    @click.command
    def command() -> None:
        with experiment._one_line():
            raise failure

    done = CliRunner().invoke(command)
    assert (done.exit_code, done.stderr) == (status, output)
