"""The open files of a node: counted once at the start, and divided so that no use takes them from another.

- Connections get about half. A connection beyond that is refused at once, and never reaches a processor.
- Logs get a quarter. They need no file per partition: ``kraft.storage.open_files`` closes those that are not in use.
- The reserve is for all that must never fail: accepting, the connections to peers, checkpoints, snapshots, the journal.
"""

from __future__ import annotations

import resource

import attrs

from kraft.config.setting import ConfigError

MIN_OPEN_FILES = 128
_MAX_RESERVE = 256


@attrs.frozen
class FileBudget:
    """The parts of the limit of open files."""

    limit: int
    connections: int
    logs: int

    @property
    def reserve(self) -> int:
        return self.limit - self.connections - self.logs

    @classmethod
    def of(cls, limit: int) -> FileBudget:
        """Divide a limit. Raises ConfigError if it is too low for a node."""
        if limit < MIN_OPEN_FILES:
            what = f"this process may have {limit} open files, and a node needs at least {MIN_OPEN_FILES}"
            raise ConfigError(f"{what}: raise the limit (ulimit -n, or LimitNOFILE of a service)")
        free = limit - min(limit // 4, _MAX_RESERVE)
        return cls(limit, connections=free - free // 3, logs=free // 3)

    def __str__(self) -> str:
        parts = f"{self.connections} for connections, {self.logs} for logs, {self.reserve} in reserve"
        return f"this process may have {self.limit} open files: {parts}"


def raise_file_limit() -> FileBudget:
    """Raise the limit of open files to the hard limit, and divide it. Raises ConfigError if it is too low."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    budget = FileBudget.of(hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return budget
