"""docs/differences.md, made from the table of allowed differences: ``python -m tests.differential.page`` writes it."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path

from tests.differential.allowed import ALLOWED
from tests.support.fetchers import APACHE_KAFKA as _NEW
from tests.support.fetchers import APACHE_KAFKA_WITH_ZOOKEEPER as _OLD

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"

_HEAD = f"""# Differences from Apache Kafka

Made by `python -m tests.differential.page` from the table that the differential tests allow; a test compares. Those
tests send the same requests to this node and to Apache Kafka, both at metadata.version 3.9-IV0 and with the same
settings, in every version that both offer, and compare the answers field by field: at the listener of clients, beside
Apache Kafka {_NEW}; at that of controllers, and at one voter of three whose peers the tests play, there with what it
wrote to quorum-state, beside {_NEW} and beside {_OLD}.
Ids, ports, times and the wording of texts may differ; whether there is a text may not. What is not in this list, and is
asked by a scenario, is the same.

{{count}} differences are known. Folded under each are the places where it is allowed: the scenario, the request with
its version and case, and the field; `*` stands for anything. A place with a version behind it is one where that version
alone differs.
"""


def render() -> str:
    reasons: dict[str, list[str]] = {}
    for scenario, entries in sorted(ALLOWED.items()):
        for entry in entries:
            request = " ".join(entry.label.split())
            place = f"{scenario}: `{request}`, `{entry.path or '(the whole answer)'}`"
            reasons.setdefault(entry.why, []).append(f"{place} ({entry.beside})" if entry.beside else place)
    folded = [_folded(why, dict.fromkeys(places)) for why, places in sorted(reasons.items())]
    return "\n".join([_HEAD.format(count=len(folded)), *folded])


def _folded(why: str, places: Iterable[str]) -> str:
    listed = "\n".join(f"- {place}" for place in places)
    return f"<details><summary>{html.escape(why, quote=False)}</summary>\n\n{listed}\n\n</details>\n"


if __name__ == "__main__":
    PAGE.write_text(render())
