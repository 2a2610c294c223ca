"""``kraft experiment``: the claims of the documents, measured on clusters of processes that the command starts."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cattrs
import click
import trio

from kraft import __version__
from kraft.client.retry import GaveUp
from kraft.experiment.legacy_cluster import APACHE, KRAFT
from kraft.experiment.processes import CannotStart
from kraft.story.experiments import control_plane as control_plane_result
from kraft.story.experiments import control_plane_page
from kraft.story.experiments.plots import KaleidoMissing, write_picture
from kraft.story.report.page import PlotlyMissing
from kraft.wire.errors import KafkaError

SOFTWARE = {"kraft": KRAFT, "apache": APACHE}
_EXPLAINED = (CannotStart, GaveUp, KafkaError, OSError, KaleidoMissing, PlotlyMissing)


def _named(ctx: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    unknown = [name for name in value.split(",") if name not in SOFTWARE]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(SOFTWARE)}")
    return [SOFTWARE[name] for name in value.split(",")]


jars_option = click.option(
    "--apache",
    "jars",
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The jars of Apache Kafka 3.9, such as the directory libs of an installation. They contain ZooKeeper, too.",
)
into_option = click.option(
    "--into",
    required=True,
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of the result, the page and the pictures. The data of the nodes go below it.",
)
software_option = click.option(
    "--software",
    default="kraft,apache",
    show_default=True,
    callback=_named,
    metavar="NAME,...",
    help="The software to measure.",
)


@click.group("experiment", short_help="Measure the claims of the KIPs on real clusters.")
def command() -> None:
    """Measure the claims of the KIPs on real clusters, which this command starts and stops."""


@command.command("control-plane")
@jars_option
@into_option
@software_option
@click.option("--moves", type=click.IntRange(1, 500), default=40, show_default=True, help="Leaderships to move.")
@click.option(
    "--connections",
    type=click.IntRange(2, 5000),
    default=500,
    show_default=True,
    help="Connections of producers to each broker, half of them with acks=all.",
)
@click.option("--from", "existing", type=click.File(), help="Draw this result again, instead of measuring.")
def control_plane_command(
    jars: Path, into: Path, software: list[str], moves: int, connections: int, existing: Any
) -> None:
    """Measure KIP-291: the controller's requests while producers saturate the brokers.

    For each software, each plane (shared, dedicated) and each load (idle, saturated), leaderships move from broker to
    broker. DIR gets control-plane.json, control-plane.html, control-plane.md and pictures.
    """
    from kraft.experiment.control_plane import Plan, run

    try:
        into.mkdir(parents=True, exist_ok=True)
        if existing is not None:
            result = cattrs.structure(json.load(existing), control_plane_result.ControlPlaneResult)
        else:
            plan = Plan(into.absolute() / "nodes", jars.absolute(), software, moves, connections)
            said = [*_machine(), ("load", f"{moves} moves, {connections} connections to each of two brokers")]
            result = trio.run(run, plan, said, _say)
            _write(into / "control-plane.json", json.dumps(cattrs.unstructure(result), indent=1))
        _write(into / "control-plane.md", control_plane_page.markdown(result))
        _write(into / "control-plane.html", control_plane_page.render(result))
        for name, figure in control_plane_page.figures(result).items():
            path = into / f"control-plane-{name}.png"
            write_picture(figure, path)
            _say(f"wrote {path}")
    except _EXPLAINED as error:
        raise click.ClickException(str(error)) from error
    except BaseExceptionGroup as group:
        known = group.subgroup(_EXPLAINED)
        if known is None:
            raise
        raise click.ClickException(str(_first(known))) from group


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _machine() -> Sequence[tuple[str, str]]:
    """Return the circumstances of the run. The load average shows whether the machine was quiet."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    python = f"kraft {__version__}, Python {platform.python_version()}"
    return [("machine", f"{os.cpu_count()} CPUs, load average {load} at the start"), ("software", python)]


def _say(text: str) -> None:
    click.echo(text, file=sys.stderr)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    _say(f"wrote {path}")
