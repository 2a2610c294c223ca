"""docs/quorum.md says what the code does, and has every transcript; its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

from kraft.raft.state import TRANSITIONS
from tests.transcripts.page import PAGE, PROSE, ROOT, diagram, first_cause, mentioned, render


def test_the_page_is_what_it_is_made_of() -> None:
    """If not: ``python -m tests.transcripts.page``."""
    assert PAGE.read_text() == render()


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
    times = re.findall(r"\d\d:\d\d:\d\d\.\d+", PROSE.read_text())
    assert times
    assert [time for time in times if time not in story] == []


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text())
    assert links
    lost = [link for link in links if "://" not in link and not (PAGE.parent / link).exists()]
    assert not lost
