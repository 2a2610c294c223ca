"""Each transcript is what the cores do: its commands are performed anew, and what happens must be what is written.

``pytest tests/transcripts --rewrite-transcripts`` writes what happened instead. Read the difference before you commit
it: the title of each is a claim, and its text is the only proof.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from kraft.testing.transcript import TranscriptError, replay

TRANSCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))
MAX_LINES = 80


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_what_happens_is_what_is_written(path: Path, request: pytest.FixtureRequest) -> None:
    written = path.read_text()
    happens = replay(written)
    if request.config.getoption("--rewrite-transcripts"):
        path.write_text(happens)
        return
    difference = difflib.unified_diff(written.splitlines(), happens.splitlines(), "written", "happens", lineterm="")
    assert happens == written, "\n".join(["the cores do otherwise:", *difference])


def test_each_is_a_page_that_begins_with_its_claim_and_its_story() -> None:
    assert len(TRANSCRIPTS) >= 14
    for path in TRANSCRIPTS:
        title, gap, *lines = path.read_text().splitlines()
        assert (title[:2], gap) == ("# ", "#"), f"{path.name} does not begin with one line that says what it claims"
        assert lines[0].startswith("# "), f"{path.name} does not say what it is about"
        assert len(lines) <= MAX_LINES, f"{path.name} has {len(lines)} lines, a page has {MAX_LINES}"
        assert any("KIP-" in line or "Raft" in line for line in lines), f"{path.name} does not say who wants it so"


def test_a_change_is_noticed() -> None:
    path = next(path for path in TRANSCRIPTS if path.stem == "an_election_survives_one_deaf_voter")
    changed = path.read_text().replace("1 and 2 granted their votes", "1 and 3 granted their votes")
    assert replay(changed) != changed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("quorum 1\n----\n\nvote 1\n----\n", "line 4: there is no command 'vote'"),
        ("quorum 1\ntimeout 2\n----\n", "line 2: timeout 2"),
        ("quorum 1\ntimeout 1\n----\n", "line 2: timeout 1: 1 has no timer"),
        ("quorum 1 2 3\nelect 2\nelect 2\n----\n", "line 3: elect 2: it is Resigned"),
        ("quorum 1\nstate 1 x\n----\n", "line 2: state 1 x"),
        ("quorum 1\nwipe 1\n----\n", "line 2: wipe 1: it runs"),
        ("quorum\ntimeout\n----\n", "line 2: timeout"),
        ("----\nok\n", "line 1: no command before ----"),
        ("quorum 1\n", "line 1: what happens is missing"),
        ("quorum 1\n\n----\n", "line 2: commands and ---- belong together"),
    ],
)
def test_what_is_no_transcript_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(TranscriptError, match=complaint):
        replay(text)
