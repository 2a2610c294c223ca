"""A sequence diagram has each message of its blocks, in order. A line of unknown form is an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.transcripts.sequence import sequence

TRANSCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_each_message_that_arrives_is_an_arrow(path: Path) -> None:
    text = path.read_text()
    arrived = re.findall(r"^(\d+)->(\d+) (\w+)", text, re.MULTILINE)
    arrows = re.findall(r"^    (\d+)--?>>(\d+): (\w+)", sequence(text, 1, text.count("\n----\n")), re.MULTILINE)
    assert arrows == arrived


def test_a_diagram_has_arrows_and_notes() -> None:
    blocks = """flush 1
----
1 writes epoch 1, voted for 1
1 sends 2, 3 and 4: Vote in epoch 1: my log is empty (lost on the way to 3)
1->2 Vote in epoch 1: my log is empty
  2 answers 1: granted, epoch 1, no leader
1 Candidate, epoch 1, log empty
"""
    assert sequence(blocks, 1, 1).splitlines()[2:-1] == [
        "    participant 1 as voter 1",
        "    participant 2 as voter 2",
        "    participant 3 as voter 3",
        "    participant 4 as voter 4",
        "    Note over 1: has flushed its disk<br/>writes epoch 1, voted for 1",
        "    1-x3: Vote in epoch 1: my log is empty",
        "    1-)4: Vote in epoch 1: my log is empty",
        "    1->>2: Vote in epoch 1: my log is empty",
    ]


def test_a_diagram_has_only_the_requested_blocks() -> None:
    assert "voter 2" not in sequence("elect 1\n----\n1->2 Vote\n\n# prose\nhold 1\n----\nok\n", 2, 2)


def test_an_observer_is_not_named_a_voter() -> None:
    drawn = sequence("quorum 1 observers 4 5\n----\nok\n\nfire 4\n----\n4->1 Fetch\n", 2, 2)
    assert drawn.splitlines()[2:4] == ["    participant 1 as voter 1", "    participant 4 as observer 4"]


def test_special_characters_of_mermaid_are_escaped() -> None:
    assert "    1->>2: a#59; b #35;1" in sequence("deliver\n----\n1->2 a; b #1\n", 1, 1)


def test_a_line_of_unknown_form_is_an_error() -> None:
    with pytest.raises(ValueError, match="this cannot be drawn: 1 sings"):
        sequence("quorum 1\n----\n1 sings\n", 1, 1)
