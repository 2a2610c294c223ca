"""The longest steps of a node's tasks under attack, by the CPU time of the loop's thread.

A wall time includes what other processes of the machine did meanwhile, and this does not.
"""

from __future__ import annotations

import time
from collections import defaultdict

import attrs
import trio

from kraft.testing import embedded_node
from tests.abuse.attacks import Attack
from tests.abuse.campaign import neighbour, strike
from tests.fuzz.strike import Address

SHOWN = 3


@attrs.define(eq=False)
class LongestSteps(trio.abc.Instrument):
    """The longest step of each task, in seconds of CPU time. The tasks are known by the first word of their name."""

    longest_s: dict[str, float] = attrs.Factory(lambda: defaultdict(float))
    _began_s: float | None = None

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began_s = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if self._began_s is not None:  # the step that added this instrument began before it
            name = task.name.partition(" ")[0]
            self.longest_s[name] = max(self.longest_s[name], time.thread_time() - self._began_s)

    def worst(self) -> list[tuple[str, float]]:
        return sorted(self.longest_s.items(), key=lambda item: -item[1])[:SHOWN]


def longest_steps(attack: Attack) -> list[tuple[str, float]]:
    """Attack a node in this process; return the tasks with the longest steps, and their seconds."""

    async def main() -> list[tuple[str, float]]:
        async with embedded_node() as node:
            host, port = node.bootstrap_servers.split(":")
            address = host, int(port)
            frames = await trio.to_thread.run_sync(_prepare, address, attack)
            steps = LongestSteps()
            trio.lowlevel.add_instrument(steps)
            await trio.to_thread.run_sync(strike, address, frames)
            trio.lowlevel.remove_instrument(steps)
        return steps.worst()

    return trio.run(main)


def _prepare(address: Address, attack: Attack) -> list[bytes]:
    with neighbour(address) as friend:
        friend.prepare()
        attack.prepare(friend)
    return list(attack.frames())
