"""``python -m kraft.codegen``: write ``kraft/messages`` from its specs; with ``--check``, only report stale files."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kraft.codegen.index import render_index
from kraft.codegen.names import snake_case
from kraft.codegen.render import render_message
from kraft.codegen.spec import SpecError, load_all

MESSAGES = Path(__file__).parent.parent / "messages"


def generate(spec_directory: Path) -> dict[str, str]:
    """Return the generated files, formatted, by name. Raises SpecError if a spec breaks a rule."""
    specs = load_all(spec_directory)
    sources = {"_index.py": render_index(specs)}
    for spec in specs:
        try:
            sources[f"{snake_case(spec.name)}.py"] = render_message(spec)
        except SpecError as error:
            raise SpecError(f"{spec.name}.json: {error}") from None
    # One process formats all modules; a line that no module contains separates them.
    fence = "# ==== fence ====\n"
    formatted = _format(fence.join(sources.values())).split(fence)
    return dict(zip(sources, (text.strip() + "\n" for text in formatted), strict=True))


def _format(source: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--line-length=120", "--stdin-filename=m.py", "-"]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def stale_files(directory: Path, wanted: dict[str, str]) -> list[str]:
    """Return the names of generated files that differ, are missing, or no longer have a spec."""
    present = {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.py")}
    differing = [name for name, text in wanted.items() if present.get(name) != text]
    orphans = [name for name, text in present.items() if name not in wanted and text.startswith('"""Generated from ')]
    return sorted(differing + orphans)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m kraft.codegen", description="Generate the message classes.")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a generated file is not current")
    parser.add_argument(
        "--messages", type=Path, default=MESSAGES, help="the directory that holds spec/ (default: ours)"
    )
    options = parser.parse_args(arguments)
    try:
        wanted = generate(options.messages / "spec")
    except SpecError as error:
        print(error, file=sys.stderr)
        return 1
    stale = stale_files(options.messages, wanted)
    for name in stale:
        if options.check:
            print(f"{name} does not match its spec; run python -m kraft.codegen", file=sys.stderr)
        elif name in wanted:
            (options.messages / name).write_text(wanted[name], encoding="utf-8")
        else:
            (options.messages / name).unlink()
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
