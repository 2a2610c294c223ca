"""The pages' links among themselves: each leads to a file, and to a heading in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)")


def pages() -> list[Path]:
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target, anchor in _LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            yield f"{target}#{anchor}"


def test_each_link_leads_somewhere() -> None:
    found = {str(page.relative_to(ROOT)): list(broken(page)) for page in pages()}
    assert {page: links for page, links in found.items() if links} == {}


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page's `name`\n[a](page.md) [b](#a-pages-name) [c](#gone) [d](gone.md) [e](https://example.org/x)\n"
    )
    assert list(broken(page)) == ["#gone", "gone.md#"]
