"""Random UUIDs as Kafka makes them."""

from __future__ import annotations

from uuid import UUID

from kraft.wire.uuids import uuid_to_text
from kraft.world.uuids import random_uuid
from kraft.world.world import World

DASHED = UUID(bytes=b"\xf8" + bytes(15))
"""Its text begins with the dash that Base64 for URLs has for 62."""


def test_the_text_of_a_uuid_does_not_begin_with_a_dash() -> None:
    """Kafka's ``Uuid.randomUuid`` draws again where the text would begin with a dash."""
    drawn = iter([DASHED, DASHED, UUID(int=7)])
    assert uuid_to_text(DASHED).startswith("-")
    assert random_uuid(lambda: next(drawn)) == UUID(int=7)


def test_no_uuid_of_a_node_begins_with_a_dash() -> None:
    """Users pass topic ids on the command line too."""
    assert not any(uuid_to_text(World().new_uuid()).startswith("-") for _ in range(1000))
