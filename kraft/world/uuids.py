"""Random UUIDs, as Kafka makes them."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from kraft.wire.uuids import uuid_to_text


def random_uuid(draw: Callable[[], uuid.UUID] = uuid.uuid4) -> uuid.UUID:
    """Return a new id whose text does not begin with a dash: a command line would take that for an option.

    As Kafka's ``Uuid.randomUuid``.
    """
    while True:
        candidate = draw()
        if not uuid_to_text(candidate).startswith("-"):
            return candidate
