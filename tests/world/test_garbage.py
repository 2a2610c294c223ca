"""The collections of garbage in the process of a node. Each test has a process of its own, which it may freeze."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

from kraft.testing import embedded_node
from tests.support.node_process import environment

BEGIN = """
import gc, itertools, json, logging
from kraft.world import garbage

class Cycle:
    alive = 0
    def __init__(self):
        self.itself = self
        Cycle.alive += 1
    def __del__(self):
        Cycle.alive -= 1

looked_at = []
def count(phase, info):
    if phase == "start" and info["generation"] == 2:
        looked_at.append(len(gc.get_objects()))

def let_python_collect():
    more = len(looked_at) + 2
    young = []
    while len(looked_at) < more:
        young.append([])

gc.freeze()
gc.callbacks.append(count)
ticks = itertools.count()  # so that every full collection is a long one
"""


def printed(script: str) -> Any:
    command = [sys.executable, "-c", BEGIN + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment())
    return json.loads(done.stdout)


def test_a_full_collection_looks_at_the_young_objects_only() -> None:
    """gc.freeze: "Freeze all the objects tracked by garbage collector [...] and ignore them in all the future
    collections." Without that, the last full collections here look at more than 400,000 objects.
    """
    looked_at = printed("""
with garbage.short_collections(lambda: next(ticks)):
    kept = [[] for _ in range(600_000)]
print(json.dumps(looked_at))
""")
    assert len(looked_at) > 4
    assert max(looked_at) < 150_000


def test_cycles_that_become_garbage_after_they_were_frozen_are_freed() -> None:
    """There are never more of them than ``few``, and those of one round. Nothing else would ever free them."""
    most, collections = printed("""
most, collections = 0, 0
with garbage.short_collections(lambda: next(ticks), few=50_000) as frozen:
    for _ in range(20):
        cycles = [Cycle() for _ in range(20_000)]
        let_python_collect()
        before = Cycle.alive
        del cycles
        frozen.collect_if_doubled()
        collections += Cycle.alive < before
        most = max(most, Cycle.alive)
print(json.dumps([most, collections]))
""")
    assert 20_000 <= most <= 70_000
    assert 1 <= collections <= 10, "rare"


def test_growth_alone_is_looked_at_once_for_each_doubling() -> None:
    collections = printed("""
kept, collections = [], 0
with garbage.short_collections(lambda: next(ticks), few=10_000) as frozen:
    for _ in range(64):
        kept += [[] for _ in range(10_000)]
        let_python_collect()
        before = frozen.in_use
        frozen.collect_if_doubled()
        collections += frozen.in_use != before
print(json.dumps(collections))
""")
    assert 1 <= collections <= 7


def test_frozen_objects_that_are_freed_with_their_last_reference_do_not_count() -> None:
    """A node that serves for long freezes many objects, and frees them all again."""
    collections = printed("""
collections = 0
with garbage.short_collections(lambda: next(ticks), few=200_000) as frozen:
    for _ in range(30):
        kept = [[] for _ in range(20_000)]
        let_python_collect()
        frozen.collect_if_doubled()
        collections += frozen.in_use != 0
print(json.dumps(collections))
""")
    assert collections == 0


def test_short_collections_freeze_nothing() -> None:
    """An object that no long collection has looked at may still become garbage soon."""
    frozen = printed("""
before = gc.get_freeze_count()
with garbage.short_collections(lambda: 0.0):
    kept = [[] for _ in range(200_000)]
print(json.dumps(gc.get_freeze_count() - before))
""")
    assert frozen <= 0


async def test_the_policy_belongs_to_the_command_and_not_to_a_node() -> None:
    """A cluster in the process of a user's tests changes nothing of that process's garbage collector."""
    before, frozen = list(gc.callbacks), gc.get_freeze_count()
    async with embedded_node():
        assert gc.callbacks == before
        assert gc.get_freeze_count() <= frozen
