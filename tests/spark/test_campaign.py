"""Campaigns on Spark: the same results as without it, and no result that two tasks do not agree on."""

from __future__ import annotations

import json
import platform
import re
import signal
import subprocess
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from click.testing import CliRunner

from kraft.cli.main import cli
from kraft.simulation.campaign import SeedResult, Tally, run_seed
from kraft.simulation.plan import draw_knobs
from kraft.spark import campaign, campaign_rows
from kraft.spark.pipeline.report import cluster_report
from kraft.spark.pipeline.store import ParquetStore, locked
from kraft.spark.pipeline.tables import TABLES
from kraft.story.report.page import render
from tests.simulation.hunt import recorded
from tests.simulation.mutants import MUTANTS
from tests.support.browser import open_page
from tests.support.node_process import environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = range(100, 160)
MUTANT = "votes for a shorter log"


def with_a_planted_bug(seed: int) -> SeedResult:
    """Run on an executor: the core votes for a candidate with a shorter log."""
    with MUTANTS[MUTANT].planted():
        return run_seed(seed)


def of_this_task(seed: int) -> SeedResult:
    """A result that depends on the task that finds it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return attrs.evolve(run_seed(seed), trace_hash=f"{context.taskAttemptId():032x}")


def without_a_world(seed: int) -> SeedResult:
    raise LookupError(f"seed {seed} has no world")


def verdicts(store: ParquetStore) -> list[Any]:
    return store.read(campaign_rows.VERDICTS).orderBy("commit", "seed").collect()


def test_the_results_are_those_of_plain_processes(spark: SparkSession, tmp_path: Path) -> None:
    """ "every verdict a pure function of commit and seed": in order, each once, and in the table too."""
    store = ParquetStore(spark, str(tmp_path))
    plain = list(map(run_seed, SEEDS))
    assert list(campaign.Campaign(spark, SEEDS, "c0ffee", store).results()) == plain
    rows = verdicts(store)
    assert [campaign_rows.seed_result(row) for row in rows] == plain
    assert {(row.campaign, row.verdict) for row in rows} == {(f"c0ffee/{platform.python_version()}", "passed")}
    assert [(row.profile, row.voters, row.observers) for row in rows] == [
        (knobs.profile.value, knobs.voters, knobs.observers) for knobs in map(draw_knobs, SEEDS)
    ]
    assert [row.seed for row in rows if row.agreed] == [SEEDS.start]
    assert all(row.cpu_seconds > 0 for row in rows)


def test_the_table_has_each_seed_of_one_code_once(spark: SparkSession, tmp_path: Path) -> None:
    """Commit, Python and seed determine a verdict, so a repetition adds nothing. Another commit is other code."""
    store = ParquetStore(spark, str(tmp_path))
    for seeds, commit in ((range(4), "c0ffee"), (range(2, 6), "c0ffee"), (range(5, 6), "facade")):
        assert [result.seed for result in campaign.Campaign(spark, seeds, commit, store).results()] == list(seeds)
    assert [(row.commit, row.seed) for row in verdicts(store)] == [
        *(("c0ffee", seed) for seed in range(6)),
        ("facade", 5),
    ]
    assert len(store.batches(campaign_rows.VERDICTS)) == 3


def test_a_verdict_that_contradicts_the_table_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """A trace is a function of commit and seed, so one of the two codes is not that of the commit."""
    store = ParquetStore(spark, str(tmp_path))
    seed = recorded()[MUTANT].seed
    seeds = range(seed, seed + 1)
    list(campaign.Campaign(spark, seeds, "c0ffee", store).results())
    with pytest.raises(
        campaign.CampaignError, match=rf"^seed {seed} has the trace \w{{32}}, and \w{{32}} in the tables: "
    ):
        list(campaign.Campaign(spark, seeds, "c0ffee", store, with_a_planted_bug).results())
    assert [campaign_rows.seed_result(row) for row in verdicts(store)] == [run_seed(seed)]


def test_a_planted_bug_is_in_the_tables_and_on_the_page(spark: SparkSession, tmp_path: Path) -> None:
    """ "results land in the same tables and report": with the reason and the command that repeats each failure."""
    store, page_path = ParquetStore(spark, str(tmp_path)), tmp_path / "report.html"
    first = recorded()[MUTANT].seed
    seeds = range(first, first + 8)
    planted = campaign.Campaign(spark, seeds, "badc0de", store, with_a_planted_bug)
    with MUTANTS[MUTANT].planted():
        plain = list(map(run_seed, seeds))
    assert list(planted.results()) == plain
    failed = [result for result in plain if result.invariant is not None]
    assert failed[0].seed == first
    planted.answer()
    (row,) = store.read(TABLES["campaigns"]).collect()
    assert (row.commit, row.seeds, row.first_seed, row.last_seed) == ("badc0de", 8, first, first + 7)
    assert (row.failed, row.run_again, row.disagreed) == (len(failed), 1, 0)
    assert row.invariants == Counter(result.invariant for result in failed)
    assert (row.events, row.committed) == (sum(r.events for r in plain), sum(r.committed for r in plain))
    page_path.write_text(render(cluster_report(store, str(tmp_path))), encoding="utf-8")
    page = open_page(page_path)
    assert page.console == []
    assert page.body.attributes["data-failed"] == "0"
    assert page.drawn("campaigns", f"badc0de with Python {platform.python_version()}: {len(failed)} of 8 seeds failed")
    drawn = page.drawn("campaigns", "failed: ")
    assert sum(int(bar.label.split()[1]) for bar in drawn) == len(failed)
    cells = page.texts("failed-seeds", "td")
    for result in failed:
        assert f"kraft simulate --seed {result.seed} --trace" in cells
        assert result.text in cells


def test_several_waves_have_the_sums_of_one_process(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "Two machines that ran the same seeds compare this number" (Tally)."""
    monkeypatch.setattr(campaign, "SEEDS_PER_TASK", 1)
    monkeypatch.setattr(campaign, "TASKS_PER_CORE", 2)
    tally, plain = Tally(), Tally()
    for result in campaign.Campaign(spark, range(10), "c0ffee").results():
        tally.add(result)
    for seed in range(10):
        plain.add(run_seed(seed))
    assert tally == plain


