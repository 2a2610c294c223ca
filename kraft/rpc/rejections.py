"""The log of peers that break the protocol or use the wrong listener, with a bounded number of lines."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable

import attrs

from kraft.rpc.channel import ConnectionInfo

logger = logging.getLogger("kraft.rpc")

LINES = 5
INTERVAL_S = 60.0
MAX_ADDRESSES = 1_000


@attrs.define(eq=False)
class _Window:
    ends_at: float
    count: int = 0


@attrs.define(eq=False)
class RejectionLog:
    """At most ``LINES`` lines in ``INTERVAL_S`` for each address and listener; further rejections are only counted.

    An HTTP health check, or a client with the wrong port, connects again for ever.
    """

    now: Callable[[], float]
    _windows: OrderedDict[tuple[str, str], _Window] = attrs.field(factory=OrderedDict, init=False)

    def closed(self, peer: ConnectionInfo, why: object) -> None:
        """Log that the server closed the connection of ``peer``, and why."""
        self._count(peer, "closed", why)

    def refused(self, peer: ConnectionInfo, why: object) -> None:
        """Log that the server refused a request of ``peer``, and why."""
        self._count(peer, "refused", why)

    def _count(self, peer: ConnectionInfo, what: str, why: object) -> None:
        key, now = (peer.listener, peer.host), self.now()
        window = self._windows.get(key)
        if window is None or now >= window.ends_at:
            if window is not None and window.count > LINES:
                logger.warning("%s %s: %d more were closed or refused", *key, window.count - LINES)
            window = self._windows[key] = _Window(now + INTERVAL_S)
            self._windows.move_to_end(key)
            if len(self._windows) > MAX_ADDRESSES:
                self._windows.popitem(last=False)
        window.count += 1
        if window.count <= LINES:
            silent = f"; more from {peer.host} are only counted for a while" if window.count == LINES else ""
            logger.warning("%s %s: %s: %s%s", peer.listener, peer.name, what, why, silent)
