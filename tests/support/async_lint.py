"""``python -m tests.support.async_lint``: flake8-async on the modules that have to do with Trio.

The plugin takes two milliseconds for each line, and two thirds of the lines are in synchronous modules. It does not run
the visitors of rules that are not enabled.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

RULES = (100, 101, 102, 103, 104, 105, 106, 109, 110, 111, 112, 113, 119, 120)
_ASYNC = re.compile(r"\b(async|await|trio)\b")


def async_modules(package: Path) -> list[Path]:
    """Return the modules below ``package`` with a word of async code, also in a comment."""
    return [path for path in sorted(package.rglob("*.py")) if _ASYNC.search(path.read_text())]


def main() -> int:
    modules = [str(path) for path in async_modules(Path("kraft"))]
    rules = ",".join(f"ASYNC{rule}" for rule in RULES)
    options = f"--select={rules}", f"--enable={rules}", "--jobs=2"
    return subprocess.run([sys.executable, "-m", "flake8", *options, *modules]).returncode


if __name__ == "__main__":
    raise SystemExit(main())
