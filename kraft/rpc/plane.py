"""Planes, which are values.

KIP-291 wants a control plane that data requests cannot delay: its own acceptor, one processor, a request queue of 20
and one handler. The listeners of a KRaft controller are also a plane beside the data plane, with the sizes of the data
plane (Kafka's ControllerServer). The server runs every plane with the same code; planes differ only in these numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kraft.config.listeners import Endpoint

CONTROL_QUEUE_CAPACITY = 20
"""KIP-291, footnote 2: a broker rarely has requests of more than one controller, and never many."""

PENDING_CONNECTIONS_PER_PROCESSOR = 20


@attrs.frozen
class Plane:
    """Listeners that share a request queue and its handlers.

    ``processors`` is the number for each listener (``num.network.threads``); ``listener_processors`` overrides it for
    the listeners that it names. ``queue_capacity`` is in requests (``queued.max.requests``). ``request_bytes`` is the
    memory for large requests (``queued.max.request.bytes``), and ``request_elements`` the elements that they may have
    together once they are decoded; -1 is no limit. ``unsent_bytes`` is the memory for large responses that their peers
    do not read. ``handlers`` is the number of requests that are handled at the same time (``num.io.threads``).
    ``metric_prefix`` precedes the metric names, as in Kafka: empty for the data plane, ``ControlPlane`` for the control
    plane.
    """

    name: str
    listeners: tuple[Endpoint, ...]
    queue_capacity: int = 500
    processors: int = 3
    handlers: int = 8
    metric_prefix: str = ""
    listener_processors: Mapping[str, int] = attrs.Factory(dict)
    request_bytes: int = -1
    request_elements: int = -1
    unsent_bytes: int = 256 << 20
    """Not a Kafka setting."""
    pauses_long_work: bool = False
    """Whether the long work of the whole node pauses while a request or a response of this plane goes on to its next
    task.
    """

    def processors_of(self, listener: str) -> int:
        return self.listener_processors.get(listener, self.processors)


def control_plane(listeners: tuple[Endpoint, ...]) -> Plane:
    """KIP-291: one processor, a queue of 20, one handler."""
    return Plane(
        "control",
        listeners,
        CONTROL_QUEUE_CAPACITY,
        processors=1,
        handlers=1,
        metric_prefix="ControlPlane",
        pauses_long_work=True,
    )
