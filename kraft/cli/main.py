"""The ``kraft`` command. It imports the module of a subcommand only when that subcommand runs, so that each starts
quickly.
"""

from __future__ import annotations

import importlib
import io
import os
import sys

import click

from kraft import __version__

COMMANDS = (
    "cluster",
    "consume",
    "dump-log",
    "experiment",
    "features",
    "groups",
    "node",
    "pipeline",
    "produce",
    "quorum",
    "shell",
    "simulate",
    "storage",
    "topics",
    "transactions",
)


class LazyGroup(click.Group):
    """A group that imports command ``x-y`` from ``kraft.cli.x_y``, where it is named ``command``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"kraft.cli.{cmd_name.replace('-', '_')}").command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kraft")
def cli() -> None:
    """Run and inspect Kafka clusters, of kraft nodes or of Apache Kafka's."""


def main() -> None:
    """Run the command line. A failure is one line on standard error and exit status 1, as in Kafka's tools."""
    # None is a stream that was closed before the interpreter started.
    sys.stdin = sys.stdin or os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):  # the names of files may be any bytes
            stream.reconfigure(errors="surrogateescape")
    try:
        status = cli.main(prog_name="kraft", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(1)
    except click.ClickException as error:
        help_of = (
            f" See {error.ctx.command_path} --help." if isinstance(error, click.NoSuchOption) and error.ctx else ""
        )
        click.echo(f"Error: {error.format_message()}{help_of}", err=True)
        sys.exit(1)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            click.echo(f"Error: {error.filename or 'standard output'}: {error.strerror or error}", err=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard what is still buffered
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)
