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


def _keep(consumer: object) -> None:
    """Keep a consumer until the process ends: the destructor of one that a failed test did not close may not end."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(consumer))


class Consumer(ck.Consumer):
    """A consumer whose ``close`` takes at most ``CLOSE_LIMIT_S`` seconds; the summary lists one that did not end."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(dict(settings))
        _keep(self)

    def close(self) -> None:
        """Leave the group."""
        call_in_time("Consumer.close of librdkafka", super().close, CLOSE_LIMIT_S)


class ShareConsumer(ck.ShareConsumer):
    """A share consumer that ends as :class:`Consumer` does."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(dict(settings))
        _keep(self)

    def close(self) -> None:
        """Leave the group."""
        call_in_time("ShareConsumer.close of librdkafka", super().close, CLOSE_LIMIT_S)
