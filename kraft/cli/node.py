"""``kraft node``: the same as ``python -m kraft.node``, which parses the arguments itself."""

from __future__ import annotations

import click


@click.command(
    "node",
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
    options_metavar="",
    short_help="Start a node; the arguments are those of python -m kraft.node.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int | None:
    """Start a node. FILE is its server.properties.

    Without FILE, one node with both roles starts on the loopback interface.
    """
    from kraft.node.__main__ import main

    return main(list(arguments), prog="kraft node")
