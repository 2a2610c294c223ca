"""End to end: a broker and the active controller of a real cluster are killed, and the page in a browser shows it."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kraft.cli.main import cli
from tests.support import pipeline_walk
from tests.support.browser import Element, Opened, open_page
from tests.support.eventful_minute import LONELY_TOPIC, TOPIC, Minute, eventful_minute
from tests.support.node_process import environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(1800)  # two commands, each with a JVM of its own

TIMEOUT_S = 850
#: The session of a killed broker times out after two seconds, on a machine that may be busy.
NOTICED_MS = 30_000


@pytest.fixture(scope="module")
def minute(tmp_path_factory: pytest.TempPathFactory) -> Minute:
    directory = tmp_path_factory.mktemp("cluster")
    return eventful_minute(directory, kraft_request_log="file", kraft_request_log_sample="1.0")


@pytest.fixture(scope="module")
def tables(minute: Minute, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pipeline") / "tables"
    kraft("pipeline", "backfill", *minute.log_directories, "--into", directory, "--master", "local[2]")
    return directory


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


def test_the_pipeline_shows_both_kills(minute: Minute, tables: Path, tmp_path: Path) -> None:
    """From log directories to tables to the page: metadata, journals and request logs of three nodes."""
    path = tmp_path / "report.html"
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


def test_the_walk_of_the_page_has_answers(spark: SparkSession, minute: Minute, tables: Path) -> None:
    """docs/pipeline.md: its code prints rows, in the columns that the page shows, and those of this minute."""
    before = {view.name for view in spark.catalog.listTables()}
    try:
        printed = list(pipeline_walk.outputs(tables))
    finally:
        for name in {view.name for view in spark.catalog.listTables()} - before:
            spark.catalog.dropTempView(name)
    shown = [cell.output for cell in pipeline_walk.cells()]
    assert [rows_of(text)[:1] for text in printed] == [rows_of(text or "")[:1] for text in shown]
    assert all(len(rows_of(text)) > 1 for text in printed if text)
    (failovers, votes, outages, *_) = [rows_of(text) for text in printed if text]
    who = [str(each) for each in (minute.successor_epoch, minute.controller, minute.successor)]
    assert who in [row[:3] for row in failovers]
    assert [who[0], "false", who[2]] in [row[:3] for row in votes if row[4] == "true"]
    assert [LONELY_TOPIC, "0", str(minute.broker), "fenced"] in [row[:4] for row in outages]


def rows_of(table: str) -> list[list[str]]:
    """Return the rows of a table that ``DataFrame.show`` printed, first its columns."""
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines() if line.startswith("|")]
