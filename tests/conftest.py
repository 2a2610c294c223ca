"""Options and hooks of the whole suite: a foreign cluster to test instead of a node of ours, the report card, and the
seconds of each tier."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from coverage import Coverage

from tests.clients.features import FEATURES, NOT_OFFERED
from tests.messages.strategies import compile_codecs
from tests.support.hangs import take_hangs
from tests.support.report_card import FAIL, PASS, ReportCard, render
from tests.support.tiers import Durations

GC_THRESHOLDS = 5_000, 10, 10
"""Python's own are 700, 10, 10. Most objects of a test are gone before 5,000 others exist, and need no look."""

HANG = "a tool hung"
_hangs: list[str] = []
CARD = pytest.StashKey[ReportCard]()
_start_s = time.monotonic()
_durations = Durations()

# The suite has the same examples on every run, so that a red run is about the tested change. A search has new ones:
# pytest --hypothesis-profile=search
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kraft's own tests")
    group.addoption(
        "--bootstrap-servers",
        metavar="HOST:PORT",
        help="run tests/clients or tests/spark/test_connector.py against this one broker (Apache Kafka, say)",
    )
    group.addoption(
        "--report-card",
        metavar="PATH",
        type=Path,
        help="write which client can do what as Markdown, merged over the JSON beside it",
    )
    group.addoption(
        "--rewrite-transcripts",
        action="store_true",
        help="write what the cores do into tests/transcripts, to be read before it is committed",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "feature(client, feature): the test fills this cell of the report card")
    config.stash[CARD] = ReportCard()
    _heed_signals()


def _heed_signals() -> None:
    """Undo what nohup, or a shell that runs the tests in the background, made every process of a test ignore."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one process more than cores for ``-n auto``: the tests of processes mostly wait for nodes."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """End the first of the two measurements that pytest-cov begins in each process of pytest-xdist. The mark
    ``no_cover`` pauses the second one only, and would save no time.
    """
    first = Coverage.current()
    if first is not None and hasattr(session.config, "workerinput"):
        first.stop()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import the tests without the garbage collector, and let it skip what they imported, as a node does.

    Those 700,000 objects live as long as the process, and each full collection would look at all of them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(*GC_THRESHOLDS)
        gc.collect()  # Python compares the new objects with those that the last full collection left


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("no_cover"):
            item.fixturenames.append("compiled_codecs")
        for mark in item.iter_markers("feature"):
            if mark.args[1] not in FEATURES:
                raise pytest.UsageError(f"{item.nodeid}: {mark.args[1]!r} is no row of tests/clients/features.py")


@pytest.fixture(scope="session", autouse=True)
def quick_disk() -> Iterator[None]:
    """Flushes in this process cost nothing: no power cut follows them. A busy disk takes 20 ms or more for each, some
    tests flush thousands of times, and the limit of a test is ten minutes. Nodes in other processes flush.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, lambda fd: None)
        yield


@pytest.fixture(scope="session")
def compiled_codecs() -> None:
    """All encoders and decoders, for tests with the mark ``no_cover``. Such a test would compile them unwatched, and
    the watched tests behind it would find them in memory.
    """
    compile_codecs()


@pytest.fixture(scope="module", autouse=True)
def no_cluster_outlives_its_module() -> Iterator[None]:
    """A cluster in this process logs into the ``caplog`` of other tests, and calls the functions that they patch."""
    yield
    assert "kraft cluster" not in {each.name for each in threading.enumerate()}, "start the cluster for one module"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record the test's result in the card. The test passes the client's version by ``record_property``."""
    item.user_properties += [(HANG, hang) for hang in take_hangs()]  # they get to the summary from any process
    report = yield
    card = item.config.stash[CARD]
    outcome = _outcome(report)
    if outcome is not None:
        for mark in item.iter_markers("feature"):
            card.record(*mark.args, outcome)
            for name, value in item.user_properties:
                if name == "client_version":
                    card.versions[mark.args[0]] = str(value)
    # The keywords of a report have the names of its directories, too, and one is called "zookeeper".
    report.__dict__["marks"] = sorted({mark.name for mark in item.iter_markers()})
    return report


def _outcome(report: pytest.TestReport) -> str | None:
    if report.failed:
        return FAIL
    if report.passed:
        return PASS if report.when == "call" else None
    reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
    return reason.removeprefix(NOT_OFFERED) if reason.startswith(NOT_OFFERED) else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    path: Path | None = session.config.getoption("--report-card")
    if path is None:
        return
    memory = path.with_suffix(".json")
    card = session.config.stash[CARD].merged_over(ReportCard.read(memory))
    card.write(memory)
    path.write_text(render(card, FEATURES))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _durations.add(report.nodeid, report.duration, getattr(report, "marks", ()))
    if report.when == "teardown":  # the last report of a test has the properties of all its phases
        _hangs.extend(f"{report.nodeid}: {text}" for name, text in report.user_properties if name == HANG)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = list(_durations.lines(time.monotonic() - _start_s))
    if lines:
        terminalreporter.section("seconds of each tier, and its slowest tests")
        terminalreporter.write("\n".join([*lines, ""]))
    if _hangs:
        terminalreporter.section(f"{len(_hangs)} calls of other programs and clients did not end")
        terminalreporter.write("\n".join([*_hangs, ""]))
