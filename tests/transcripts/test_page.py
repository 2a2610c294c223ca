"""docs/quorum.md and its chapters agree with the code and have every transcript; their links have targets."""

from __future__ import annotations

import re
from pathlib import Path

from kraft.raft.state import TRANSITIONS
from tests.transcripts.page import DOCS, ROOT, diagram, first_cause, mentioned, pages, prose


def test_the_pages_are_up_to_date() -> None:
    """``python -m tests.transcripts.page`` writes them."""
    made = pages()
    assert [path for path, text in made.items() if not path.exists() or path.read_text() != text] == []
    assert set((DOCS / "quorum").iterdir()) <= set(made)


def test_every_chapter_is_on_the_map() -> None:
    overview = (DOCS / "quorum.md").read_text()
    chapters = {f"quorum/{path.name}" for path in (DOCS / "quorum").iterdir()}
    assert chapters == set(re.findall(r"\]\((quorum/[^)]+)\)", overview))


def test_every_transcript_is_on_the_page() -> None:
    assert mentioned("transcript") == {path.stem for path in Path(__file__).parent.glob("*.txt")}


def test_every_transition_is_in_the_diagram() -> None:
    arrows = re.findall(r"(\w+) --> (\w+) : \d+ \S", diagram())
    assert arrows == [(before.__name__, after.__name__) for before, after in TRANSITIONS]


def test_an_arrow_has_the_first_cause() -> None:
    assert first_cause("the node is shutting down, or no majority fetched") == "the node is shutting down …"
    assert first_cause("a newer epoch with a leader") == "a newer epoch with a leader"


def test_each_time_in_the_prose_is_in_the_output_of_the_example() -> None:
    story = (ROOT / "examples" / "07_why_did_it_change.out").read_text()
    times = re.findall(r"\d\d:\d\d:\d\d\.\d+", prose())
    assert times
    assert [time for time in times if time not in story] == []


def test_their_links_have_targets() -> None:
    """The targets are relative to the page, such as docs/glossary.md or another file of the repository."""
    for path, text in pages().items():
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        assert [link for link in links if not (path.parent / link).exists()] == [], path
