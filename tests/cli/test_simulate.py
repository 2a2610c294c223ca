"""``kraft simulate``: a campaign, a replay, and what cannot be asked for."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from kraft.cli.main import cli
from tests.simulation.mutants import MUTANTS


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["simulate", *arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return int(result.return_value), result.output


def test_a_campaign_ends_with_a_table() -> None:
    status, output = run("--seeds", "0:6")
    assert status == 0
    assert "simulated s per CPU s" in output
    assert "Candidate -> Leader" in output


def test_a_campaign_that_fails_says_which_seed_and_why() -> None:
    with MUTANTS["applies what is not committed"].planted():
        status, output = run("--seeds", "0:2")
    assert status == 1
    assert "seed 0: NoLogDivergence" in output


def test_one_seed_is_replayed_event_by_event() -> None:
    status, output = run("--seed", "3", "--trace")
    assert status == 0
    assert "Leader" in output
    assert output.rstrip().endswith("every invariant held")


def test_a_failing_plan_is_made_small_and_can_be_given_back(tmp_path: object) -> None:
    with MUTANTS["votes for a shorter log"].planted():
        status, output = run("--seed", "0", "--shrink")
    assert status == 1
    plan = output[: output.index("seed 0")]
    path = f"{tmp_path}/plan.json"
    with open(path, "w") as file:
        file.write(plan)
    with MUTANTS["votes for a shorter log"].planted():
        assert run("--seed", "0", "--plan", path)[0] == 1
    assert run("--seed", "0", "--plan", path)[0] == 0


@pytest.mark.parametrize(
    "arguments", [[], ["--seed", "1", "--seeds", "1:2"], ["--seeds", "2:1"], ["--seeds", "1:2", "--trace"]]
)
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    with pytest.raises(Exception, match=r"give either|is not A:B|go with --seed"):
        run(*arguments)
