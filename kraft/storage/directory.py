"""A log directory: its lock, its owner, and how its last user stopped.

- ``.lock`` is held from open to close, so no second node writes here. A free lock proves that the previous process
  is gone.
- ``meta.properties`` names the cluster, the node and the directory.
- ``.kafka_cleanshutdown`` exists between a controlled stop and the next start.
- ``.boot_id`` holds the kernel's boot id at the last time when all logs were recovered. If it equals the present one, a
  killed node lost nothing that it had written.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import struct
import uuid
from enum import Enum

import attrs
import javaproperties

from kraft.storage.atomic import sync_directory, write_atomically
from kraft.storage.creation import create_private_directory, open_for_reading, open_or_create
from kraft.storage.errors import LogDirectoryError
from kraft.storage.meta_properties import (
    CURRENT,
    META_PROPERTIES,
    MetaProperties,
    read_meta_properties,
    read_properties,
)
from kraft.wire.uuids import uuid_to_text
from kraft.world.uuids import random_uuid

LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
BOOT_ID = ".boot_id"
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
LONGEST_NAME = 255
"""The bytes of a file's name, at most."""

_KERNEL_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})-([0-9]{1,10})")
_RETIRED = re.compile(r"(.+)\.[0-9a-f]{32}-(delete|stray|future)")
_WHOLE_FILE = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
"""A write lock as C's ``struct flock``: type, whence, start, length (0: to the end), process id."""


class LastStop(Enum):
    """How the last user of a directory stopped. It decides what recovery must check."""

    CLEAN = "controlled stop"
    """Everything is durable and complete."""
    KILLED = "killed"
    """The process died and the machine did not. All writes are there; the last one may be incomplete."""
    POWER_LOST = "power lost"
    """Anything beyond the recovery point may be lost or damaged."""


def _give_directory_id(path: str, meta: MetaProperties) -> MetaProperties:
    """Write a new directory id into ``meta.properties``, durably, and keep its other entries. Raises OSError."""
    name = os.path.join(path, META_PROPERTIES)
    directory_id = random_uuid()
    values = {**(read_properties(name) or {}), "directory.id": uuid_to_text(directory_id)}
    write_atomically(name, javaproperties.dumps(values, timestamp=None).encode("latin-1"))
    return attrs.evolve(meta, directory_id=directory_id)


def format_directory(
    path: str | os.PathLike[str], meta: MetaProperties, bootstrap: bytes, *, ignore_formatted: bool
) -> bool:
    """Make a directory a log directory of one node; ``bootstrap`` is the content of ``bootstrap.checkpoint``.

    Returns False if the directory is formatted already and ``ignore_formatted`` is true. Raises LogDirectoryError,
    OSError.
    """
    path = os.fspath(path)
    if read_meta_properties(path) is not None:
        if ignore_formatted:
            return False
        raise LogDirectoryError(f"{path}: already formatted; use --ignore-formatted to leave such directories alone")
    create_private_directory(path)
    write_atomically(os.path.join(path, BOOTSTRAP_CHECKPOINT), bootstrap)
    # Last, because a directory with this file counts as formatted.
    write_atomically(os.path.join(path, META_PROPERTIES), meta.encode())
    return True