@pytest.mark.parametrize("seeds", [range(7, 8), range(7, 9)])
def test_two_tasks_that_disagree_are_an_error(spark: SparkSession, tmp_path: Path, seeds: range) -> None:
    """A result that is no function of the seed is worth nothing: a retry would give another. The table says so too."""
    store = ParquetStore(spark, str(tmp_path))
    with pytest.raises(campaign.CampaignError, match=r"^seed 7 has the trace 0{20}\w{12}, and 0{20}\w{12} in another"):
        list(campaign.Campaign(spark, seeds, "c0ffee", store, of_this_task).results())
    assert [row.agreed for row in verdicts(store)] == [False, None][: len(seeds)]


def test_a_task_that_fails_is_one_line(spark: SparkSession) -> None:
    with pytest.raises(campaign.CampaignError, match=r"^Spark: LookupError: seed 3 has no world$"):
        list(campaign.Campaign(spark, range(3, 4), "c0ffee", run=without_a_world).results())


#: The real command, except that it shows its progress after every seed, and that a wave is two seeds.
EAGER = (
    "from kraft.cli import main, simulate; from kraft.spark import campaign; simulate._LOG_INTERVAL_S = 0.0; "
    "campaign.SEEDS_PER_TASK = campaign.TASKS_PER_CORE = 1; main.main()"
)


def test_the_command_reports_what_a_campaign_without_spark_reports(tmp_path: Path) -> None:
    """The same table, sums and exit status. Here the executor is a process of its own, which gets the package."""
    told = {}
    for name, options in (("plain", []), ("spark", ["--spark", "local-cluster[1,1,1024]"])):
        path = tmp_path / name
        command = [sys.executable, "-m", "kraft", "simulate", "--seeds", "3:7", "--json", str(path), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(), check=False)
        assert done.returncode == 0, done.stderr
        figures = json.loads(path.read_text())
        told[name] = {key: figures[key] for key in figures if key not in ("wall_s", "cpu_s")}, done.stdout.splitlines()
    assert told["spark"][0] == told["plain"][0]
    assert told["spark"][1][:-1] == told["plain"][1][:-1]


