"""What a topic may be called."""

from __future__ import annotations

import re

from kraft.metadata.image import Image
from kraft.wire.errors import ErrorCode, KafkaError

MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raise KafkaError INVALID_TOPIC_EXCEPTION, with the reason, if no topic may have this name."""
    if not name:
        _refuse("the empty string is not allowed")
    if name in (".", ".."):
        _refuse(f"'{name}' is not allowed")
    if len(name) > MAX_LENGTH:
        _refuse(f"the length of '{name[:MAX_LENGTH]}...' is longer than the max allowed length {MAX_LENGTH}")
    if not _LEGAL.fullmatch(name):
        _refuse(
            f"'{name.encode('unicode_escape').decode()}' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        )


def check_collision(name: str, image: Image, also: set[str]) -> None:
    """Raise KafkaError INVALID_TOPIC_EXCEPTION if a topic differs from ``name`` only in '.' against '_'.

    Metric names cannot tell such topics apart. ``also`` holds names that the same request creates.
    """
    if "." not in name and "_" not in name:
        return
    merged = name.replace(".", "_")
    for other in (*image.topic_ids, *also):
        if other != name and other.replace(".", "_") == merged:
            _refuse(f"topic '{name}' collides with existing topic: {other}")


def _refuse(reason: str) -> None:
    raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")
