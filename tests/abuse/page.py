"""The tables of verdicts, and their places in docs/robustness/heavy-requests.md."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests.abuse.campaign import Verdict

MARKS = "<!-- {name} -->", "<!-- end of {name} -->"


def replace_table(page: Path, name: str, lines: Iterable[str]) -> None:
    """Put a table between its two marks.

    Raises ValueError if the page does not have them.
    """
    first, last = (re.escape(mark.format(name=name)) for mark in MARKS)
    table = "\n".join(lines)
    text, count = re.subn(
        rf"({first}\n).*?({last})", lambda marks: f"{marks[1]}\n{table}\n\n{marks[2]}", page.read_text(), flags=re.S
    )
    if count != 1:
        raise ValueError(f"{page} has no place for the table {name!r}")
    page.write_text(text)


def beside_peers(verdicts: Mapping[str, Sequence[Verdict]]) -> list[str]:
    """Each attack on one node, with the peers side by side. The peers' verdicts have the same order."""
    columns = ["response", "neighbour's p99, worst", "MiB before, peak, after"]
    names = [f"{peer}: {column}" for peer in verdicts for column in columns]
    lines = _head("attack", *names)
    for row in zip(*verdicts.values(), strict=True):
        cells = (cell for each in row for cell in (str(each.outcome), _neighbour(each), _memory(each)))
        lines.append(_line(row[0].attack, *cells))
    return lines


def in_cluster(verdicts: Iterable[Verdict]) -> list[str]:
    """Each attack on the leader of three nodes."""
    lines = _head("attack", "response", "longest step", "neighbour's p99, worst", "controller's p99, worst", "quorum")
    for each in verdicts:
        lines.append(
            _line(each.attack, str(each.outcome), _step(each), _neighbour(each), _controller(each), _quorum(each))
        )
    return lines


def by_api(verdicts: Mapping[str, Sequence[Verdict]]) -> list[str]:
    """The worst of the requests of each API."""
    lines = _head("API", "requests", "longest step", "neighbour's p99", "controller's p99", "MiB added", "quorum")
    for api, rows in verdicts.items():
        slowest = max(rows, key=lambda each: each.step.cpu_ms if each.step else 0)
        added = max(each.memory_mib[1] - each.memory_mib[0] for each in rows)
        waits = (max(each.p99_ms for each in rows), max(each.control_p99_ms for each in rows))
        quorum = next((text for text in map(_quorum, rows) if text != UNCHANGED), UNCHANGED)
        p99s = (f"{wait:.0f} ms" for wait in waits)
        lines.append(_line(api, str(len(rows)), _step(slowest), *p99s, str(added), quorum))
    return lines


def grouped(verdicts: Iterable[tuple[str, Verdict]]) -> dict[str, list[Verdict]]:
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for name, verdict in verdicts:
        groups[name].append(verdict)
    return groups


UNCHANGED = "unchanged"
LOST = frozenset({"a node ended", "another epoch", "a fenced broker"})
"""The faults after which a cluster has another state."""


def _head(*columns: str) -> list[str]:
    return [_line(*columns), "|" + "---|" * len(columns)]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _step(verdict: Verdict) -> str:
    text = str(verdict.step) if verdict.step else "below 10 ms"
    return _marked(text, "step" in verdict.faults())


def _neighbour(verdict: Verdict) -> str:
    return _marked(f"{verdict.p99_ms:.1f}, {verdict.worst_ms:.0f} ms", "neighbour" in verdict.faults())


def _controller(verdict: Verdict) -> str:
    return _marked(f"{verdict.control_p99_ms:.1f}, {verdict.control_worst_ms:.0f} ms", "controller" in verdict.faults())


def _memory(verdict: Verdict) -> str:
    return _marked(", ".join(map(str, verdict.memory_mib)), "memory" in verdict.faults())


def _quorum(verdict: Verdict) -> str:
    lost = [fault for fault in verdict.faults() if fault in LOST]
    return _marked(", ".join(lost), True) if lost else UNCHANGED


def _marked(text: str, is_over: bool) -> str:
    return f"**{text}**" if is_over else text
