"""``partition.metadata``: the topic id to which a partition directory belongs (KIP-516)."""

from __future__ import annotations

import os
from uuid import UUID

from kraft.storage.atomic import write_atomically
from kraft.storage.creation import open_for_reading
from kraft.storage.errors import StorageError
from kraft.wire.uuids import uuid_from_text, uuid_to_text

FILE_NAME = "partition.metadata"
_MAX_BYTES = 4096


def path_in(directory: str | os.PathLike[str]) -> str:
    return os.path.join(directory, FILE_NAME)


def read_topic_id(directory: str | os.PathLike[str]) -> UUID | None:
    """Return the topic id; None if the file is absent or a power cut emptied it. Raises StorageError, OSError."""
    path = path_in(directory)
    try:
        with open(path, "rb", opener=open_for_reading) as file:
            text = file.read(_MAX_BYTES).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return None
    if not text.strip("\0"):
        return None
    values = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    try:
        if int(values["version"]) != 0:
            raise ValueError(f"version {values['version'].strip()}, only 0 is known")
        return uuid_from_text(values["topic_id"].strip())
    except (KeyError, ValueError) as error:
        raise StorageError(f"{path}: not a partition metadata file: {error}; restore it or delete it") from None


def write_topic_id(directory: str | os.PathLike[str], topic_id: UUID) -> None:
    """Replace the file. The caller makes it durable. Raises OSError."""
    content = f"version: 0\ntopic_id: {uuid_to_text(topic_id)}"  # no line break at the end, as in Kafka
    write_atomically(path_in(directory), content.encode(), durable=False)
