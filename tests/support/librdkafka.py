"""librdkafka's consumers in the process of the tests. Their end is bounded: it may wait for ever after changes of the
coordinator, in C code that pytest's limit cannot interrupt.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

import confluent_kafka as ck

from tests.support.hangs import call_in_time

CLOSE_LIMIT_S = 60.0


class _Bounded:
    """Closes within ``CLOSE_LIMIT_S`` seconds; the tests' summary lists a call that did not end."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(dict(settings))  # type: ignore[call-arg]
        # It stays until the process ends: the destructor of one that a failed test did not close may not end.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def close(self) -> None:
        """Leave the group."""
        call_in_time(f"{type(self).__name__}.close of librdkafka", super().close, CLOSE_LIMIT_S)  # type: ignore[misc]


class Consumer(_Bounded, ck.Consumer):
    """A consumer of the classic or the consumer protocol."""


class ShareConsumer(_Bounded, ck.ShareConsumer):
    """A share consumer."""
