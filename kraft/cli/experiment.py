"""``kraft experiment``: the claims of the documents, measured on clusters of processes that the command starts."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO, TypeVar

import cattrs
import click
import trio

from kraft import __version__
from kraft.client.retry import GaveUp
from kraft.experiment.legacy_cluster import APACHE, KRAFT
from kraft.experiment.processes import CannotStart
from kraft.story.experiments import control_plane_page, generations
from kraft.story.experiments.control_plane import ControlPlaneResult
from kraft.story.experiments.generations import QUORUM, ZOOKEEPER, GenerationsResult
from kraft.story.experiments.plots import KaleidoMissing, check_pictures, write_picture
from kraft.story.report.page import PlotlyMissing
from kraft.story.report.section import Figure
from kraft.wire.errors import KafkaError

T = TypeVar("T", bound=Callable[..., Any])
R = TypeVar("R", ControlPlaneResult, GenerationsResult)

SOFTWARE = {"kraft": KRAFT, "apache": APACHE}
COMBINATIONS = ((KRAFT, ZOOKEEPER), (KRAFT, QUORUM), (APACHE, ZOOKEEPER), (APACHE, QUORUM))
MAX_PARTITIONS = 1_000_000
_EXPLAINED = (CannotStart, GaveUp, KafkaError, OSError, trio.TooSlowError, KaleidoMissing, PlotlyMissing)


def _software(ctx: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    unknown = [name for name in value.split(",") if name not in SOFTWARE]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(SOFTWARE)}")
    return [SOFTWARE[name] for name in value.split(",")]


def _numbers(ctx: click.Context, parameter: click.Parameter, value: str) -> list[int]:
    numbers = [int(text) if text.isascii() and text.isdigit() else 0 for text in value.split(",")]
    if not all(0 < number <= MAX_PARTITIONS for number in numbers):
        raise click.BadParameter(f"{value!r} is not a list of numbers from 1 to {MAX_PARTITIONS:,}")
    return numbers


_OPTIONS = (
    click.option(
        "--apache",
        "jars",
        metavar="DIR",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="The jars of Apache Kafka 3.9, such as libs of an installation. They contain ZooKeeper, too.",
    ),
    click.option(
        "--into",
        required=True,
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        help="Directory of the result, the page and the pictures. The data of the nodes go below it.",
    ),
    click.option(
        "--software",
        default=",".join(SOFTWARE),
        show_default=True,
        callback=_software,
        metavar="NAME,...",
        help="The software to measure.",
    ),
    click.option(
        "--from", "recorded", type=click.File(), help="Draw this result again (a JSON file), instead of measuring."
    ),
)


def experiment_options(command: T) -> T:
    """Add the options that all experiments have."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group("experiment", short_help="Measure the claims of the KIPs on real clusters.")
def command() -> None:
    """Measure the claims of the KIPs on real clusters, which this command starts and stops."""


@command.command("control-plane", short_help="Measure KIP-291.")
@experiment_options
@click.option("--moves", type=click.IntRange(1, 500), default=40, show_default=True, help="Leaderships to move.")
@click.option(
    "--connections",
    type=click.IntRange(2, 5000),
    default=500,
    show_default=True,
    help="Connections of producers to each broker, half of them with acks=all.",
)
@click.option(
    "--controller",
    type=click.Choice([*SOFTWARE]),
    default="apache",
    show_default=True,
    help="The software of the controller, which is the same for all brokers.",
)
def control_plane_command(
    jars: Path | None, into: Path, software: list[str], recorded: Any, moves: int, connections: int, controller: str
) -> None:
    """Measure KIP-291: the controller's requests while producers saturate the brokers.

    For each software, each plane (shared, dedicated) and each load (idle, saturated), leaderships move from broker to
    broker. DIR gets control-plane.json, control-plane.html, control-plane.md and pictures.
    """
    from kraft.experiment.control_plane import Plan, run

    with _one_line():
        if recorded is not None:
            result = _recorded(recorded, ControlPlaneResult)
        else:
            plan = Plan(
                into.absolute() / "nodes", _checked(jars), software, moves, connections, controller=SOFTWARE[controller]
            )
            load = f"{moves} moves for each line, {connections} connections to each of two brokers"
            said = [*_machine(), ("load", load), ("controller", SOFTWARE[controller])]
            result = ControlPlaneResult(said, [])
            _measure(run, plan, _say, partial(_keep, into / "control-plane.json", result))
        page = control_plane_page
        _write_all(into, "control-plane", page.markdown(result), page.figures(result))
        _write(into / "control-plane.html", page.render(result))


