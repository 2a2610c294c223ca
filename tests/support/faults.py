"""Faults of a node of a cluster of processes. Each lasts as long as its block."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from tests.support.cluster import Cluster

Fault = Callable[[Cluster, int], AbstractContextManager[None]]


@contextlib.contextmanager
def killed(cluster: Cluster, victim: int) -> Iterator[None]:
    cluster.nodes[victim].kill()
    yield
    cluster.start(victim)


@contextlib.contextmanager
def paused(cluster: Cluster, victim: int) -> Iterator[None]:
    cluster.nodes[victim].pause()
    yield
    cluster.nodes[victim].resume()


@contextlib.contextmanager
def cut_off(cluster: Cluster, victim: int) -> Iterator[None]:
    assert cluster.links is not None
    cluster.links.cut(victim, others(cluster, victim))
    yield
    cluster.links.heal()


@contextlib.contextmanager
def deaf(cluster: Cluster, victim: int) -> Iterator[None]:
    """Others receive the victim's messages; the victim receives none."""
    assert cluster.links is not None
    for other in others(cluster, victim):
        cluster.links.cut_one_way(other, victim)
    yield
    cluster.links.heal()


@contextlib.contextmanager
def mute(cluster: Cluster, victim: int) -> Iterator[None]:
    """The victim receives the messages of others; they receive none of it."""
    assert cluster.links is not None
    for other in others(cluster, victim):
        cluster.links.cut_one_way(victim, other)
    yield
    cluster.links.heal()


def others(cluster: Cluster, victim: int) -> list[int]:
    return [node_id for node_id in cluster.nodes if node_id != victim]


@contextlib.contextmanager
def blackout(cluster: Cluster, victim: int) -> Iterator[None]:
    """All nodes die at once, and all but the victim return at once."""
    cluster.kill()
    cluster.start(*others(cluster, victim))
    yield
    cluster.start(victim)
