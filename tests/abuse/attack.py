"""An attack: a name, the frames of its connections, and the state of the node that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from kraft.wire.codec import encode
from kraft.wire.schema import Message
from tests.fuzz.frames import framed, header
from tests.fuzz.strike import Neighbour


@attrs.frozen
class Attack:
    """Frames that are legal on the wire.

    Attributes:
        frames: Makes the frames. They are dealt to the connections in turn, and a connection sends each of its frames
            after the response to the last one.
        prepare: Makes the state that the attack needs, unmeasured.
        lasts_s: The seconds for which the node may work after its last response.
        at_controller: Whether the frames go to the controllers' listener.
    """

    name: str
    frames: Callable[[], Iterator[bytes]]
    prepare: Callable[[Neighbour], None] = lambda friend: None
    connections: int = 1
    lasts_s: float = 0.0
    at_controller: bool = False


def frame(request: Message, version: int) -> bytes:
    return framed(header(request.API_KEY, version, 0, b"abuse") + encode(request, version))


def whole(request: Message, version: int, repeat: int = 1) -> Iterator[bytes]:
    """The frame of a request, ``repeat`` times."""
    made = frame(request, version)
    for _ in range(repeat):
        yield made
