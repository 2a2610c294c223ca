"""The log directories of a broker with ZooKeeper. It formats them itself: nobody runs ``kafka-storage format``."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from uuid import UUID

from kraft.config.broker import NodeConfig
from kraft.storage.atomic import write_atomically
from kraft.storage.creation import create_private_directory
from kraft.storage.directory import LogDirectory
from kraft.storage.errors import LogDirectoryError
from kraft.storage.meta_properties import LEGACY, META_PROPERTIES, MetaProperties, read_meta_properties, require_own_ids


@contextlib.contextmanager
def open_zookeeper_directories(
    config: NodeConfig, cluster_id: str, new_uuid: Callable[[], UUID]
) -> Iterator[list[LogDirectory]]:
    """Open and lock every log directory, and format the new ones; unlock them at the end of the block.

    If one directory is refused, none is formatted. ``cluster_id`` is the id in ZooKeeper (``/cluster/id``), and
    ``new_uuid`` makes the ids of new directories.

    Raises:
        LogDirectoryError: a directory is in use, another broker's, of another cluster, was formatted for KRaft, or has
            a directory id that is reserved or another one's.
        OSError: a directory cannot be read or written.
    """
    metas = {path: read_meta_properties(path, LEGACY) for path in config.directories}
    for path, meta in metas.items():
        if meta is not None and meta.cluster_id != cluster_id:
            what = f"The Cluster ID {cluster_id} doesn't match stored clusterId {meta.cluster_id} in {META_PROPERTIES}"
            raise LogDirectoryError(f"{path}: {what}. Configured zookeeper.connect may be wrong.")
    require_own_ids(metas)
    with contextlib.ExitStack() as stack:
        opened: dict[str, LogDirectory] = {}
        for path in sorted(config.directories, key=lambda path: metas[path] is None):  # the new ones last
            if metas[path] is None:
                create_private_directory(path)
                meta = MetaProperties(cluster_id, config.node_id, new_uuid(), LEGACY)
                write_atomically(os.path.join(path, META_PROPERTIES), meta.encode())
            directory = LogDirectory.open(path, node_id=config.node_id, cluster_id=cluster_id, version=LEGACY)
            stack.callback(directory.close)
            opened[path] = directory
        yield [opened[path] for path in config.directories]
