"""Blocks of a transcript as a sequence diagram: Mermaid's language, which GitHub draws.

The diagram has nothing that the transcript lacks. A message that arrives is an arrow, solid for a request and dashed
for a response. A lost message ends in a cross, and a request that is still in flight at the end in an open head. A
node's own action is a note over it. The diagram omits responses that do not arrive in these blocks, accepted requests
(the response shows them), and the output of ``state`` and ``mail``.
"""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence

WIDTH = 44
#: These commands have no line of output. ``Stage`` defines their effects.
_COMMANDS = {"hold": "has a slow disk from now on", "flush": "has flushed its disk"}
_OBSERVERS = re.compile(r"^quorum .* observers ([\d ]+)$", re.MULTILINE)
_TIME = re.compile(r"^[0-9.]+ s  ")
_ARRIVAL = re.compile(r"(\d+)->(\d+) (.+)")
_CHANGE = re.compile(r"(\d+): (\w+) -> (\w+) in epoch (\d+): (.+)")
_SENT = re.compile(r"(\d+) sends ([0-9, and]+): (.+?)(?: \(lost on the way to ([0-9, and]+)\))?$")
_UNSEEN = re.compile(r"\d+ (answers \d+: |accepts |\w+( of \d+)?, epoch |is down)|lost: |nothing is under way$|ok$")
_DEED = re.compile(
    r"(\d+) "
    r"((?:grants|refuses|leads|writes|appends|truncates|has|advances|stores|replaces|parks|deletes|stops)\b.+)"
)


def sequence(transcript: str, first: int, last: int) -> str:
    """Return the blocks ``first`` to ``last`` of a transcript, from 1 on.

    Raises ValueError for a line of unknown form.
    """
    blocks = [block for block in transcript.split("\n\n") if "----" in block.splitlines()]
    steps = list(_steps(blocks[first - 1 : last]))
    nodes = sorted({int(node) for step in steps for node in step[:2] if node})
    observers = {int(node) for found in _OBSERVERS.findall(transcript) for node in found.split()}
    lines = [f"    participant {node} as {'observer' if node in observers else 'voter'} {node}" for node in nodes]
    for (source, target, arrow), alike in itertools.groupby(steps, key=lambda step: step[:3]):
        texts = [text for *_, text in alike]
        if arrow:
            lines += (f"    {source}{arrow}{target}: {_wrapped(text)}" for text in texts)
        else:
            lines.append(f"    Note over {source}: {'<br/>'.join(map(_wrapped, texts))}")
    return "\n".join(["```mermaid", "sequenceDiagram", *lines, "```"])


def _steps(blocks: Sequence[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield source, target, arrow and text of each arrow or note; a note has neither target nor arrow."""
    lines: list[str] = []
    for block in blocks:
        commands, told = block.split("\n----\n")
        for command in commands.splitlines():
            name, *words = command.split()
            lines += [f"{words[0]} {_COMMANDS[name]}"] if name in _COMMANDS else []
        lines += (_TIME.sub("", line).strip() for line in told.splitlines())
    for number, line in enumerate(lines):
        if found := _ARRIVAL.fullmatch(line):
            yield found[1], found[2], "-->>" if " answered: " in line else "->>", found[3]
        elif found := _CHANGE.fullmatch(line):
            node, before, after, epoch, why = found.groups()
            yield node, "", "", f"{'still' if before == after else 'now'} {after}, epoch {epoch}: {why}"
        elif found := _SENT.fullmatch(line):
            lost = _numbers(found[4] or "")
            for target in _numbers(found[2]):
                if target in lost:
                    yield found[1], target, "-x", found[3]
                elif f"{found[1]}->{target} {found[3]}" not in lines[number:]:
                    yield found[1], target, "-)", found[3]
        elif found := _DEED.fullmatch(line):
            yield found[1], "", "", found[2]
        elif not _UNSEEN.match(line):
            raise ValueError(f"this cannot be drawn: {line}")


def _numbers(names: str) -> list[str]:
    return re.findall(r"\d+", names)


def _wrapped(text: str) -> str:
    """Wrap in lines of ``WIDTH`` characters. A semicolon would end the statement, a number sign begin a code."""
    lines = textwrap.wrap(text, WIDTH, break_long_words=False)
    return "<br/>".join(lines).translate({ord("#"): "#35;", ord(";"): "#59;"})
