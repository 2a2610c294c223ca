"""Campaigns on Spark: the same results as without it, and no result that two tasks do not agree on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from kraft.simulation.campaign import SeedResult, Tally, run_seed
from kraft.spark import campaign
from tests.simulation.hunt import recorded
from tests.simulation.mutants import MUTANTS
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


def test_the_results_are_those_of_plain_processes(spark: SparkSession, tmp_path: Path) -> None:
    """ "every verdict a pure function of commit and seed": in order, each once, and in the table too."""
    into = str(tmp_path / "results")
    plain = list(map(run_seed, SEEDS))
    assert list(campaign.Campaign(spark, SEEDS, "c0ffee", into).results()) == plain
    rows = spark.read.parquet(into).orderBy("seed").collect()
    assert [row.seed for row in rows] == list(SEEDS)
    assert {(row.commit, row.verdict, row.invariant) for row in rows} == {("c0ffee", "passed", None)}
    assert [(row.trace_hash, row.coverage) for row in rows] == [(each.trace_hash, each.coverage) for each in plain]


def test_a_wave_that_is_run_again_replaces_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        list(campaign.Campaign(spark, range(2), "c0ffee", str(tmp_path / "results")).results())
    assert spark.read.parquet(str(tmp_path / "results")).count() == 2


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


def test_a_seed_that_fails_is_reported(spark: SparkSession) -> None:
    seed = recorded()[MUTANT].seed
    (result,) = campaign.Campaign(spark, range(seed, seed + 1), "c0ffee", run=with_a_planted_bug).results()
    with MUTANTS[MUTANT].planted():
        assert result == run_seed(seed)
    assert result.invariant is not None


def test_two_tasks_that_disagree_are_an_error(spark: SparkSession) -> None:
    """A result that is no function of the seed is worth nothing: a retry would give another."""
    with pytest.raises(campaign.CampaignError, match=r"^seed 7 has the trace 0{20}\w{12}, and 0{20}\w{12} in another"):
        list(campaign.Campaign(spark, range(7, 9), "c0ffee", run=of_this_task).results())


def test_a_task_that_fails_is_one_line(spark: SparkSession) -> None:
    with pytest.raises(campaign.CampaignError, match=r"^Spark: LookupError: seed 3 has no world$"):
        list(campaign.Campaign(spark, range(3, 4), "c0ffee", run=without_a_world).results())


#: The real command, except that it shows its progress after every seed, and that a wave is two seeds.
EAGER = (
    "from kraft.cli import main, simulate; from kraft.spark import campaign; simulate._LOG_INTERVAL_S = 0.0; "
    "campaign.SEEDS_PER_TASK = campaign.TASKS_PER_CORE = 1; main.main()"
)


@pytest.mark.timeout(600)
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


def test_ctrl_c_reports_the_seeds_of_finished_waves() -> None:
    arguments = ["simulate", "--seeds", "0:1000000", "--spark", "local[2]"]
    command = [sys.executable, "-c", EAGER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stderr is not None
        while not re.match(rb"[1-9][0-9]* of 1000000 seeds", line := process.stderr.readline()):
            assert line, "the campaign ended"
        process.send_signal(signal.SIGINT)
        try:
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, errors.decode()
    assert re.search(rb"\n[1-9][0-9]* of 1000000 seeds, 0 failed: ", output)


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
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment(), check=True)
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


def test_the_commit_names_the_code() -> None:
    """A commit of this checkout, or the version of an installed package."""
    told = campaign.code_version()
    assert told
    assert os.sep not in told
