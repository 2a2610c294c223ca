"""End to end: a broker and the active controller of a real cluster are killed, and the page in a browser shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from kraft.cli.main import cli
from tests.support.browser import Element, Opened, open_page
from tests.support.eventful_minute import LONELY_TOPIC, TOPIC, Minute, eventful_minute
from tests.support.node_process import environment

TIMEOUT_S = 580
#: The session of a killed broker times out after two seconds, on a machine that may be busy.
NOTICED_MS = 30_000


@pytest.fixture(scope="module")
def minute(tmp_path_factory: pytest.TempPathFactory) -> Minute:
    directory = tmp_path_factory.mktemp("cluster")
    return eventful_minute(directory, kraft_request_log="file", kraft_request_log_sample="1.0")


def kraft(*arguments: object) -> None:
    """Run the command as a user does, in a process of its own: the session of these tests must go on."""
    command = [sys.executable, "-m", "kraft", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment(), check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def begins_ms(drawn: Element) -> int:
    """Return the time that the label of a bar names first."""
    found = re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", drawn.label)
    assert found is not None, drawn.label
    return round(datetime.fromisoformat(found[0]).replace(tzinfo=UTC).timestamp() * 1000)


def shows_the_failover(page: Opened, minute: Minute) -> None:
    """Raise AssertionError unless the page has the old and the new controller, and both kills."""
    assert page.console == []
    assert page.body.attributes["data-failed"] == "0"
    assert page.drawn("quorum", f"node {minute.controller} led epoch")
    assert page.drawn("quorum", f"node {minute.successor} led epoch {minute.successor_epoch}; ")
    assert page.drawn("quorum", f"node {minute.successor} stands for election in epoch {minute.successor_epoch}")
    assert page.drawn("quorum", f"node {minute.successor} became active controller (epoch {minute.successor_epoch})")
    assert page.drawn("failovers", f"failover {minute.controller} → {minute.successor}, epoch {minute.successor_epoch}")


@pytest.mark.timeout(TIMEOUT_S)
def test_journals_alone_show_the_kill_of_the_controller(minute: Minute, tmp_path: Path) -> None:
    """``kraft quorum explain --html`` needs no Spark: the journals have the leaders, the candidates and the reasons."""
    path = tmp_path / "quorum.html"
    directories = [str(each) for each in minute.log_directories]
    result = CliRunner(catch_exceptions=False).invoke(cli, ["quorum", "explain", *directories, "--html", str(path)])
    assert result.exit_code == 0, result.output
    page = open_page(path)
    shows_the_failover(page, minute)
    for killed in (minute.broker, minute.controller):
        assert page.drawn("quorum", f"node {killed} started again after a kill or crash")


@pytest.mark.timeout(TIMEOUT_S)
def test_the_pipeline_shows_both_kills(minute: Minute, tmp_path: Path) -> None:
    """From log directories to tables to the page: metadata, journals and request logs of three nodes."""
    tables, path = tmp_path / "tables", tmp_path / "report.html"
    kraft("pipeline", "backfill", *minute.log_directories, "--into", tables, "--master", "local[2]")
    kraft("pipeline", "report", "--into", tables, "--output", path, "--master", "local[2]")
    page = open_page(path)
    shows_the_failover(page, minute)
    for broker, killed_ms in (
        (minute.broker, minute.broker_killed_ms),
        (minute.controller, minute.controller_killed_ms),
    ):
        fenced = page.drawn("brokers", f"broker {broker} was fenced; from ")
        assert any(0 <= begins_ms(bar) - killed_ms <= NOTICED_MS for bar in fenced), [bar.label for bar in fenced]
    nobody = page.drawn("partitions", f"nobody led {LONELY_TOPIC}-0")  # once more when all nodes stop
    assert any(0 <= begins_ms(bar) - minute.broker_killed_ms <= NOTICED_MS for bar in nobody)
    assert page.drawn("partitions", f"node {minute.broker} led {LONELY_TOPIC}-0")
    assert page.drawn("partitions", f"led {TOPIC}-0")
    assert page.drawn("unavailability", f"{LONELY_TOPIC}-0: nobody led for ")
    assert page.drawn("latency", "data: p99 ")
    assert page.drawn("latency", "controller: p99 ")
    assert page.drawn("changes", f"topic {TOPIC}")
