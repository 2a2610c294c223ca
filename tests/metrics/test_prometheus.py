"""The text form, read back by Prometheus' own parser."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from kraft.metadata.steps import finished
from kraft.metrics import Registry
from kraft.metrics.prometheus import render


def samples(registry: Registry) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(finished(render(registry)).decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_every_kind_has_its_prometheus_form() -> None:
    registry = Registry(clock=lambda: 0.0)
    registry.gauge("kafka.network", "RequestChannel", "RequestQueueSize", lambda: 3)
    registry.counter("kafka.server", "socket-server-metrics", "connection-count", networkProcessor="1").count = 2
    registry.meter("kafka.network", "RequestMetrics", "RequestsPerSec", request="Produce", version="9").count = 5
    registry.idle_meter("kafka.server", "KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent")
    times = registry.histogram("kafka.network", "RequestMetrics", "TotalTimeMs", scale=0.001, request="Produce")
    times.record(2000)
    found = samples(registry)
    assert found["kafka_network_requestchannel_requestqueuesize", ()] == 3
    assert found["kafka_server_socket_server_metrics_connection_count", (("networkprocessor", "1"),)] == 2
    labels = (("request", "Produce"), ("version", "9"))
    assert found["kafka_network_requestmetrics_requestspersec_total", labels] == 5
    assert found["kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent", ()] == 1.0
    total = "kafka_network_requestmetrics_totaltimems"
    assert found[f"{total}_count", (("request", "Produce"),)] == 1
    assert found[f"{total}_sum", (("request", "Produce"),)] == 2.0
    assert found[total, (("quantile", "0.99"), ("request", "Produce"))] == 2.0


def test_label_values_are_escaped() -> None:
    registry = Registry()
    registry.counter("kafka.server", "x", "y", client='a"b\\c\nd').count = 1
    assert samples(registry) == {("kafka_server_x_y", (("client", 'a"b\\c\nd'),)): 1.0}
