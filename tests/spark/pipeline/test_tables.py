"""The declarations of the tables, and the pages that are made from them."""

from __future__ import annotations

from kraft.spark.pipeline.tables import TABLES, Layer
from kraft.spark.pipeline.typed import DERIVATIONS
from tests.support.pipeline_page import DIRECTORY, render


def test_the_pages_have_every_table() -> None:
    pages = {path: (DIRECTORY / path).read_text() for path in render()}
    assert pages == render(), "run: python -m tests.support.pipeline_page"
    chapters = "".join(pages.values())
    assert all(f"\n## {name}\n" in chapters for name in TABLES)


def test_a_table_stands_behind_its_sources() -> None:
    """Answers are made in the order of the declarations, so a source must be complete before."""
    seen: set[str] = set()
    for table in TABLES.values():
        assert seen.issuperset(table.sources), table.name
        seen.add(table.name)


def test_every_typed_table_has_a_derivation_from_its_source() -> None:
    typed = {table.name: table.sources for table in TABLES.values() if table.layer is Layer.TYPED}
    assert typed == {name: (derivation.source,) for name, derivation in DERIVATIONS.items()}


def test_columns_are_documented_once() -> None:
    for table in TABLES.values():
        assert len(set(table.names)) == len(table.columns), table.name
        assert all(column.doc.endswith(".") for column in table.columns), table.name
        assert not table.dated or "time" in table.names, table.name
