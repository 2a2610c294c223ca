"""The `kraft` command: thin, one module per sub-command, each imported only when it is asked for."""

from __future__ import annotations
