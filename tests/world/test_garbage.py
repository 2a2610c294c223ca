"""The collections of garbage in the process of a node. Each test has a process of its own, which it may freeze."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from typing import Any

import pytest

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
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True, env=environment())
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


def test_a_full_collection_follows_few_new_objects() -> None:
    """_THRESHOLDS: each new object takes 0.2 µs, and 7,000 of them are looked at."""
    looked_at = printed("""
with garbage.short_collections(lambda: next(ticks)):
    kept = [[] for _ in range(200_000)]
print(json.dumps(looked_at))
""")
    assert max(looked_at[1:]) < 10_000


def test_a_full_collection_follows_few_new_objects_after_many_old_ones() -> None:
    """ "Python begins the next one only once a quarter as many objects are new as the last one has left": of 400,000
    that are 100,000.
    """
    looked_at = printed("""
import trio
async def main():
    gc.disable()
    metadata = [[] for _ in range(400_000)]
    gc.enable()
    gc.collect()
    await trio.lowlevel.checkpoint()
    looked_at.clear()
    kept = []
    for _ in range(200):
        kept += [[] for _ in range(1_000)]
        await trio.lowlevel.checkpoint()
with garbage.short_collections(lambda: next(ticks)):
    trio.run(main)
print(json.dumps(looked_at))
""")
    assert looked_at
    assert max(looked_at) < 10_000


TRAFFIC = """
import socket
import trio
import kraft.coordination.coordinators  # attrs makes cycles of classes, and the node would import it during the traffic
from kraft.rpc.client import connect
from kraft.testing.embedded import embedded_node
from tests.support.talk import batch, create, fetch_request, produce, values

async def serve(port, topics):
    for topic in topics:
        async with connect("127.0.0.1", port) as client:
            await create(client, topic, 2)
            await produce(client, topic, batch(b"x"))
            await values(client, topic)
        async with connect("127.0.0.1", port) as client, trio.open_nursery() as nursery:
            parked = fetch_request(topic, 1, max_wait_ms=60_000, min_bytes=1)
            nursery.start_soon(client.request, parked, 11)
            await trio.testing.wait_all_tasks_blocked(0.01)
            nursery.cancel_scope.cancel()
        with socket.create_connection(("127.0.0.1", port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
            await trio.testing.wait_all_tasks_blocked(0.01)

async def main():
    async with embedded_node() as node:
        port = int(node.bootstrap_servers.partition(":")[2])
        await serve(port, ["first"])
        gc.collect()
        gc.disable()
        await serve(port, [f"topic-{number}" for number in range(5)])
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        print(json.dumps([repr(each)[:100] for each in gc.garbage]))

import trio.testing
trio.run(main)
"""


def test_traffic_leaves_no_garbage_in_cycles() -> None:
    """Its cycles would remain after they were frozen: gc.freeze lets later collections ignore them."""
    assert printed(TRAFFIC) == []


REFUSALS = """
import trio
from kraft.rpc.client import connect
from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.testing.embedded import embedded_node
from tests.abuse.generated import Likeliest, cases
from tests.fuzz.strike import CLIENT_APIS, CONTROL_APIS
from tests.support.talk import batch, produce_request

async def ask(port, request, version):
    async with connect("127.0.0.1", port) as client:
        with trio.move_on_after(0.5):
            await client.request(request, version)

async def main():
    rng, found = Likeliest(), {}
    for at_controller, apis in ((False, CLIENT_APIS), (True, CONTROL_APIS)):
        for case in cases(apis, at_controller=at_controller, every_version=False):
            found.setdefault((case.key, at_controller), case)
    requests = [(case.message(rng, 20), case.version, case.at_controller) for case in found.values()]
    of_transaction = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    transactional = produce_request("absent", batch(b"x", **of_transaction))
    transactional.transactional_id = "t"
    requests += [
        (produce_request("absent", batch(b"x"), acks=0), 9, False),
        (transactional, 11, False),
        (transactional, 12, False),
        (ElectLeadersRequest(election_type=7, topic_partitions=[TopicPartitions("absent", [0, 1])]), 2, True),
    ]
    async with embedded_node() as node:
        ports = [int(address.partition(":")[2]) for address in (node.bootstrap_servers, node.controller)]
        for again in range(2):
            for request, version, at_controller in requests:
                try:
                    await ask(ports[at_controller], request, version)
                except Exception:
                    pass
            if not again:
                gc.collect()
                gc.disable()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        print(json.dumps([repr(each)[:100] for each in gc.garbage]))

trio.run(main)
"""


def test_refused_requests_leave_no_garbage_in_cycles() -> None:
    """A traceback has the frame that raised. An exception that this frame, or its object, keeps is a cycle with it."""
    assert printed(REFUSALS) == []


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


@pytest.mark.parametrize("is_enabled", [True, False])
def test_an_import_begins_no_collection(is_enabled: bool) -> None:
    """Afterwards the collector is as before, also after an error."""
    statements = f"""
import gc, json, sys
from kraft.world.garbage import import_uncollected
gc.enable() if {is_enabled} else gc.disable()
began = []
gc.callbacks.append(lambda phase, info: began.append(phase))
import_uncollected("kraft.coordination.coordinators")
seen = len(began), "kraft.coordinator.groups.core" in sys.modules, gc.isenabled()
try:
    import_uncollected("kraft.no_such_module")
except ImportError:
    seen += (gc.isenabled(),)
print(json.dumps(seen))
"""
    assert printed(statements) == [0, True, is_enabled, is_enabled]
