"""The registry in Prometheus' text format, with the names that the usual JMX exporter rules give Kafka's beans.

``kafka.network:type=RequestChannel,name=RequestQueueSize`` becomes ``kafka_network_requestchannel_requestqueuesize``. A
meter gives ``…_total``; a histogram is a summary with quantiles, ``…_sum`` and ``…_count``. Tags become labels. Only
this module imports the library, so a node that serves no metrics does not load it.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from kraft.metrics.instruments import Histogram, Meter
from kraft.metrics.registry import Instrument, MetricName, Registry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_]+")


def render(registry: Registry) -> Generator[int, None, bytes]:
    """Return all metrics of ``registry`` in Prometheus' text format, version 0.0.4.

    Yields the number of metrics of each step, because other tasks run meanwhile: a node has hundreds of metrics, and a
    histogram or a gauge over all partitions takes a tenth of a millisecond or more to read.
    """
    families: dict[str, list[tuple[MetricName, Instrument]]] = {}
    for name, metric in registry:
        families.setdefault(prometheus_name(name), []).append((name, metric))
    lines = bytearray()
    for text, metrics in families.items():
        family = _family(text, *metrics[0])
        for name, metric in metrics:
            _add_samples(family, {_NOT_ALLOWED.sub("_", tag).lower(): value for tag, value in name.tags}, metric)
            yield 1
        exposition = CollectorRegistry(auto_describe=False)
        exposition.register(_OneFamily(family))
        lines += generate_latest(exposition)
        yield len(metrics)
    return bytes(lines)


def prometheus_name(name: MetricName) -> str:
    return _NOT_ALLOWED.sub("_", f"{name.group}_{name.type}_{name.name}").lower()


class _OneFamily(Collector):
    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return [self._family]


def _family(text: str, name: MetricName, metric: Instrument) -> Metric:
    documentation = f"{name.group}:type={name.type},name={name.name}"
    if isinstance(metric, Meter):
        return CounterMetricFamily(text, documentation)
    if isinstance(metric, Histogram):
        return SummaryMetricFamily(text, documentation)
    return GaugeMetricFamily(text, documentation)


def _add_samples(family: Metric, labels: dict[str, str], metric: Instrument) -> None:
    if isinstance(metric, Meter):
        family.add_sample(f"{family.name}_total", labels, metric.count)
    elif isinstance(metric, Histogram):
        for quantile, value in zip(_QUANTILES, metric.percentiles(_QUANTILES), strict=True):
            family.add_sample(family.name, {**labels, "quantile": str(quantile)}, value)
        family.add_sample(f"{family.name}_count", labels, metric.count)
        family.add_sample(f"{family.name}_sum", labels, metric.total * metric.scale)
    else:
        family.add_sample(family.name, labels, metric.value)
