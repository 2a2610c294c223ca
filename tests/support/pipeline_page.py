"""docs/pipeline/tables.md and its chapters, made from the declarations of the tables: ``python -m
tests.support.pipeline_page``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kraft.spark.pipeline.tables import BATCH, DAY, Column, Layer, TableSchema, tables_of

DIRECTORY = Path(__file__).parents[2] / "docs" / "pipeline"
_INDEX = "tables.md"

_HEAD = f"""# The tables of the pipeline

Made by `python -m tests.support.pipeline_page` from
[the declarations](../../kraft/spark/pipeline/tables.py); a test compares. [The data pipeline](../pipeline.md) explains
how the tables come about.

Every table has the column `{BATCH.name}`, {BATCH.doc[0].lower() + BATCH.doc[1:]} The layers raw and typed also have
`{DAY.name}`, {DAY.doc[0].lower() + DAY.doc[1:]} Both are partitions of the files. Times are UTC."""


def render() -> dict[str, str]:
    """Return the list of tables, and a chapter for each layer, by their paths below ``docs/pipeline``."""
    return {_INDEX: _page(_index())} | {_path(layer): _page(_chapter(layer)) for layer in Layer}


def _page(lines: Iterator[str]) -> str:
    return "\n".join([*lines, ""])


def _path(layer: Layer) -> str:
    return f"tables/{layer.name.lower()}.md"


def _index() -> Iterator[str]:
    yield _HEAD
    for layer in Layer:
        yield from ("", f"## [{layer.value}]({_path(layer)})", "", "| table | rows | made from |", "|---|---|---|")
        for table in tables_of(layer):
            yield f"| [{table.name}]({_path(layer)}#{table.name}) | {table.doc} | {_sources(table)} |"


def _chapter(layer: Layer) -> Iterator[str]:
    yield from (f"# {layer.value}", "", f"[The tables of the pipeline](../{_INDEX}) lists the other layers.")
    for table in tables_of(layer):
        yield from ("", f"## {table.name}", "", table.doc)
        if table.sources:
            yield f"Made from {_sources(table)}."
        yield from ("", "| column | type | |", "|---|---|---|")
        yield from map(_row, table.columns)


def _sources(table: TableSchema) -> str:
    return ", ".join(f"`{name}`" for name in table.sources)


def _row(column: Column) -> str:
    return f"| `{column.name}` | {column.type.replace('<', '&lt;')} | {column.doc} |"


if __name__ == "__main__":
    for path, text in render().items():
        (DIRECTORY / path).parent.mkdir(exist_ok=True)
        (DIRECTORY / path).write_text(text)
