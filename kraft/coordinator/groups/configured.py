"""The settings that a group has in the metadata: those of its config resource (KIP-848)."""

from __future__ import annotations

from kraft.metadata.image import Image, ResourceType


def configured_s(image: Image, group_id: str, name: str, default_s: float) -> float:
    """Return a setting of the group in seconds, or the broker's."""
    text = image.config(ResourceType.GROUP, group_id).get(name)
    return int(text) / 1000 if text is not None and text.isdecimal() else default_s
