"""``python -m kraft.api.index``: write ``table.py`` from the rows of the APIs, or check it with ``--check``.

Development time only. A node that starts reads the table and imports none of the APIs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kraft.api.row import Api, ListenerType
from kraft.messages.registry import ApiKey

TABLE = Path(__file__).with_name("table.py")

_HEAD = '''"""The APIs that each kind of listener offers, and those that brokers may forward.

``python -m kraft.api.index`` generates this file from the rows. Do not edit it.
"""

from __future__ import annotations

from typing import Final

from kraft.api.row import ListenerType, Versions
from kraft.messages.registry import ApiKey

'''


def rows() -> list[Api]:
    """Import all APIs that have a file here, and return their rows by key."""
    files = {path.stem for path in TABLE.parent.glob("*.py")}
    found = (
        importlib.import_module(f"kraft.api.{key.name.lower()}").ROW for key in ApiKey if key.name.lower() in files
    )
    return sorted(found, key=lambda row: row.key)


def render() -> str:
    """Return the source of ``table.py``, formatted as ruff does."""
    return _HEAD + "\n".join(_tables(rows())) + "\n"


def _tables(apis: Sequence[Api]) -> Iterator[str]:
    yield "OFFERED: Final[dict[ListenerType, dict[int, Versions]]] = {"
    for listener in ListenerType:
        offered = [f"ApiKey.{api.key.name}: {api.versions[listener]}" for api in apis if listener in api.versions]
        if not offered:
            yield f"    ListenerType.{listener.name}: {{}},"
            continue
        yield f"    ListenerType.{listener.name}: {{"
        yield from (f"        {each}," for each in offered)
        yield "    },"
    yield "}"
    yield '"""The versions of each API that a kind of listener offers."""'
    yield ""
    yield "FORWARDABLE: Final = frozenset("
    yield "    {"
    yield from (f"        ApiKey.{api.key.name}," for api in apis if api.forwardable)
    yield "    }"
    yield ")"
    yield '"""The APIs that a broker may forward to the active controller in an Envelope (KIP-590)."""'


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kraft.api.index", description="Write the table of the APIs.")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if the table is not current")
    options = parser.parse_args(arguments)
    wanted = render()
    if options.check:
        if TABLE.read_text(encoding="utf-8") == wanted:
            return 0
        print("kraft/api/table.py does not match the rows; run python -m kraft.api.index", file=sys.stderr)
        return 1
    TABLE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
