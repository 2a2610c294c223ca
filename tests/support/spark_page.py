"""The table of docs/spark.md, made from the options: ``python -m tests.support.spark_page`` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kraft.spark.options import Option
from kraft.spark.topic_options import TOPIC_OPTIONS

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
BEGIN, END = "<!-- options -->\n", "<!-- end of options -->\n"


def render(page: str) -> str:
    """Return the page with the present table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n".join(_table()) + END + after


def _table() -> Iterator[str]:
    yield ""
    yield "| option | type | default | |"
    yield "|---|---|---|---|"
    for option in TOPIC_OPTIONS:
        if option.has_effect:
            yield f"| `{option.name}` | {option.kind.name} | {_default(option)} | {_cell(option.doc)} |"
    yield ""
    names = ", ".join(f"`{option.name}`" for option in TOPIC_OPTIONS if not option.has_effect)
    yield f"Accepted for compatibility, without effect: {names}."
    yield ""


def _default(option: Option[Any]) -> str:
    if option.shown_default or option.default is None:
        return option.shown_default
    return f"`{str(option.default).lower() if isinstance(option.default, bool) else option.default}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text()))
