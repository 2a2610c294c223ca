"""librdkafka's consumers in the process of the tests. Their end is bounded: it may wait for ever after changes of the
coordinator, in C code that pytest's limit cannot interrupt.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import confluent_kafka as ck

from tests.support.hangs import call_in_time

CLOSE_LIMIT_S = 60.0
_REVOCATION_LIMIT_S = 10.0


class _Bounded:
    """Closes within ``CLOSE_LIMIT_S`` seconds; the tests' summary lists a call that did not end."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(dict(settings))  # type: ignore[call-arg]
        # It stays until the process ends: the destructor of one that a failed test did not close may not end.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def close(self) -> None:
        """Leave the group."""
        call_in_time(f"{type(self).__name__}.close of librdkafka", self._close, CLOSE_LIMIT_S)

    def _close(self) -> None:
        super().close()  # type: ignore[misc]


class Consumer(_Bounded, ck.Consumer):
    """A consumer of the classic or the consumer protocol."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._is_static = "group.instance.id" in settings
        self._is_subscribed = False

    def subscribe(self, *topics: Any, **callbacks: Any) -> None:
        self._is_subscribed = True
        super().subscribe(*topics, **callbacks)

    def _close(self) -> None:
        # A close revokes the partitions. If librdkafka ends the group's queue before the callback, the callback waits
        # for ever, and holds the interpreter's lock: then no limit ends the call. A static member would lose its place.
        is_member, self._is_subscribed = self._is_subscribed and not self._is_static, False
        if is_member:
            with suppress(ck.KafkaException):  # it is fenced
                self._give_up_partitions()
        super()._close()

    def _give_up_partitions(self) -> None:
        """Leave the group while its queue is there. The records that no poll has returned are not read."""
        deadline = time.monotonic() + _REVOCATION_LIMIT_S
        self.pause(self.assignment())
        self.unsubscribe()
        while self.assignment() and time.monotonic() < deadline:
            self.poll(0.1)


class ShareConsumer(_Bounded, ck.ShareConsumer):
    """A share consumer."""
