"""The memory for responses that their peers do not read.

A response is sent as fast as its peer reads it. Kafka has no bound on the responses that wait, except the number of
connections. Here they have one for each plane. Beyond it the server closes the connections whose responses have waited
longest: a client that reads has its response within milliseconds.
"""

from __future__ import annotations

from typing import Final

import attrs

from kraft.rpc.connections import LiveConnection
from kraft.rpc.rejections import RejectionLog

SMALL_BYTES: Final = 65_536
"""Not a Kafka setting. A response of at most this size is not counted; a connection has one at a time."""


@attrs.define(eq=False)
class UnsentResponses:
    """The responses of a plane that are being sent, at most ``capacity`` bytes.

    Records in files do not count: they stay on disk until they are sent.
    """

    capacity: int
    rejections: RejectionLog
    used: int = attrs.field(default=0, init=False)
    _by_age: dict[LiveConnection, int] = attrs.field(factory=dict, init=False)

    def add(self, connection: LiveConnection, size: int) -> None:
        """Count a large response that is about to be sent. If there are too many bytes, close other connections, oldest
        first.
        """
        self._by_age[connection] = size
        self.used += size
        while self.used > self.capacity and len(self._by_age) > 1:
            oldest = next(iter(self._by_age))
            self.rejections.closed(oldest.info, f"its response of {self._by_age[oldest]} bytes was not read")
            oldest.scope.cancel(reason="responses wait for too much memory")
            self.remove(oldest)

    def remove(self, connection: LiveConnection) -> None:
        """Forget the response of a connection, if it is counted."""
        self.used -= self._by_age.pop(connection, 0)
