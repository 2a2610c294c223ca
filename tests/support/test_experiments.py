"""docs/experiments.md has the tables of the recorded results."""

from __future__ import annotations

from tests.support.experiments import PAGE, RECORDED, with_tables


def test_the_page_has_the_recorded_figures() -> None:
    """A figure that was edited by hand, or a result that was recorded without the page, is noticed."""
    page = PAGE.read_text()
    assert with_tables(page) == page
    assert all(f"<!-- {path.stem} -->" in page for path in RECORDED.glob("*.json"))
