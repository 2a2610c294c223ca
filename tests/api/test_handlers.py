"""The first request of an API: its imports and compilations are no steps of the event loop."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.messages.registry import ApiKey
from tests.support.node_process import environment

#: Sends a new node the first request of each API, and prints the code that the thread of its event loop imported or
#: compiled for it, by API. The audit event "exec" has the code of every import and of every generated function.
SCRIPT = """
import collections, json, sys, threading
import trio
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.messages.registry import ApiKey, request_class
from kraft.rpc.client import connect
from kraft.wire.errors import KafkaError
from kraft.testing import embedded_node

def ask(host, port):
    async def each_once():
        for key, (_, last) in OFFERED[ListenerType.BROKER].items():
            asked.append(ApiKey(key).name)
            with trio.move_on_after(2):
                async with connect(host, port, client_id="first") as connection:
                    try:
                        await connection.request(request_class(key)(), last)
                    except (KafkaError, OSError):
                        pass
    trio.run(each_once)

async def main():
    async with embedded_node() as node:
        loop = threading.get_ident()
        def note(event, arguments):
            if event == "exec" and asked and threading.get_ident() == loop:
                executed[asked[-1]].append(arguments[0].co_filename)
        sys.addaudithook(note)
        host, port = node.bootstrap_servers.split(":")
        await trio.to_thread.run_sync(ask, host, int(port))

asked, executed = [], collections.defaultdict(list)
trio.run(main)
print(json.dumps([asked, executed]))
"""

SMALL = re.compile(r"<(rows|encoder) of \w+(Partition|Record|Data|Batch) v")
"""Parts of a message, and records: less than a millisecond each."""


def test_a_first_request_imports_and_compiles_nothing_in_the_event_loop() -> None:
    """docs/robustness/heavy-requests.md: only the client of the first request waits for that."""
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True, env=environment())
    asked, executed = json.loads(done.stdout)
    assert asked == [ApiKey(key).name for key in OFFERED[ListenerType.BROKER]]
    assert [each for names in executed.values() for each in names if not SMALL.match(each)] == []
