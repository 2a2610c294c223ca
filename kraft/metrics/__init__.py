"""Metrics under Kafka's own names.

A metric has the name that Kafka's JMX bean has (``kafka.network:type=RequestChannel,name=RequestQueueSize``), so that
dashboards and runbooks written for Kafka read a kraft node as well. Updating one is attribute arithmetic; whatever
costs more (rates, percentiles) is computed by the reader.
"""

from __future__ import annotations

from kraft.metrics.instruments import Clock, Counter, Gauge, Histogram, IdleMeter, Meter
from kraft.metrics.registry import Instrument, MetricName, Registry

__all__ = ["Clock", "Counter", "Gauge", "Histogram", "IdleMeter", "Instrument", "Meter", "MetricName", "Registry"]
