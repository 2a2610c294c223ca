"""The walk in docs/pipeline.md, as a reader takes it: ``python -m tests.support.pipeline_walk`` writes its outputs.

It runs the shell commands of the walk, then its Python, in an empty directory, and writes what the Python prints into
the page, and the pictures of the report. The nodes listen on the ports that the page names. Needs the extra
kraft[spark], Java and Chromium.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.support.browser import screenshot
from tests.support.report_picture import PICTURES, WIDTH

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"
TABLES = "tables"
RUN_LIMIT_S = 900
_WALK = re.compile(r"^## A walk.*?(?=^## )", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: For each picture, the sections that it shows, as a selector without its first sign, and its height.
PARTS = {
    "walk-quorum.png": ("quorum, #failovers", 760),
    "walk-partitions.png": ("partitions, #unavailability", 1230),
    "walk-latency.png": ("latency", 730),
}


@attrs.frozen
class Cell:
    """A block of Python in the walk, and the output that the page shows; None if it shows none."""

    code: str
    output: str | None


def shell() -> list[str]:
    """Return the shell commands of the walk."""
    return [text for kind, text in _blocks() if kind == "sh"]


def cells() -> list[Cell]:
    """Return the Python of the walk."""
    blocks = [(kind, text) for kind, text in _blocks() if kind != "sh"]
    outputs = [text if kind == "text" else None for kind, text in blocks[1:]]
    return [
        Cell(text, output) for (kind, text), output in zip(blocks, [*outputs, None], strict=True) if kind == "python"
    ]


def _blocks() -> list[tuple[str, str]]:
    walk = _WALK.search(PAGE.read_text())
    assert walk is not None, "the page has no walk"
    return _BLOCK.findall(walk[0])


def outputs(tables: Path) -> Iterator[str]:
    """Run the Python of the walk on the tables in a directory. Yield the output of each cell."""
    namespace: dict[str, object] = {}
    for cell in cells():
        code = cell.code.replace(f'f"{TABLES}/', f'f"{tables}/')  # the JVM may run in another directory
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), namespace)
        yield printed.getvalue()


def write(directory: Path) -> None:
    """Write the outputs and pictures of the walk that was taken in ``directory`` into the docs."""
    printed = iter([text for text in outputs(directory / TABLES) if text])

    def filled(block: re.Match[str]) -> str:
        return f"```text\n{next(printed).rstrip()}\n```" if block[1] == "text" else block[0]

    PAGE.write_text(_WALK.sub(lambda walk: _BLOCK.sub(filled, walk[0]), PAGE.read_text()))
    report, page = (directory / "report.html").read_text(encoding="utf-8"), directory / "part.html"
    for name, (shown, height) in PARTS.items():
        style = f"<style>header, footer, section:not(#{shown}) {{ display: none }}</style></head>"
        page.write_text(report.replace("</head>", style), encoding="utf-8")
        screenshot(page, PICTURES / name, width=WIDTH, height=height)
        print(f"{PICTURES / name}: {(PICTURES / name).stat().st_size:,} bytes")


def main() -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = ["bash", "-c", "set -e\n" + "".join(shell())]
    with tempfile.TemporaryDirectory(prefix="kraft-walk-") as directory:
        subprocess.run(command, cwd=directory, env={**os.environ, "PATH": path}, timeout=RUN_LIMIT_S, check=True)
        write(Path(directory))


if __name__ == "__main__":
    main()
