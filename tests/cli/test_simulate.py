"""``kraft simulate``: a campaign, a replay, and invalid arguments."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kraft.cli import simulate
from kraft.cli.main import cli
from tests.simulation.golden import recorded as golden_traces
from tests.simulation.hunt import recorded
from tests.simulation.mutants import MUTANTS
from tests.simulation.page import DOCS
from tests.support.node_process import environment

# The real command, except that it shows its progress after every seed.
EAGER = "from kraft.cli import main, simulate; simulate._LOG_INTERVAL_S = 0.0; main.main()"
SEED = str(recorded()["votes for a shorter log"].seed)
GOLDEN = golden_traces()


def run(*arguments: str) -> tuple[int, str]:
    """Return the exit status and stdout. On a busy machine the command also shows its progress, on stderr."""
    result = CliRunner().invoke(cli, ["simulate", *arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return int(result.return_value), result.stdout


def test_a_campaign_ends_with_a_table() -> None:
    status, output = run("--seeds", "0:6")
    assert status == 0
    heading, *rows = output.splitlines()
    assert heading.split() == ["state", "reached", "seeds", "times"]
    assert any(row.startswith("Candidate -> Leader  ") for row in rows)
    assert any(row.startswith("fault: ") for row in rows)
    assert rows[-2].startswith("6 seeds, 0 failed: ")
    assert rows[-1].endswith("simulated s per CPU s")


def test_the_figures_are_the_same_with_more_processes(tmp_path: Path) -> None:
    found = []
    for jobs in ("1", "2"):
        path = tmp_path / jobs
        assert run("--seeds", "3:7", "--jobs", jobs, "--json", str(path))[0] == 0
        figures = json.loads(path.read_text())
        assert figures.pop("cpu_s") > 0
        assert figures.pop("wall_s") > 0
        found.append(figures)
    assert found[0] == found[1]
    assert (found[0]["from"], found[0]["to"], found[0]["seeds"], found[0]["failed"]) == (3, 7, 4, [])


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_campaign_fails_if_the_sum_of_its_traces_is_not_the_expected_one(jobs: str) -> None:
    """Docstring: "It is also 1 if (…) the sum of its traces is not the expected one"."""
    total = f"{sum(int(GOLDEN[str(seed)], 16) for seed in range(3)) % 2**128:032x}"
    arguments = ("--seeds", "0:3", "--jobs", jobs, "--expect-trace")
    assert run(*arguments, total)[0] == 0
    status, output = run(*arguments, GOLDEN["0"])
    assert status == 1
    assert output.splitlines()[-1] == f"other runs than expected: trace {total} instead of {GOLDEN['0']}"


def test_progress_is_shown_on_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "_LOG_INTERVAL_S", 0.0)
    result = CliRunner().invoke(cli, ["simulate", "--seeds", "0:2"], standalone_mode=False)
    assert result.stderr.splitlines() == ["1 of 2 seeds, 0 failed", "2 of 2 seeds, 0 failed"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_reports_the_seeds_that_are_done(jobs: str, tmp_path: Path) -> None:
    """A campaign may have run for hours."""
    path = tmp_path / "figures.json"
    arguments = ["simulate", "--seeds", "0:1000000", "--jobs", jobs, "--json", str(path)]
    command = [sys.executable, "-c", EAGER, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stderr is not None
        while not re.match(rb"[1-9][0-9]* of 1000000 seeds", process.stderr.readline()):
            pass
        process.send_signal(signal.SIGINT)
        try:
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, errors.decode()
    assert b"Traceback" not in errors
    *_, summary, _ = output.decode().splitlines()
    told = re.match(r"([0-9]+) of 1000000 seeds, 0 failed: ", summary)
    assert told is not None, summary
    figures = json.loads(path.read_text())
    assert (figures["to"], figures["seeds"]) == (1_000_000, int(told[1]))
    assert 0 < figures["seeds"] < 1_000_000


def test_figures_on_stdout_are_alone_there() -> None:
    result = CliRunner().invoke(cli, ["simulate", "--seeds", "0:2", "--json", "-"], standalone_mode=False)
    assert json.loads(result.stdout)["seeds"] == 2
    assert "2 seeds, 0 failed: " in result.stderr


def test_a_long_campaign_that_never_came_to_a_rare_state_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "COVERING_CAMPAIGN", 2)
    status, output = run("--seeds", "0:2")
    assert status == 1
    assert "never reached: " in output


def test_a_failed_campaign_prints_the_seed_and_the_reason() -> None:
    with MUTANTS["applies what is not committed"].planted():
        status, output = run("--seeds", "0:2")
    assert status == 1
    assert "NoLogDivergence" in output
    assert "failed" in output


def test_one_seed_is_replayed_event_by_event() -> None:
    status, output = run("--seed", "3", "--trace")
    assert status == 0
    assert "Leader" in output
    assert output.rstrip().endswith("every invariant held")


def kept_plan(tmp_path: Path) -> tuple[int, str]:
    """Return the exit status of ``--shrink > plan``, and the path of the plan, which has all of standard output."""
    result = CliRunner().invoke(cli, ["simulate", "--seed", SEED, "--shrink"], standalone_mode=False)
    assert f"seed {SEED}: " in result.stderr
    path = tmp_path / "plan"
    path.write_text(result.stdout)
    return int(result.return_value), str(path)


def test_a_failing_plan_is_made_small_and_can_be_given_back(tmp_path: Path) -> None:
    with MUTANTS["votes for a shorter log"].planted():
        status, path = kept_plan(tmp_path)
        assert status == 1
        assert run("--seed", SEED, "--plan", path)[0] == 1
    assert run("--seed", SEED, "--plan", path)[0] == 0


def test_the_plan_of_a_seed_that_holds_is_its_own(tmp_path: Path) -> None:
    status, path = kept_plan(tmp_path)
    assert status == 0
    assert run("--seed", SEED, "--plan", path) == run("--seed", SEED)


def test_the_pages_commands_for_one_seed_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/simulation.md: each works after those before it."""
    monkeypatch.chdir(tmp_path)
    typed = re.findall(
        r"^\$ kraft (simulate --seed .*?)(?: > (\w+))? +#", (DOCS / "simulation.md").read_text(), re.MULTILINE
    )
    assert [file for _, file in typed] == ["", "", "plan", ""]
    for arguments, file in typed:
        result = CliRunner().invoke(cli, shlex.split(arguments), standalone_mode=False)
        assert (result.exception, result.return_value) == (None, 0), arguments
        if file:
            Path(file).write_text(result.stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--seed", "1", "--seeds", "1:2"],
        ["--seeds", "2:1"],
        ["--seeds", "1:2", "--trace"],
        ["--seed", "1", "--json", "-"],
        ["--seed", "1", "--plan", __file__],
    ],
)
def test_invalid_options_are_refused(arguments: list[str]) -> None:
    with pytest.raises(Exception, match=r"Give one of|is not A:B|go(es)? with --seed|invalid plan"):
        run(*arguments)


def test_spark_is_imported_only_where_it_is_asked_for() -> None:
    """Spark is an extra: a campaign without it must run where PySpark is not installed."""
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from kraft.cli.main import main; sys.argv = ['kraft', 'simulate', '--seeds', '0:1', *sys.argv[1:]]; main()"
    )

    def told(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment(), check=False)

    assert told().returncode == 0
    missing = told("--spark", "local[1]")
    assert missing.returncode == 1
    assert missing.stderr == "Error: kraft.spark needs PySpark: pip install '.[spark]'\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--seed", "1", "--spark", "local"),
        ("--seeds", "0:1", "--spark", "local", "--jobs", "2"),
        ("--seeds", "0:1", "--into", "d"),
    ],
)
def test_options_of_spark_need_a_campaign_on_spark(arguments: tuple[str, ...]) -> None:
    with pytest.raises(click.UsageError):
        run(*arguments)


@pytest.mark.parametrize("data", [b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "plan").write_bytes(data)
    result = CliRunner().invoke(cli, ["simulate", "--seed", SEED, "--plan", str(tmp_path / "plan")])
    assert result.exit_code == 2
    assert "invalid plan" in result.stderr
