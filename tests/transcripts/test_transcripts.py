"""Each transcript has the effects of the present cores: the test performs its commands again and compares the text.

``pytest tests/transcripts --rewrite-transcripts`` writes the present effects instead. Read the diff before you commit
it: the title of a transcript is a claim, and its text is the only proof.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from kraft.testing.transcript import TranscriptError, replay

TRANSCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))
MAX_LINES = 80


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_has_the_effects_of_the_cores(path: Path, request: pytest.FixtureRequest) -> None:
    written = path.read_text()
    happens = replay(written)
    if request.config.getoption("--rewrite-transcripts"):
        path.write_text(happens)
        return
    difference = difflib.unified_diff(written.splitlines(), happens.splitlines(), "written", "happens", lineterm="")
    assert happens == written, "\n".join(["the cores have other effects:", *difference])


def test_a_transcript_begins_with_its_claim_and_its_source() -> None:
    assert len(TRANSCRIPTS) >= 14
    for path in TRANSCRIPTS:
        title, gap, *lines = path.read_text().splitlines()
        assert (title[:2], gap) == ("# ", "#"), f"{path.name} does not begin with its claim in one line"
        assert lines[0].startswith("# "), f"{path.name} has no explanation"
        assert len(lines) <= MAX_LINES, f"{path.name} has {len(lines)} lines, a page has {MAX_LINES}"
        assert any("KIP-" in line or "Raft" in line for line in lines), f"{path.name} names neither a KIP nor Raft"


def test_a_changed_transcript_differs() -> None:
    path = next(path for path in TRANSCRIPTS if path.stem == "an_election_survives_an_unreachable_voter")
    changed = path.read_text().replace("1 and 2 granted their votes", "1 and 3 granted their votes")
    assert replay(changed) != changed


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("quorum 1\n----\n\nvote 1\n----\n", "line 4: there is no command 'vote'"),
        ("quorum 1\ntimeout 2\n----\n", "line 2: timeout 2"),
        ("quorum 1\ntimeout 1\n----\n", "line 2: timeout 1: 1 has no timer"),
        ("quorum 1 2 3\nelect 2\nelect 2\n----\n", "line 3: elect 2: it is Resigned"),
        ("quorum 1\nstate 1 x\n----\n", "line 2: state 1 x"),
        ("quorum 1\nwipe 1\n----\n", "line 2: wipe 1: it runs"),
        ("quorum\ntimeout\n----\n", "line 2: timeout"),
        ("----\nok\n", "line 1: no command before ----"),
        ("quorum 1\n", "line 1: the effects are missing"),
        ("quorum 1\n\n----\n", "line 2: commands and ---- belong together"),
    ],
)
def test_an_invalid_transcript_is_refused(text: str, error: str) -> None:
    with pytest.raises(TranscriptError, match=error):
        replay(text)
