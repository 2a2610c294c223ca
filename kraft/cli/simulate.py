"""``kraft simulate``: run the real cores of a quorum through simulated faults, by the thousand or one step by step."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import attrs
import click

from kraft.cli.output import print_columns
from kraft.simulation.campaign import RARE_STATES, Verdict, run_seed, shrink
from kraft.simulation.plan import draw_knobs, draw_plan, plan_from_json, plan_to_json

_SHOWN_FAILURES = 10
#: A campaign of so many seeds must have reached every rare state.
_COVERING_CAMPAIGN = 1_000


@attrs.define
class Tally:
    """What a campaign adds up to."""

    seeds: int = 0
    simulated_s: float = 0.0
    events: int = 0
    committed: int = 0
    failures: list[Verdict] = attrs.field(factory=list)
    coverage: Counter[str] = attrs.field(factory=Counter)

    def add(self, verdict: Verdict) -> None:
        self.seeds += 1
        self.simulated_s += verdict.simulated_s
        self.events += verdict.events
        self.committed += verdict.committed
        self.coverage.update(verdict.coverage.keys())
        if verdict.invariant is not None:
            self.failures.append(verdict)

    def never_reached(self) -> list[str]:
        return [name for name in RARE_STATES if not self.coverage[name]]


@click.command("simulate", short_help="Simulate quorums under faults.")
@click.option("--seeds", metavar="A:B", help="Run the seeds from A up to, not including, B.")
@click.option("--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes to run seeds in.")
@click.option("--seed", type=click.IntRange(0), help="Run one seed.")
@click.option("--trace", is_flag=True, help="With --seed: print every event.")
@click.option("--shrink", "make_small", is_flag=True, help="With --seed: print a failing plan made as small as can be.")
@click.option("--plan", type=click.File(), help="With --seed: a file of faults to strike instead of the seed's own.")
def command(
    seeds: str | None, jobs: int, seed: int | None, trace: bool, make_small: bool, plan: Iterable[str] | None
) -> int:
    """Run quorums of simulated nodes, each from a seed; exit status 1 if an invariant did not hold."""
    if (seeds is None) == (seed is None):
        raise click.UsageError("give either --seeds A:B or --seed N")
    if seed is not None:
        return _replay(seed, trace, make_small, None if plan is None else "".join(plan))
    if trace or make_small or plan is not None:
        raise click.UsageError("--trace, --shrink and --plan go with --seed")
    assert seeds is not None
    return _campaign(_parse_range(seeds), jobs)


def _parse_range(text: str) -> range:
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and int(first) < int(last)):
        raise click.BadParameter(f"{text!r} is not A:B with A < B", param_hint="--seeds")
    return range(int(first), int(last))


def _replay(seed: int, trace: bool, make_small: bool, plan_text: str | None) -> int:
    knobs = draw_knobs(seed)
    try:
        plan = draw_plan(seed, knobs) if plan_text is None else plan_from_json(plan_text)
    except (ValueError, TypeError) as error:
        raise click.BadParameter(f"not a plan: {error}", param_hint="--plan") from None
    verdict = run_seed(seed, plan, trace=click.echo if trace else None)
    if make_small and verdict.invariant is not None:
        plan = shrink(plan, lambda less: run_seed(seed, less).invariant == verdict.invariant)
        click.echo(plan_to_json(plan))
    click.echo(
        f"seed {seed}: {knobs.voters} voters, {knobs.observers} observers, {len(plan)} faults, "
        f"{verdict.simulated_s:.1f} s, {verdict.events} events, {verdict.committed} records committed, "
        f"trace {verdict.trace_hash}"
    )
    click.echo(verdict.text or "every invariant held")
    return 1 if verdict.invariant else 0


def _campaign(seeds: range, jobs: int) -> int:
    started, tally = time.monotonic(), Tally()
    with _verdicts(seeds, jobs) as verdicts:
        for verdict in verdicts:
            tally.add(verdict)
            if sys.stderr.isatty():
                click.echo(f"\r{tally.seeds} of {len(seeds)} seeds, {len(tally.failures)} failed", err=True, nl=False)
    if sys.stderr.isatty():
        click.echo("", err=True)
    _report(tally, time.monotonic() - started)
    unreached = tally.never_reached() if tally.seeds >= _COVERING_CAMPAIGN else []
    if unreached:
        click.echo(f"never reached: {json.dumps(unreached)}")
    return 1 if tally.failures or unreached else 0


@contextmanager
def _verdicts(seeds: range, jobs: int) -> Iterator[Iterable[Verdict]]:
    if jobs == 1:
        yield map(run_seed, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield pool.imap_unordered(run_seed, seeds, chunksize=16)


def _report(tally: Tally, wall_s: float) -> None:
    times = os.times()
    cpu_s = times.user + times.system + times.children_user + times.children_system
    for verdict in tally.failures[:_SHOWN_FAILURES]:
        click.echo(f"seed {verdict.seed}: {verdict.text}")
    rare = sorted(tally.coverage.items(), key=lambda item: (item[1], item[0]))
    print_columns(["state reached", "seeds"], rare)
    click.echo("")
    print_columns(
        ["seeds", "failed", "simulated s", "events", "committed", "wall s", "CPU s", "simulated s per CPU s"],
        [
            [
                tally.seeds,
                len(tally.failures),
                f"{tally.simulated_s:.0f}",
                tally.events,
                tally.committed,
                f"{wall_s:.1f}",
                f"{cpu_s:.1f}",
                f"{tally.simulated_s / max(cpu_s, 1e-9):.0f}",
            ]
        ],
    )
