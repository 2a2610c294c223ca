"""Print tables for people and JSON for programs."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import click


def print_columns(heading: Sequence[str], rows: Sequence[Sequence[object]], *, err: bool = False) -> None:
    """Print rows under a heading, each column as wide as its widest cell. None is printed as a dash."""
    lines = [list(heading), *([("-" if cell is None else str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    for line in lines:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip(), err=err)


def print_tabs(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows as Apache Kafka's tools do: each cell is padded to its column and followed by a tab."""
    lines = [heading, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    for line in lines:
        click.echo("".join(f"{cell:<{width}}\t" for cell, width in zip(line, widths, strict=True)))


def print_json(value: Any) -> None:
    """Print one JSON document on one line."""
    click.echo(json.dumps(value, ensure_ascii=False))


def json_field(name: str, data: bytes | None) -> dict[str, str | None]:
    """Return bytes as a field of a JSON object: text if they are UTF-8, else base64 in a field ``<name>_base64``."""
    try:
        return {name: None if data is None else data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data or b"").decode()}
