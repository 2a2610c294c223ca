"""The registry: all metrics of a node, by name."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import attrs

from kraft.metrics.instruments import Clock, Counter, Gauge, Histogram, IdleMeter, Meter

T = TypeVar("T", Counter, Meter, Histogram, IdleMeter)

Instrument = Gauge | Counter | Meter | Histogram | IdleMeter


@attrs.frozen
class MetricName:
    """A JMX object name. ``str()`` gives Kafka's spelling: ``group:type=T,name=N,tag=value``."""

    group: str
    type: str
    name: str
    tags: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        tags = "".join(f",{tag}={value}" for tag, value in self.tags)
        return f"{self.group}:type={self.type},name={self.name}{tags}"


@attrs.define(eq=False)
class Registry:
    """All metrics of a node, by name. ``clock`` returns seconds and never goes back.

    ``counter``, ``meter``, ``histogram`` and ``idle_meter`` make a metric at the first call for a name, and return the
    same one later. ``gauge`` raises ValueError if the name is taken: a gauge reads the state of one owner.
    """

    clock: Clock = time.perf_counter
    _metrics: dict[MetricName, Instrument] = attrs.field(factory=dict, init=False)
    _updates: list[Callable[[], None]] = attrs.field(factory=list, init=False)

    def before_reading(self, update: Callable[[], None]) -> None:
        """Call ``update`` before each ``get`` and each iteration. For an owner that collects events, and updates its
        metrics for many of them at once.
        """
        self._updates.append(update)

    def gauge(self, group: str, type: str, name: str, read: Callable[[], float], /, **tags: str) -> Gauge:
        key = _key(group, type, name, tags)
        if key in self._metrics:
            raise ValueError(f"metric {key} is registered already")
        gauge = Gauge(read)
        self._metrics[key] = gauge
        return gauge

    def counter(self, group: str, type: str, name: str, **tags: str) -> Counter:
        return self._find(_key(group, type, name, tags), Counter, Counter)

    def meter(self, group: str, type: str, name: str, /, **tags: str) -> Meter:
        return self._find(_key(group, type, name, tags), Meter, Meter)

    def histogram(self, group: str, type: str, name: str, *, scale: float = 1.0, **tags: str) -> Histogram:
        return self._find(_key(group, type, name, tags), Histogram, lambda: Histogram(scale))

    def idle_meter(self, group: str, type: str, name: str, *, workers: int = 1, **tags: str) -> IdleMeter:
        return self._find(_key(group, type, name, tags), IdleMeter, lambda: IdleMeter(self.clock, workers))

    def remove(self, name: MetricName) -> None:
        """Remove a metric, if it is registered."""
        self._metrics.pop(name, None)

    def get(self, text: str) -> Instrument:
        """Return the metric with the name ``text``, as in ``kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec``.

        Raises KeyError if it is not registered.
        """
        self._update()
        for name, metric in self._metrics.items():
            if str(name) == text:
                return metric
        raise KeyError(text)

    def __iter__(self) -> Iterator[tuple[MetricName, Instrument]]:
        self._update()
        return iter(list(self._metrics.items()))

    def _update(self) -> None:
        for update in self._updates:
            update()

    def _find(self, key: MetricName, kind: type[T], make: Callable[[], T]) -> T:
        metric = self._metrics.get(key)
        if metric is None:
            metric = self._metrics[key] = make()
        if not isinstance(metric, kind):
            raise ValueError(f"metric {key} is registered as another kind")
        return metric


def _key(group: str, type: str, name: str, tags: dict[str, str]) -> MetricName:
    return MetricName(group, type, name, tuple(tags.items()))
