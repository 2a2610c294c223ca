"""``python -m tests.differential.page`` writes docs/differences.md from the table of allowed differences."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from tests.differential.allowed import ALLOWED
from tests.support.fetchers import APACHE_KAFKA as _NEW
from tests.support.fetchers import APACHE_KAFKA_WITH_ZOOKEEPER as _OLD

PAGE = Path(__file__).parents[2] / "docs" / "differences.md"

_HEAD = f"""# Differences from Apache Kafka

A Produce request has more bytes after its batch. Apache Kafka drops those bytes, and this node refuses the request. The
table has each of the {{count}} known differences of this kind, and the number of the places where it occurs.

The differential tests send the same requests to this node and to Apache Kafka, in every version that both offer. Both
run at metadata.version 3.9-IV0 with the same settings, and for transactions and the new groups at 4.3-IV0 with the
newest level of each feature. The tests compare the responses field by field:

- at a broker, with Apache Kafka {_NEW};
- at a controller, with {_NEW} and {_OLD};
- at one voter of three, with {_NEW} and {_OLD}. The tests play the other two voters, and compare `quorum-state`, too.

Ids, ports, times and the texts of error messages may differ; their presence may not. All other responses in these
tests are equal. `python -m tests.differential.page` makes the page from the table of allowed differences, and a test
compares the two.

A place is the scenario, the request with its version and case, and the field. `*` matches any text. A place with a
version in brackets is a difference from that version alone.

| difference | places |
|---|---|
"""


def render() -> str:
    reasons: dict[str, list[str]] = {}
    for scenario, entries in sorted(ALLOWED.items()):
        for entry in entries:
            request = " ".join(entry.label.split())
            place = f"{scenario}: `{request}`, `{entry.path or '(the whole response)'}`"
            reasons.setdefault(entry.why, []).append(f"{place} ({entry.beside})" if entry.beside else place)
    rows = [_row(why, list(dict.fromkeys(places))) for why, places in sorted(reasons.items())]
    return _HEAD.format(count=len(rows)) + "\n".join(rows) + "\n"


def _row(why: str, places: Sequence[str]) -> str:
    folded = f"<details><summary>{len(places)}</summary>{'<br>'.join(places)}</details>"
    return f"| {html.escape(why, quote=False)} | {folded} |"


if __name__ == "__main__":
    PAGE.write_text(render())
