"""The levels of the ``metadata.version`` feature, and Kafka's names for them."""

from __future__ import annotations

import re

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
GROUP_VERSION = "group.version"
TRANSACTION_VERSION = "transaction.version"
SHARE_VERSION = "share.version"
ELIGIBLE_LEADER_REPLICAS = "eligible.leader.replicas.version"

#: (release, level of its first IV, number of IVs). Levels rise through all IVs without a gap.
_RELEASES = (
    ("3.0", 1, 1, 1),
    ("3.1", 2, 0, 1),
    ("3.2", 3, 0, 1),
    ("3.3", 4, 0, 4),
    ("3.4", 8, 0, 1),
    ("3.5", 9, 0, 3),
    ("3.6", 12, 0, 3),
    ("3.7", 15, 0, 5),
    ("3.8", 20, 0, 1),
    ("3.9", 21, 0, 1),
    ("4.0", 22, 0, 4),
    ("4.1", 26, 0, 2),
    ("4.2", 28, 0, 2),
    ("4.3", 30, 0, 1),
)

#: The name of each ``metadata.version`` level, such as ``3.9-IV0`` for 21.
NAME_OF_LEVEL: dict[int, str] = {
    level + step: f"{release}-IV{first_step + step}"
    for release, level, first_step, steps in _RELEASES
    for step in range(steps)
}
LEVEL_OF_NAME: dict[str, int] = {name: level for level, name in NAME_OF_LEVEL.items()}

#: The levels that these nodes support: 7 is the lowest of Apache Kafka 4, 30 the highest of Apache Kafka 4.3.
MIN_METADATA_LEVEL = 7
MAX_METADATA_LEVEL = 30
#: The level of a new cluster: the highest one that nodes of Apache Kafka 3.9 may join. It can be upgraded at any time.
DEFAULT_METADATA_LEVEL = 21

#: The features that a node registers and reports: (lowest, highest level). A node serves all that a level here allows:
#: static voters (kraft.version 0), KIP-848 (group.version 1), KIP-890 (transaction.version), KIP-932 (share.version).
SUPPORTED_FEATURES: dict[str, tuple[int, int]] = {
    METADATA_VERSION: (MIN_METADATA_LEVEL, MAX_METADATA_LEVEL),
    KRAFT_VERSION: (0, 0),
    TRANSACTION_VERSION: (0, 2),
    GROUP_VERSION: (0, 1),
    SHARE_VERSION: (0, 1),
}

#: The features of Kafka beside metadata.version, as its tools list them: (highest level, metadata.version of the
#: release that has it). Where one is not supported its level is 0.
OTHER_FEATURES: dict[str, tuple[int, int]] = {
    KRAFT_VERSION: (1, 21),
    TRANSACTION_VERSION: (2, 24),
    GROUP_VERSION: (1, 22),
    ELIGIBLE_LEADER_REPLICAS: (1, 26),
    SHARE_VERSION: (1, 28),
    "streams.version": (1, 29),
}


def level_of_release(text: str) -> int | None:
    """Return the level of an exact version (``3.9-IV0``) or the last level of a release (``3.9``); None if it is
    unknown.
    """
    release = re.sub(r"^([0-9]+\.[0-9]+)\.[0-9]+$", r"\1", text)
    levels = [level for name, level in LEVEL_OF_NAME.items() if release in (name, name.partition("-")[0])]
    return levels[-1] if levels else None


def parse_release(text: str) -> int:
    """Return the level of a release or version, as ``level_of_release`` does.

    Raises ValueError, with one line, if Kafka does not know the name or these nodes do not support the level.
    """
    level = level_of_release(text)
    if level is None:
        raise ValueError(f"Unknown metadata.version {text!r}. Supported metadata.version are: {supported_names()}")
    if not MIN_METADATA_LEVEL <= level <= MAX_METADATA_LEVEL:
        raise ValueError(f"Unsupported metadata.version {text!r}. Supported metadata.version are: {supported_names()}")
    return level


def parse_feature(text: str) -> tuple[str, int]:
    """Return name and level of ``NAME=LEVEL``. A level of metadata.version may be a name. Raises ValueError with one
    line.
    """
    name, _, level = map(str.strip, text.partition("="))
    level = level.removeprefix("+")
    if name == METADATA_VERSION and level in LEVEL_OF_NAME:
        return name, LEVEL_OF_NAME[level]
    if not name or not level.isdecimal() or int(level) > 32767:
        raise ValueError(f"{text!r} is not NAME=LEVEL")
    return name, int(level)


def supported_names() -> str:
    """Return the names of all levels that these nodes support, lowest first."""
    return ", ".join(NAME_OF_LEVEL[level] for level in range(MIN_METADATA_LEVEL, MAX_METADATA_LEVEL + 1))
