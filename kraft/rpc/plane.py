"""What a plane is: a value.

KIP-291 asks for a control plane that data requests cannot delay: its own acceptor, one processor, a request queue of
20 and one handler. The listeners of a KRaft controller are a plane beside the data plane too, of the data plane's sizes
(Kafka's ControllerServer). Nothing in the server knows which plane it runs; they differ only in the numbers given here.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kraft.config.listeners import Endpoint

CONTROL_QUEUE_CAPACITY = 20
"""KIP-291, footnote 2: a broker seldom has more than one controller's request, and never many."""

PENDING_CONNECTIONS_PER_PROCESSOR = 20


@attrs.frozen
class Plane:
    """Listeners that share a request queue and the handlers behind it.

    ``processors`` is per listener (``num.network.threads``), but for those in ``listener_processors``, which have a
    number of their own. ``queue_capacity`` is in requests (``queued.max.requests``), ``handlers`` is how many requests
    are handled at the same time (``num.io.threads``). ``metric_prefix`` is put before the metric names as Kafka does
    it: nothing on the data plane, ``ControlPlane`` on the control plane.
    """

    name: str
    listeners: tuple[Endpoint, ...]
    queue_capacity: int = 500
    processors: int = 3
    handlers: int = 8
    metric_prefix: str = ""
    listener_processors: Mapping[str, int] = attrs.Factory(dict)

    def processors_of(self, listener: str) -> int:
        return self.listener_processors.get(listener, self.processors)


def control_plane(listeners: tuple[Endpoint, ...]) -> Plane:
    """KIP-291: one processor, a queue of 20, one handler."""
    return Plane("control", listeners, CONTROL_QUEUE_CAPACITY, processors=1, handlers=1, metric_prefix="ControlPlane")
