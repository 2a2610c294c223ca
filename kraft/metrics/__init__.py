"""Metrics under Kafka's own names.

A metric has the name of Kafka's JMX bean (``kafka.network:type=RequestChannel,name=RequestQueueSize``), so dashboards
and runbooks for Kafka also fit a kraft node; docs/tools.md names the request metrics that are missing. An update is
attribute arithmetic. The reader computes rates and percentiles, which cost more.
"""

from __future__ import annotations

from kraft.metrics.instruments import Clock, Counter, Gauge, Histogram, IdleMeter, Meter
from kraft.metrics.registry import Instrument, MetricName, Registry

__all__ = ["Clock", "Counter", "Gauge", "Histogram", "IdleMeter", "Instrument", "Meter", "MetricName", "Registry"]
