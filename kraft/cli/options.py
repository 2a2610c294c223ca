"""The options that the commands share, and the translation of a cluster's errors into click's."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import attrs
import click
import trio
from click.core import ParameterSource

from kraft.client.cluster import TIMEOUT_S, Cluster, open_cluster
from kraft.client.retry import ClusterUnreachable, GaveUp
from kraft.config.setting import ConfigError, one_line
from kraft.rpc.client import Disconnected
from kraft.wire.decode_error import UnsupportedVersionError
from kraft.wire.errors import KafkaError

T = TypeVar("T")

bootstrap_option = click.option(
    "-b",
    "--bootstrap-server",
    "bootstrap",
    default="localhost:9092",
    show_default=True,
    metavar="HOST:PORT,...",
    help="Brokers to connect to first.",
)
controllers_option = click.option(
    "-C",
    "--bootstrap-controller",
    "controllers",
    default=None,
    metavar="HOST:PORT,...",
    help="Controllers to connect to, instead of brokers.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@attrs.frozen
class Servers:
    """The bootstrap addresses of a command: brokers, or controllers."""

    bootstrap: str
    are_controllers: bool


def servers_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add the bootstrap options to a command, and pass it their values as ``servers``.

    Apache Kafka's tools take these options before the subcommand. So a group with these options stores its ``servers``
    in the context, for a subcommand that is given none.
    """

    @bootstrap_option
    @controllers_option
    @click.pass_context
    @functools.wraps(command)
    def with_servers(
        ctx: click.Context, /, *arguments: Any, bootstrap: str, controllers: str | None, **options: Any
    ) -> T:
        is_default = ctx.get_parameter_source("bootstrap") is ParameterSource.DEFAULT
        if controllers is not None and not is_default:
            raise click.UsageError("Give one of --bootstrap-server and --bootstrap-controller.")
        if controllers is not None:
            servers = Servers(controllers, are_controllers=True)
        elif is_default and isinstance(ctx.obj, Servers):
            servers = ctx.obj
        else:
            servers = Servers(bootstrap, are_controllers=False)
        return command(*arguments, servers=servers, **options)

    return with_servers


def report_refused(refused: Sequence[KafkaError]) -> None:
    """Print a line for each refused part of a command, and end it with exit status 1 if there are any."""
    for error in refused[:-1]:
        click.echo(f"Error: {error}", err=True)
    if refused:
        raise click.ClickException(str(refused[-1]))


def run(bootstrap: str, operate: Callable[[Cluster], Awaitable[T]]) -> T:
    """Run ``operate`` on the cluster behind ``bootstrap``. Each failure becomes one line and exit status 1.

    Raises:
        click.ClickException: the cluster is unreachable, or refused the request.
        click.Abort: Ctrl-C.
    """

    async def connected() -> T:
        async with open_cluster(bootstrap, client_id="kraft-cli") as cluster:
            return await operate(cluster)

    try:
        return trio.run(connected)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            click.echo(err=True)  # leave the line on which the terminal shows ^C
        raise click.Abort from None
    except (ConfigError, ClusterUnreachable, GaveUp, KafkaError) as error:
        raise click.ClickException(str(error)) from None
    except UnicodeEncodeError as error:
        raise click.ClickException(f"{os.fsencode(error.object)!r} is not UTF-8") from None
    except UnsupportedVersionError as error:
        raise click.ClickException(f"The cluster is too old for this: {error}") from None
    except trio.TooSlowError:
        raise click.ClickException(f"The cluster did not answer within {TIMEOUT_S:g} seconds") from None
    except Disconnected as error:
        raise click.ClickException(f"The connection was lost: {one_line(error)}") from None
