"""Names of metrics, and their registration."""

from __future__ import annotations

import pytest

from kraft.metrics import MetricName, Registry


def test_a_name_is_spelled_as_a_jmx_bean() -> None:
    name = MetricName("kafka.network", "RequestMetrics", "TotalTimeMs", (("request", "Produce"),))
    assert str(name) == "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce"


def test_a_metric_is_made_once_and_found_again() -> None:
    registry = Registry()
    made = registry.counter("g", "t", "n", tag="v")
    assert registry.counter("g", "t", "n", tag="v") is made
    assert registry.get("g:type=t,name=n,tag=v") is made
    assert registry.counter("g", "t", "n", tag="other") is not made
    assert [str(name) for name, _ in registry] == ["g:type=t,name=n,tag=v", "g:type=t,name=n,tag=other"]


def test_a_name_belongs_to_one_metric() -> None:
    registry = Registry()
    registry.gauge("g", "t", "n", lambda: 0)
    with pytest.raises(ValueError, match="g:type=t,name=n is registered already"):
        registry.gauge("g", "t", "n", lambda: 1)
    with pytest.raises(ValueError, match="another kind"):
        registry.meter("g", "t", "n")


def test_a_removed_metric_is_gone() -> None:
    registry = Registry()
    registry.gauge("g", "t", "n", lambda: 0)
    registry.remove(MetricName("g", "t", "n"))
    registry.remove(MetricName("g", "t", "n"))
    with pytest.raises(KeyError):
        registry.get("g:type=t,name=n")


def test_an_owner_updates_its_metrics_before_they_are_read() -> None:
    registry, kept = Registry(), [1, 2]
    counter = registry.counter("g", "t", "n")

    def update() -> None:
        counter.count += len(kept)
        kept.clear()

    registry.before_reading(update)
    assert registry.get("g:type=t,name=n").value == 2
    kept.append(3)
    assert [metric.value for _, metric in registry] == [3]
