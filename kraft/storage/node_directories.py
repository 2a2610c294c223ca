"""All log directories of one node: locked together, and checked against each other."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from kraft.config.broker import NodeConfig
from kraft.storage.directory import LogDirectory
from kraft.storage.errors import LogDirectoryError
from kraft.storage.meta_properties import read_meta_properties, require_own_ids
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION


@contextlib.contextmanager
def open_directories(config: NodeConfig) -> Iterator[list[LogDirectory]]:
    """Open and lock every log directory for this node; unlock them at the end of the block.

    Raises:
        LogDirectoryError: a directory is in use, unformatted or another node's, or has a metadata log that belongs
            elsewhere, or a directory id that is reserved or another one's.
        OSError: a directory cannot be read.
    """
    _require_metadata_log_in_its_directory(config)
    require_own_ids({path: read_meta_properties(path) for path in config.directories})
    with contextlib.ExitStack() as stack:
        directories: list[LogDirectory] = []
        for path in config.directories:
            cluster_id = directories[0].meta.cluster_id if directories else None
            directory = LogDirectory.open(path, node_id=config.node_id, cluster_id=cluster_id)
            stack.callback(directory.close)
            directories.append(directory)
        yield directories


def _require_metadata_log_in_its_directory(config: NodeConfig) -> None:
    """Raise LogDirectoryError if another directory than the configured one has the metadata log.

    With ``log.dirs=B,A`` instead of ``log.dirs=A,B``, the node would begin a new metadata log in B, and take the one in
    A for a topic's. This check runs before anything is opened or written.
    """
    expected = os.path.abspath(config.metadata_log_dir)
    for path in map(os.path.abspath, config.directories):
        found = os.path.join(path, CLUSTER_METADATA_PARTITION)
        if path != expected and os.path.exists(found):
            where = f"metadata.log.dir, or else the first of log.dirs, is {expected}"
            advice = f"set metadata.log.dir={path}, or move away the log that is not that of this node"
            raise LogDirectoryError(f"{found}: the metadata log is not where it should be: {where}; {advice}")
