"""End to end: a broker and the active controller of a real cluster are killed, and the page in a browser shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kraft.cli.main import cli
from tests.support.browser import open_page
from tests.support.eventful_minute import Minute, eventful_minute

TIMEOUT_S = 300


@pytest.fixture(scope="module")
def minute(tmp_path_factory: pytest.TempPathFactory) -> Minute:
    return eventful_minute(tmp_path_factory.mktemp("cluster"))


@pytest.mark.timeout(TIMEOUT_S)
def test_journals_alone_show_the_kill_of_the_controller(minute: Minute, tmp_path: Path) -> None:
    """``kraft quorum explain --html`` needs no Spark: the journals have the leaders, the candidates and the reasons."""
    path = tmp_path / "quorum.html"
    directories = [str(each) for each in minute.log_directories]
    result = CliRunner(catch_exceptions=False).invoke(cli, ["quorum", "explain", *directories, "--html", str(path)])
    assert result.exit_code == 0, result.output
    page = open_page(path)
    assert page.console == []
    assert page.drawn("quorum", f"node {minute.controller} led epoch")
    assert page.drawn("quorum", f"node {minute.successor} led epoch {minute.successor_epoch}; ")
    assert page.drawn("quorum", f"node {minute.successor} stands for election in epoch {minute.successor_epoch}")
    assert page.drawn("quorum", f"node {minute.successor} became active controller (epoch {minute.successor_epoch})")
    for killed in (minute.broker, minute.controller):
        assert page.drawn("quorum", f"node {killed} started again after a kill or crash")
    assert page.drawn("failovers", f"failover {minute.controller} → {minute.successor}, epoch {minute.successor_epoch}")
