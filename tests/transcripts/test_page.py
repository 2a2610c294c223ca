"""docs/quorum.md and its chapters say what the code does, and have every transcript; their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from kraft.raft.state import TRANSITIONS
from tests.transcripts.page import DOCS, ROOT, diagram, first_cause, mentioned, pages, prose


def test_the_pages_are_what_they_are_made_of() -> None:
    """If not: ``python -m tests.transcripts.page``."""
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
    assert first_cause("asked to stop, or no majority fetched for too long") == "asked to stop …"
    assert first_cause("a newer epoch with a leader") == "a newer epoch with a leader"


def test_each_time_that_the_text_speaks_of_is_in_the_story_that_it_tells() -> None:
    story = (ROOT / "examples" / "07_why_did_it_change.out").read_text()
    times = re.findall(r"\d\d:\d\d:\d\d\.\d+", prose())
    assert times
    assert [time for time in times if time not in story] == []


def test_their_links_lead_somewhere() -> None:
    """docs/glossary.md and the files of the repository, from where each page stands."""
    for path, text in pages().items():
        links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        assert [link for link in links if not (path.parent / link).exists()] == [], path
