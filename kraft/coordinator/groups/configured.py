"""The settings that a group has in the metadata: those of its config resource (KIP-848)."""

from __future__ import annotations

from kraft.config.group import GroupLimits, group_value
from kraft.metadata.image import Image, ResourceType


def configured_s(image: Image, group_id: str, name: str, default_s: float, limits: GroupLimits) -> float:
    """Return a setting of the group in seconds within the broker's limits, or the broker's setting."""
    value_ms = group_value(image.config(ResourceType.GROUP, group_id), name, limits)
    return default_s if value_ms is None else value_ms / 1000
