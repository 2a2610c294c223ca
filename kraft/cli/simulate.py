"""``kraft simulate``: run quorums of real Raft cores under simulated faults, in campaigns or one seed step by step."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TextIO

import click

from kraft.cli.output import print_columns
from kraft.simulation.campaign import SeedResult, Tally, run_seed, shrink
from kraft.simulation.plan import draw_knobs, draw_plan, plan_from_json, plan_to_json

_SHOWN_FAILURES = 10
_STDOUT = "-"
INTERRUPTED = 130
#: A campaign of at least this many seeds fails if it did not reach every rare state.
COVERING_CAMPAIGN = 1_000
#: The interval between two reports of progress: on a terminal, and in a log.
_TERMINAL_INTERVAL_S = 0.2
_LOG_INTERVAL_S = 30.0


@click.command("simulate", short_help="Simulate quorums under faults.")
@click.option("--seeds", metavar="A:B", help="Run the seeds from A to B - 1.")
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes to run seeds in.")
@click.option(
    "--json",
    "figures",
    type=click.File("w", lazy=True),
    help="With --seeds: write the figures to this file; - is standard output, and moves the table to standard error.",
)
@click.option(
    "--spark",
    "master",
    metavar="MASTER",
    help="With --seeds: run them on Spark, such as local[*] or spark://host:7077.",
)
@click.option(
    "--into", metavar="DIR", help="With --spark: add the verdicts to the tables of this directory (see kraft pipeline)."
)
@click.option(
    "--expect-trace", "expected", metavar="SUM", help="With --seeds: fail if the sum of the traces is another one."
)
@click.option("--seed", type=click.IntRange(0), help="Run one seed.")
@click.option("--trace", is_flag=True, help="With --seed: print every event.")
@click.option(
    "--shrink",
    "make_small",
    is_flag=True,
    help="With --seed: print its plan of faults, reduced as far as possible if the run fails.",
)
@click.option("--plan", type=click.File(), help="With --seed: use the faults of this file (see --shrink).")
def command(
    seeds: str | None,
    jobs: int,
    figures: TextIO | None,
    master: str | None,
    into: str | None,
    expected: str | None,
    seed: int | None,
    trace: bool,
    make_small: bool,
    plan: TextIO | None,
) -> int:
    """Run quorums of simulated nodes under faults. A seed decides each run.

    The exit status is 1 if a run broke an invariant. It is also 1 if a campaign of 1000 seeds or more missed a rare
    state, or if the sum of its traces is not the expected one. Ctrl-C ends a campaign with a report of the finished
    seeds, and exit status 130.
    """
    if (seeds is None) == (seed is None):
        raise click.UsageError("Give one of --seeds A:B and --seed N.")
    if seed is not None:
        if figures is not None or master is not None or expected is not None:
            raise click.UsageError("--json, --spark and --expect-trace go with --seeds.")
        return _replay(seed, trace, make_small, plan)
    if trace or make_small or plan is not None:
        raise click.UsageError("--trace, --shrink and --plan go with --seed.")
    if into is not None and master is None:
        raise click.UsageError("--into goes with --spark.")
    if master is not None and jobs != 1:
        raise click.UsageError("Give one of --jobs and --spark.")
    assert seeds is not None
    chosen = _parse_range(seeds)
    if master is not None:
        return _campaign(chosen, _on_spark(chosen, master, into), figures, expected, is_remote=True)
    return _campaign(chosen, _results(chosen, jobs), figures, expected, is_remote=False)


def _parse_range(text: str) -> range:
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and int(first) < int(last)):
        raise click.BadParameter(f"{text!r} is not A:B with A < B", param_hint="--seeds")
    return range(int(first), int(last))


def _replay(seed: int, trace: bool, make_small: bool, file: TextIO | None) -> int:
    knobs = draw_knobs(seed)
    try:
        plan = draw_plan(seed, knobs) if file is None else plan_from_json(file.read())
    except (ValueError, TypeError, RecursionError) as error:
        raise click.BadParameter(f"invalid plan: {error}", param_hint="--plan") from None
    say = partial(click.echo, err=make_small)  # stdout holds only the plan, which may go to a file
    result = run_seed(seed, plan, trace=say if trace else None)
    if make_small:
        if result.invariant is not None:
            struck = [fault for fault in plan if fault.at <= result.simulated_s]
            plan = shrink(struck, lambda less: run_seed(seed, less).invariant == result.invariant)
        click.echo(plan_to_json(plan))
    say(
        f"seed {seed}: {knobs.profile.value}, {knobs.voters} voters, {knobs.observers} observers, {len(plan)} faults, "
        f"{result.simulated_s:.1f} s, {result.events} events, {result.committed} records committed, "
        f"trace {result.trace_hash}"
    )
    say(result.text or "every invariant held")
    return 1 if result.invariant else 0


def _campaign(
    seeds: range,
    source: AbstractContextManager[Iterable[SeedResult]],
    figures: TextIO | None,
    expected: str | None,
    *,
    is_remote: bool,
) -> int:
    """Run the campaign and report it. The CPU time of a remote one is not known."""
    started, tally = time.monotonic(), Tally()
    progress = _Progress(tally, len(seeds))
    interrupted = False
    try:
        with source as results:
            for result in results:
                tally.add(result)
                progress.show()
    except KeyboardInterrupt:
        interrupted = True
        progress.end_line()
    times = os.times()
    cpu_s = None if is_remote else times.user + times.system + times.children_user + times.children_system
    wall_s = time.monotonic() - started
    if figures is not None:
        times_s = {"wall_s": round(wall_s, 1), **({} if cpu_s is None else {"cpu_s": round(cpu_s, 1)})}
        json.dump({"from": seeds.start, "to": seeds.stop, **times_s, **tally.figures()}, figures, indent=1)
        figures.write("\n")
    on_stderr = figures is not None and figures.name == _STDOUT  # standard output holds only the JSON
    _report(tally, len(seeds), wall_s, cpu_s, err=on_stderr)
    if interrupted:
        return INTERRUPTED
    unreached = tally.never_reached() if tally.seeds >= COVERING_CAMPAIGN else []
    if unreached:
        click.echo(f"never reached: {', '.join(unreached)}", err=on_stderr)
    is_other = expected is not None and tally.trace_hash != expected
    if is_other:
        click.echo(f"other runs than expected: trace {tally.trace_hash} instead of {expected}", err=on_stderr)
    return 1 if tally.failures or unreached or is_other else 0


@contextmanager
def _results(seeds: range, jobs: int) -> Iterator[Iterable[SeedResult]]:
    if jobs == 1:
        yield map(run_seed, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        yield pool.imap_unordered(run_seed, seeds, chunksize=16)


@contextmanager
def _on_spark(seeds: range, master: str, into: str | None) -> Iterator[Iterable[SeedResult]]:
    """Run the seeds on Spark. The room of Spark is imported here, because most campaigns do not need it."""
    try:
        from kraft.spark.campaign import CampaignError, campaign_on
        from kraft.spark.pipeline.store import StoreError
        from kraft.spark.session import JavaMissing
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    try:
        with campaign_on(master, seeds, into) as results:
            yield results
    except (JavaMissing, CampaignError, StoreError, OSError) as error:
        raise click.ClickException(str(error)) from None


class _Progress:
    """Prints the progress of a campaign to stderr: a terminal's line is overwritten, elsewhere each report is a new
    line.
    """

    def __init__(self, tally: Tally, seeds: int) -> None:
        self._tally, self._seeds = tally, seeds
        self._terminal = sys.stderr.isatty()
        self._interval_s = _TERMINAL_INTERVAL_S if self._terminal else _LOG_INTERVAL_S
        self._shown_at = time.monotonic()

    def show(self) -> None:
        done = self._terminal and self._tally.seeds == self._seeds
        if done or time.monotonic() - self._shown_at >= self._interval_s:
            self._shown_at = time.monotonic()
            line = f"{self._tally.seeds} of {self._seeds} seeds, {len(self._tally.failures)} failed"
            click.echo(f"\r{line}" if self._terminal else line, err=True, nl=done or not self._terminal)

    def end_line(self) -> None:
        """End the line on which a terminal shows the progress."""
        if self._terminal:
            click.echo(err=True)


def _report(tally: Tally, asked: int, wall_s: float, cpu_s: float | None, *, err: bool) -> None:
    """Print the table and the sums, to standard error if ``err``. ``asked`` is the number of seeds that were to run."""
    say = partial(click.echo, err=err)
    of_all = "" if tally.seeds == asked else f" of {asked}"
    print_columns(["state reached", "seeds", "times"], tally.rows(), err=err)
    say("")
    say(
        f"{tally.seeds}{of_all} seeds, {len(tally.failures)} failed: {tally.events} events, "
        f"{tally.committed} records committed, trace {tally.trace_hash}"
    )
    if cpu_s is None:
        say(f"{tally.simulated_s:.0f} simulated s in {wall_s:.1f} s on Spark")
    else:
        say(
            f"{tally.simulated_s:.0f} simulated s in {wall_s:.1f} s and {cpu_s:.1f} CPU s: "
            f"{tally.simulated_s / max(cpu_s, 1e-9):.0f} simulated s per CPU s"
        )
    for result in tally.failures[:_SHOWN_FAILURES]:
        say(f"seed {result.seed}: {result.text}")
    if len(tally.failures) > _SHOWN_FAILURES:
        say(f"… and {len(tally.failures) - _SHOWN_FAILURES} more")
