"""The tables of docs/spark-files.md, made from the code: ``python -m tests.support.spark_files_page`` writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql.pandas.types import from_arrow_schema

from kraft.spark import log_rows, log_source, metadata_schema, metadata_settings
from kraft.spark.options import Option

PAGE = Path(__file__).parents[2] / "docs" / "spark-files.md"


def render(page: str) -> str:
    """Return the page with its present tables."""
    tables = {
        "options of kraft-log": _options(log_source.OPTIONS),
        "columns of kraft-log": _columns(log_rows.SCHEMA_WITH_HEADERS, log_rows.DOCS),
        "options of kraft-metadata": _options(metadata_settings.OPTIONS),
        "columns of kraft-metadata": _columns(metadata_schema.COMMON, metadata_schema.DOCS),
        "structs of kraft-metadata": _structs(),
    }
    for name, lines in tables.items():
        between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->\n)", re.DOTALL)
        assert between.search(page), f"the page has no place for the {name}"
        table = "\n".join(["", *lines, ""])
        page = between.sub(lambda found, table=table: found[1] + table + found[2], page)  # type: ignore[misc]
    return page


def _options(options: Sequence[Option[Any]]) -> Iterator[str]:
    yield "| option | type | default | |"
    yield "|---|---|---|---|"
    for option in options:
        default = option.shown_default or option.default
        shown = "" if default is None else f"`{str(default).lower() if isinstance(default, bool) else default}`"
        yield f"| `{option.name}` | {option.kind.name} | {shown} | {_cell(option.doc)} |"


def _columns(schema: Any, docs: Mapping[str, str]) -> Iterator[str]:
    yield "| column | type | |"
    yield "|---|---|---|"
    for field in from_arrow_schema(schema):
        yield f"| `{field.name}` | {field.dataType.simpleString()} | {_cell(docs[field.name])} |"


def _structs() -> Iterator[str]:
    yield "| column | fields |"
    yield "|---|---|"
    for field in from_arrow_schema(metadata_schema.SCHEMA):
        if field.name in metadata_schema.COLUMNS:
            yield f"| `{field.name}` | {', '.join(f'`{each}`' for each in field.dataType.names)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text()))
