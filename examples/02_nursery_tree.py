"""A node is one nursery tree: connect a client, and its task appears; disconnect, and the task is gone.

The node runs in this program's own Trio loop, so the program can list its tasks.
"""

from __future__ import annotations

import re

import trio
import trio.testing

from kraft.node.tree import render
from kraft.rpc.client import connect
from kraft.testing import embedded_node


def connections() -> list[str]:
    """Return the lines of the tree that are connections, without their ports."""
    return [re.sub(r":\d+", ":<port>", line.strip("│├└─ ")) for line in render().splitlines() if "connection" in line]


async def main() -> None:
    async with embedded_node() as node:
        host, port = node.bootstrap_servers.split(":")
        print("before:", connections())
        async with connect(host, int(port), client_id="example"):
            print("during:", connections())
        while connections():
            await trio.testing.wait_all_tasks_blocked()
        print("after: ", connections())

        scopes = ("embedded node", "quorum", "metadata", "controller plane", "publisher", "coordinators", "data plane")
        for line in render().splitlines():
            if line.strip("│├└─ ") in scopes:
                print(line)


trio.run(main)