@command.command("generations", short_help="Compare ZooKeeper and KRaft.")
@experiment_options
@click.option(
    "--partitions",
    default="1000,10000,100000",
    show_default=True,
    callback=_numbers,
    metavar="NUMBER,...",
    help="The numbers of partitions.",
)
@click.option("--losses", type=click.IntRange(1, 100), default=3, show_default=True, help="Controllers to kill, each.")
def generations_command(
    jars: Path | None, into: Path, software: list[str], recorded: Any, partitions: list[int], losses: int
) -> None:
    """Compare the failover of a controller with ZooKeeper and with KRaft.

    The active controller is killed; another one is elected and creates a topic. DIR gets generations.json,
    generations.html, generations.md and a picture.
    """
    from kraft.experiment.generations import GenerationsPlan, run

    with _one_line():
        if recorded is not None:
            result = _recorded(recorded, GenerationsResult)
        else:
            chosen = [combination for combination in COMBINATIONS if combination[0] in software]
            plan = GenerationsPlan(into.absolute() / "nodes", _checked(jars), chosen, partitions, losses)
            result = GenerationsResult(_machine(), [])
            _measure(run, plan, _say, partial(_keep, into / "generations.json", result))
        _write_all(into, "generations", generations.markdown(result), generations.figures(result))
        _write(into / "generations.html", generations.render(result))


def _measure(run: Callable[..., Awaitable[None]], *arguments: object) -> None:
    """Run an experiment. SIGTERM and SIGHUP end it as Ctrl-C does: its nodes are in sessions of their own, and end only
    when it stops them.
    """
    watched = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, lambda *_: signal.raise_signal(signal.SIGINT)) for each in watched}
    try:
        trio.run(run, *arguments)
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn an error that a user can correct into one line. Raises click.ClickException; click.Abort for Ctrl-C."""
    try:
        yield
    except _EXPLAINED as error:
        raise click.ClickException(_text(error)) from error
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is not None:
            raise click.Abort from None
        known = group.subgroup(_EXPLAINED)
        if known is None:
            raise
        first: BaseException = known
        while isinstance(first, BaseExceptionGroup):
            first = first.exceptions[0]
        raise click.ClickException(_text(first)) from group


def _text(error: BaseException) -> str:
    is_late = isinstance(error, trio.TooSlowError)
    return "The cluster did not take a step of the experiment in time" if is_late else str(error)


def _recorded(file: TextIO, kind: type[R]) -> R:
    """Read a result. Raises click.ClickException."""
    try:
        return cattrs.structure(json.load(file), kind)
    except (ValueError, RecursionError, cattrs.BaseValidationError) as error:
        raise click.ClickException(f"{file.name}: not a result of this experiment") from error


def _machine() -> Sequence[tuple[str, str]]:
    """Return the circumstances of the run. The load average shows whether the machine was quiet."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    python = f"kraft {__version__}, Python {platform.python_version()}"
    return [("machine", f"{os.cpu_count()} CPUs, load average {load} at the start"), ("software", python)]


def _checked(jars: Path | None) -> Path:
    """Return the jars, once all that the command needs is known to be there. Raises KaleidoMissing, UsageError."""
    if jars is None:
        raise click.UsageError("Missing option '--apache': the jars with ZooKeeper are needed to measure.")
    check_pictures()
    return jars.absolute()


def _keep(path: Path, result: ControlPlaneResult | GenerationsResult, cell: Any) -> None:
    """Add a cell to the result, and write it, so that an experiment that fails later has lost nothing."""
    result.cells.append(cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(cattrs.unstructure(result)) + "\n", encoding="utf-8")


def _write_all(into: Path, name: str, tables: str, figures: Mapping[str, Figure]) -> None:
    into.mkdir(parents=True, exist_ok=True)
    _write(into / f"{name}.md", tables)
    for part, figure in figures.items():
        path = into / f"{name}-{part}.png"
        write_picture(figure, path)
        _say(f"wrote {path}")


def _say(text: str) -> None:
    click.echo(text, file=sys.stderr)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    _say(f"wrote {path}")
