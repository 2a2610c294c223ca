"""Three whole controllers in one Trio loop, in virtual time: kill the leader and watch the nursery trees.

A role is a scope. The elected node leaves the scope that it had as a follower. It enters a scope named after its new
role, with the active controller beside it. No task sleeps in real time: the virtual clock jumps.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import trio

from kraft.simulation import virtual_time
from kraft.simulation.virtual_cluster import VirtualNode, virtual_nodes
from kraft.simulation.virtual_network import VirtualNetwork

ROLE = re.compile(r"(leader|follower of \d|unattached|prospective|candidate|resigned|active controller).*")


def say(what: str, nodes: dict[int, VirtualNode]) -> None:
    """Print the event, and the role scopes of every running node."""
    print(f"{trio.current_time():5.2f} s  {what}")
    for node in nodes.values():
        if node.node is not None:
            scopes = [found.group() for line in node.tree().splitlines() if (found := ROLE.search(line))]
            print(f"           {node.host}: {' + '.join(sorted(scopes, reverse=True))}")


async def leader(nodes: dict[int, VirtualNode]) -> VirtualNode:
    """Wait until the running nodes agree on a leader, and its controller is active."""
    while True:
        alive = [node for node in nodes.values() if node.node is not None]
        led = [node for node in alive if "active controller" in node.tree()]
        if len(led) == 1 and all(node.tree().count(f"of {led[0].node_id} in") for node in alive if node is not led[0]):
            return led[0]
        await trio.sleep(0.01)


async def main(directory: str) -> None:
    nodes = virtual_nodes(Path(directory), 3, VirtualNetwork(seed=7))
    async with trio.open_nursery() as nursery:
        for node in nodes.values():
            await nursery.start(node.run)
        say("three controllers without a leader", nodes)
        first = await leader(nodes)
        say(f"{first.host} is elected", nodes)
        await first.kill()
        say(f"{first.host} is killed; its followers still wait for it", nodes)
        second = await leader(nodes)
        say(f"the fetch timeout of its followers expires after 2 s, and they elect {second.host}", nodes)
        await nursery.start(first.run)
        await leader(nodes)
        say(f"{first.host} starts again, and follows", nodes)
        nursery.cancel_scope.cancel()


with tempfile.TemporaryDirectory() as directory:
    virtual_time.run(main, directory, seed=7)
