"""``python -m kraft.node``: runs :mod:`kraft.node.command`, which it imports without the garbage collector.

The import takes a seventh less time without it, because all that is imported lives as long as the process. For the same
reason the running node's collector skips the imported objects.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trio.abc import Instrument


def main(
    arguments: Sequence[str] | None = None,
    instruments: Sequence[Instrument] = (),
    *,
    prog: str = "python -m kraft.node",
) -> int:
    """Run a node, with these instruments of Trio, and return the exit status. ``prog`` is the command in the help."""
    gc.disable()
    from kraft.node.command import run

    gc.freeze()
    gc.enable()
    return run(arguments, prog, instruments=instruments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # before the node watches signals: most of its start is imports
        sys.exit(130)
