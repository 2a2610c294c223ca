"""Format the directories of a node before its first start, as ``kafka-storage format`` does (KIP-631)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from uuid import UUID

from kraft.config.broker import NodeConfig
from kraft.metadata.bootstrap import bootstrap_checkpoint
from kraft.storage.directory import format_directory
from kraft.storage.errors import LogDirectoryError
from kraft.storage.meta_properties import MetaProperties, read_meta_properties
from kraft.world.uuids import random_uuid


def format_directories(
    config: NodeConfig,
    cluster_id: str,
    level: int,
    features: Iterable[tuple[str, int]] = (),
    *,
    ignore_formatted: bool,
    new_uuid: Callable[[], UUID] = random_uuid,
) -> list[str]:
    """Format every unformatted directory of a node and return them; ``level`` is the level of ``metadata.version``.

    ``features`` has the levels of other features.

    ``new_uuid`` makes the ids of the directories. If one directory is unsuitable, none is changed.

    Raises:
        LogDirectoryError: A directory is formatted and ``ignore_formatted`` is false, or it belongs to another node
            or cluster.
        OSError: A directory cannot be written.
    """
    fresh = []
    for directory in config.directories:
        meta = read_meta_properties(directory) if os.path.exists(directory) else None
        if meta is None:
            fresh.append(directory)
        elif not ignore_formatted:
            raise LogDirectoryError(
                f"Log directory {directory} is already formatted. "
                "Use --ignore-formatted to ignore this directory and format the others."
            )
        elif (meta.cluster_id, meta.node_id) != (cluster_id, config.node_id):
            raise LogDirectoryError(
                f"Log directory {directory} belongs to node {meta.node_id} of cluster {meta.cluster_id}, "
                f"and this is node {config.node_id} of cluster {cluster_id}"
            )
    bootstrap = bootstrap_checkpoint(level, features)
    for directory in fresh:
        meta = MetaProperties(cluster_id, config.node_id, new_uuid())
        format_directory(directory, meta, bootstrap, ignore_formatted=False)
    return fresh
