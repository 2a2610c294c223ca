"""``python -m kraft`` is the ``kraft`` command."""

from __future__ import annotations

from kraft.cli.main import main

if __name__ == "__main__":
    main()
