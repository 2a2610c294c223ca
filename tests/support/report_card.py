"""The report card: which real client can do what here, as the tests found it.

``docs/report-card.json`` is the memory and ``docs/report-card.md`` its rendering. A run replaces the cells it tested
and leaves the others, so that runs in different environments (PyPI, interop) add up to one card.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

PASS, FAIL = "pass", "fail"
SIGNS = {PASS: "yes", FAIL: "**no**"}


@attrs.define
class ReportCard:
    """Cells by client and feature: ``pass``, ``fail``, or the reason why the client does not offer the feature."""

    versions: dict[str, str] = attrs.Factory(dict)
    cells: dict[str, dict[str, str]] = attrs.Factory(dict)

    def record(self, client: str, feature: str, outcome: str) -> None:
        """Several tests may fill one cell. A failure has precedence over a success, and so has a missing feature."""
        row = self.cells.setdefault(client, {})
        if row.get(feature, PASS) == PASS or outcome == FAIL:
            row[feature] = outcome

    def merged_over(self, older: ReportCard) -> ReportCard:
        clients = older.cells | self.cells
        return ReportCard(
            versions=older.versions | self.versions,
            cells={client: older.cells.get(client, {}) | self.cells.get(client, {}) for client in clients},
        )

    @classmethod
    def read(cls, path: Path) -> ReportCard:
        """The card kept in the JSON file, or an empty one when there is none."""
        if not path.exists():
            return cls()
        plain: dict[str, Any] = json.loads(path.read_text())
        return cls(
            versions={client: entry["version"] for client, entry in plain.items()},
            cells={client: entry["features"] for client, entry in plain.items()},
        )

    def write(self, path: Path) -> None:
        plain = {
            client: {"version": self.versions.get(client, ""), "features": dict(sorted(self.cells[client].items()))}
            for client in sorted(self.cells)
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(plain, indent=2) + "\n")


def render(card: ReportCard, features: Mapping[str, str]) -> str:
    """Return the card as a Markdown table: a row per feature, a column per client, notes below for missing features."""
    clients = sorted(card.cells)
    notes: list[str] = []

    def cell(client: str, feature: str) -> str:
        outcome = card.cells[client].get(feature)
        if outcome is None:
            return ""
        if outcome in SIGNS:
            return SIGNS[outcome]
        note = f"{client}: {outcome}"
        if note not in notes:
            notes.append(note)
        return f"– [{notes.index(note) + 1}]"

    def line(texts: list[str]) -> str:
        return "| " + " | ".join(texts) + " |"

    table = [
        line(["", *(f"{client} {card.versions.get(client, '')}".strip() for client in clients)]),
        line(["---"] * (len(clients) + 1)),
        *(line([words, *(cell(client, feature) for client in clients)]) for feature, words in features.items()),
    ]
    legend = [f"{number}. {note}" for number, note in enumerate(notes, start=1)]
    return "\n".join([*HEAD, "", *table, "", *legend]).rstrip() + "\n"


HEAD = """\
# Report card

Real, unmodified clients against one node, as the tests found them. This page is not edited by hand:
`pytest tests/clients tests/process/test_transactions.py --report-card docs/report-card.md` writes it.

“yes”: the test passed. “**no**”: it failed. “–”: the client itself offers no such thing; the note says what is missing.
Empty: not tested.
""".splitlines()
