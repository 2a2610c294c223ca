"""docs/quorum.md and its chapters: the files in ``prose``, filled with transcripts, examples and tables of the code.

``python -m tests.transcripts.page`` writes them. Lines of the prose stand for parts:

- ``<!-- transcript NAME -->``: a transcript, folded under its title;
- ``<!-- beginning NAME -->``: a transcript to the end of its first block;
- ``<!-- example NAME -->``: the output of an example;
- ``<!-- sequence NAME 2-5 -->``: the diagram of these blocks of a transcript;
- ``<!-- NAME -->``: one of the parts below.
"""

from __future__ import annotations

import html
import inspect
import re
from pathlib import Path

import attrs

from kraft.raft.state import TRANSITIONS
from kraft.raft.timing import Timing
from kraft.testing.transcript import Stage
from tests.transcripts.sequence import sequence

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROSE = HERE / "prose"
DOCS = ROOT / "docs"
_PLACE = re.compile(r"^<!-- (\w+)(?: (\w+)(?: (\d+)-(\d+))?)? -->$", re.MULTILINE)


def pages() -> dict[Path, str]:
    """Every page as it should be, by its path in docs/."""
    return {DOCS / path.relative_to(PROSE): render(path.read_text()) for path in sorted(PROSE.rglob("*.md"))}


def prose() -> str:
    """The prose of all pages."""
    return "\n".join(path.read_text() for path in sorted(PROSE.rglob("*.md")))


def render(text: str) -> str:
    """``text`` with its places filled."""
    parts = {"diagram": diagram, "transitions": transitions, "timing": timing, "commands": commands}

    def fill(place: re.Match[str]) -> str:
        kind, name, first, last = place.groups()
        if kind == "transcript":
            return transcript(name)
        if kind == "beginning":
            return beginning(name)
        if kind == "sequence":
            return sequence((HERE / f"{name}.txt").read_text(), int(first), int(last))
        return example(name) if kind == "example" else parts[kind]()

    return _PLACE.sub(fill, text)


def mentioned(kind: str) -> set[str]:
    """The transcripts, or examples, that the prose has."""
    return {name for found, name, *_ in _PLACE.findall(prose()) if found == kind}


def transcript(name: str) -> str:
    """A transcript, folded; its first line, and an empty one behind it, are the title."""
    title, _, *lines = (HERE / f"{name}.txt").read_text().rstrip().splitlines()
    text = "\n".join(lines)
    return (
        f"<details><summary>{html.escape(title.removeprefix('# '))}</summary>\n\n```text\n{text}\n```\n\n</details>\n"
    )


def beginning(name: str) -> str:
    """A transcript to the end of its first block, with its title and explanation."""
    head, first, *_ = (HERE / f"{name}.txt").read_text().split("\n\n")
    return f"```text\n{head}\n\n{first}\n```"


def example(name: str) -> str:
    printed = (ROOT / "examples" / f"{name}.out").read_text().rstrip()
    return f"```console\n$ python examples/{name}.py\n{printed}\n```"


def diagram() -> str:
    """The transition table as a state diagram. An arrow has the number of its line there, and the first cause."""
    arrows = [
        f"    {before.__name__} --> {after.__name__} : {number} {first_cause(why)}"
        for number, ((before, after), why) in enumerate(TRANSITIONS.items(), 1)
    ]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> Unattached", *arrows, "```"])


def first_cause(why: str) -> str:
    """``the node is shutting down …``: the dots replace the other causes, which the table has."""
    first, *others = re.split(r"[,;] or ", why)
    return f"{first} …" if others else first


def transitions() -> str:
    return "\n".join(
        f"| {number} | {before.__name__} | {after.__name__} | {why} |"
        for number, ((before, after), why) in enumerate(TRANSITIONS.items(), 1)
    )


def timing() -> str:
    """Return the rows of Timing: each field with its default and its text in the docstring; then the derived times."""
    described = re.findall(r"``(\w+)``: (.+?)(?=\s*(?:- )?``\w+``: |\s*$)", inspect.getdoc(Timing) or "", re.DOTALL)
    defaults = {field.name: field.default for field in attrs.fields(Timing)}
    assert [name for name, _ in described] == list(defaults), "each field of Timing is described, in order"
    rows = [(name, defaults[name], text) for name, text in described]
    usual = Timing()
    for name, member in vars(Timing).items():
        if isinstance(member, property):
            derived = f"{getattr(usual, name) / usual.fetch_timeout_s:g} times `fetch_timeout_s`."
            rows.append((name, getattr(usual, name), f"{derived} {inspect.getdoc(member)}"))
    return "\n".join(f"| `{name}` | {seconds:g} | {' '.join(text.split())} |" for name, seconds, text in rows)


def commands() -> str:
    """The commands of a transcript, by the docstrings of what performs them."""
    lines = []
    for name, method in vars(Stage).items():
        if name.startswith("do_"):
            words = " ".join((inspect.getdoc(method) or "").split())
            usage, _, text = words.replace("``", "`").replace("|", "\\|").partition(": ")
            lines.append(f"| {usage} | {text} |")
    return "\n".join(lines)


if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