def test_ctrl_c_reports_the_seeds_of_finished_waves(spark: SparkSession, tmp_path: Path) -> None:
    """The tables keep them, and have an answer about them."""
    arguments = ["simulate", "--seeds", "0:1000000", "--spark", "local[2]", "--into", str(tmp_path)]
    command = [sys.executable, "-c", EAGER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stderr is not None
        while not re.match(rb"[1-9][0-9]* of 1000000 seeds", line := process.stderr.readline()):
            assert line, "the campaign ended"
        process.send_signal(signal.SIGINT)
        try:
            output, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert process.returncode == 130, errors.decode()
    reported = re.search(rb"\n([1-9][0-9]*) of 1000000 seeds, 0 failed: ", output)
    assert reported is not None, output
    (row,) = ParquetStore(spark, str(tmp_path)).read(TABLES["campaigns"]).collect()
    assert row.seeds >= int(reported[1])
    assert row.commit == campaign.code_version()


def test_a_directory_in_use_is_an_error_before_spark_starts(tmp_path: Path) -> None:
    """One writer at a time; and a URL is no directory of this machine."""
    runner = CliRunner(catch_exceptions=False)
    command = ["simulate", "--seeds", "0:1", "--spark", "local[1]", "--into"]
    with locked(str(tmp_path), None):
        busy = runner.invoke(cli, [*command, str(tmp_path)])
    assert (busy.exit_code, busy.output.count("writes here")) == (1, 1), busy.output
    remote = runner.invoke(cli, [*command, "hdfs:///verdicts"])
    assert (remote.exit_code, remote.output.splitlines()) == (
        1,
        ["Error: hdfs:///verdicts: the tables need a directory that is mounted here; give its path"],
    )


def test_the_package_that_is_sent_to_executors_is_whole(tmp_path: Path) -> None:
    """An executor without this package imports it from the zip file, and finds the same trace."""
    path = tmp_path / "kraft.zip"
    campaign.package_zip(path)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import kraft; assert kraft.__file__.startswith(sys.argv[1]), kraft.__file__\n"
        "from kraft.simulation.campaign import run_seed; print(run_seed(5).trace_hash)"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(), check=True)
    assert done.stdout.strip() == run_seed(5).trace_hash


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ([], "no reason given"),
        (["An error occurred while calling o58.sc", "\tat a.b(C.java)"], "An error occurred while calling o58.sc"),
        (
            [
                "An error occurred.",
                ": org.S: x",
                "Caused by: org.S: Job aborted",
                "\tat b",
                "Caused by: a.R: not found",
            ],
            "a.R: not found",
        ),
        (
            [
                "Caused by: org.PythonException: Traceback:",
                "KeyError: 1",
                "ImportError: no kraft",
                "\tat",
                "Caused by: o",
            ],
            "ImportError: no kraft",
        ),
    ],
)
def test_the_cause_of_an_error_is_one_line_of_it(lines: list[str], cause: str) -> None:
    assert campaign.cause_in("\n".join(lines)) == cause


def test_a_clean_checkout_is_named_by_its_commit_and_others_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name determines the code: a changed file would have the verdicts of the commit otherwise."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t"]
    module = tmp_path / "__init__.py"
    monkeypatch.setattr(campaign, "_PACKAGE", tmp_path)
    names = []
    for text in ("installed", "installed and changed"):
        module.write_text(f"# {text}\n")
        names.append(campaign.code_version())
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=c"]):
        subprocess.run([*git, *command], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert campaign.code_version() == commit
    for text in ("one change", "another"):
        module.write_text(f"# {text}\n")
        names.append(campaign.code_version())
    assert len(set(names)) == 4
    assert [re.sub("-[0-9a-f]{12}$", "", name) for name in names] == [*[version("kraft")] * 2, *[f"{commit}-dirty"] * 2]