class LogDirectory:
    """A log directory in use by this process.

    Resource handling: ``open`` takes the lock; ``close`` and the death of the process release it.
    """

    def __init__(self, path: str, lock_fd: int, meta: MetaProperties, last_stop: LastStop) -> None:
        self.path = path
        self.meta = meta
        self.last_stop = last_stop
        self._lock_fd = lock_fd

    def has(self, log: str) -> bool:
        """Whether the directory of a log, by its absolute path, is in this one."""
        return log.rpartition(os.sep)[0] == self.path

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        node_id: int,
        cluster_id: str | None = None,
        version: int = CURRENT,
    ) -> LogDirectory:
        """Lock the directory for this node. A directory from before KIP-858 gets its directory id now.

        Raises:
            LogDirectoryError: Another process has the directory, it is not formatted, or it belongs to another node
                or cluster.
            OSError: The directory cannot be read or written.
        """
        path = os.path.abspath(path)
        meta = read_meta_properties(path, version)
        if meta is None:
            raise LogDirectoryError(f"{path}: not formatted; run `kraft storage format` for it")
        if meta.node_id != node_id:
            raise LogDirectoryError(f"{path}: belongs to node {meta.node_id}, and this is node {node_id}")
        if cluster_id is not None and meta.cluster_id != cluster_id:
            raise LogDirectoryError(f"{path}: belongs to cluster {meta.cluster_id}, and this node to {cluster_id}")
        with contextlib.ExitStack() as undo:
            lock_fd = _lock(path)
            undo.callback(os.close, lock_fd)
            if meta.directory_id is None:
                meta = _give_directory_id(path, meta)
            opened = cls(path, lock_fd, meta, _last_stop(path))
            undo.pop_all()
        return opened

    @property
    def directory_id(self) -> uuid.UUID:
        """The id by which the cluster knows the directory (KIP-858)."""
        assert self.meta.directory_id is not None, "a directory that is open has one"
        return self.meta.directory_id

    def mark_opened(self) -> None:
        """Note that all logs are open and recovered. From now on a kill loses nothing, and only a controlled stop is
        clean.

        Call it only after recovery: a node killed during recovery must recover again. Raises OSError.
        """
        # The boot id need not be durable: after a power cut the kernel has another one, whatever the file contains.
        write_atomically(os.path.join(self.path, BOOT_ID), _boot_id().encode(), durable=False)
        self.unmark_clean_shutdown()

    def unmark_clean_shutdown(self) -> None:
        """Note durably that a log may be appended to, before all are open. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.path, CLEAN_SHUTDOWN))
            sync_directory(self.path)

    def mark_clean_shutdown(self, broker_epoch: int = -1) -> None:
        """Note that all logs are closed and durable, and that their recovery points are written. Raises OSError."""
        content = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
        write_atomically(os.path.join(self.path, CLEAN_SHUTDOWN), content.encode())

    def partitions(self) -> list[tuple[str, int]]:
        """Return (topic, partition) of every log in the directory, including the metadata log. Raises OSError."""
        found = (partition_of(entry.name) for entry in os.scandir(self.path) if entry.is_dir())
        return sorted(partition for partition in found if partition is not None)

    def retire_partition(self, name: str, token: uuid.UUID, reason: str = "delete") -> str:
        """Rename the directory of a closed log, or of a copy of it, so that it no longer counts as a partition. Return
        its new path.

        ``reason`` is ``delete``, or ``stray`` for a log that the metadata does not contain, and for the incomplete copy
        of a log that is gone. Raises OSError.
        """
        copied = _RETIRED.fullmatch(name)
        topic, _, partition = (name if copied is None else copied[1]).rpartition("-")
        # A long topic is shortened, as in Kafka, which does not start with a directory whose name has no partition.
        ending = f"-{partition}.{token.hex}-{reason}"
        retired = os.path.join(self.path, topic[: LONGEST_NAME - len(ending)] + ending)
        os.rename(os.path.join(self.path, name), retired)
        return retired

    def retired(self) -> list[str]:
        """Return the paths of the directories to delete. Raises OSError."""
        names = (entry.name for entry in os.scandir(self.path) if entry.is_dir())
        return sorted(os.path.join(self.path, name) for name in names if _retired_for(name) == "delete")

    def close(self) -> None:
        """Release the lock."""
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
            self._lock_fd = -1


def partition_of(name: str) -> tuple[str, int] | None:
    """Return the (topic, partition) that a directory name stands for, or None."""
    match = _PARTITION.fullmatch(name)
    return None if match is None or _retired_for(name) else (match[1], int(match[2]))


def remove_retired(path: str) -> None:
    """Delete a directory that ``retire_partition`` renamed; an absent one is fine. Raises OSError."""
    if _retired_for(os.path.basename(path)) is None:
        raise ValueError(f"{path} is not a retired partition")
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


def _retired_for(name: str) -> str | None:
    match = _RETIRED.fullmatch(name)
    return match and match[2]


def _lock(path: str) -> int:
    """Lock ``.lock`` and write our process id into it, so that another process can name the holder."""
    name = os.path.join(path, LOCK)
    fd = open_or_create(name, os.O_RDWR)
    try:
        # A record lock, the kind that Java's FileLock takes, so that Apache Kafka and this node exclude each other. An
        # open-file-description lock, so that it also excludes a second node in the same process.
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _WHOLE_FILE)
    except OSError:
        holder = os.pread(fd, 20, 0).decode("ascii", errors="replace").strip()
        os.close(fd)
        who = f"process {holder}" if holder.isdecimal() else "another process"
        raise LogDirectoryError(f"{path}: in use by {who}, which holds {name}; stop it first") from None
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except OSError:
        os.close(fd)
        raise
    return fd


def _last_stop(path: str) -> LastStop:
    if os.path.exists(os.path.join(path, CLEAN_SHUTDOWN)):
        return LastStop.CLEAN
    try:
        with open(os.path.join(path, BOOT_ID), "rb", opener=open_for_reading) as file:
            known = file.read(100).decode("ascii", errors="replace")
    except FileNotFoundError:
        return LastStop.POWER_LOST
    return LastStop.KILLED if known and known == _boot_id() else LastStop.POWER_LOST


def _boot_id() -> str:
    """Return the kernel's id of this boot. It is empty on systems without one, and an empty id never matches."""
    try:
        with open(_KERNEL_BOOT_ID, encoding="ascii", opener=open_for_reading) as file:
            return file.read().strip()
    except OSError:
        return ""
