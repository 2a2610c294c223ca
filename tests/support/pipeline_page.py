"""docs/pipeline/tables.md, made from the declarations of the tables: ``python -m tests.support.pipeline_page``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kraft.spark.pipeline.tables import BATCH, DAY, Column, Layer, TableSchema, tables_of

PAGE = Path(__file__).parents[2] / "docs" / "pipeline" / "tables.md"

_HEAD = f"""# The tables of the pipeline

Made by `python -m tests.support.pipeline_page` from
[the declarations](../../kraft/spark/pipeline/tables.py); a test compares. [The data pipeline](../pipeline.md) explains
how the tables come about.

Every table has the column `{BATCH.name}`, {BATCH.doc[0].lower() + BATCH.doc[1:]} The layers raw and typed also have
`{DAY.name}`, {DAY.doc[0].lower() + DAY.doc[1:]} Both are partitions of the files. Times are UTC."""


def render() -> str:
    return "\n".join([_HEAD, *_layers(), ""])


def _layers() -> Iterator[str]:
    for layer in Layer:
        yield from ("", f"## {layer.value}")
        for table in tables_of(layer):
            yield from _table(table)


def _table(table: TableSchema) -> Iterator[str]:
    yield from ("", f"### {table.name}", "", table.doc)
    if table.sources:
        yield f"Made from {', '.join(f'`{name}`' for name in table.sources)}."
    yield from ("", "| column | type | |", "|---|---|---|")
    yield from map(_row, table.columns)


def _row(column: Column) -> str:
    return f"| `{column.name}` | {column.type.replace('<', '&lt;')} | {column.doc} |"


if __name__ == "__main__":
    PAGE.write_text(render())
