"""``python -m tests.abuse.watched_node FILE``: a node that writes down its long steps by their CPU time.

A wall time includes the work of other processes, and this does not. The node's own watch (``kraft.world.steps``)
samples wall times. This instrument of Trio sees each step, and costs small requests a tenth of their time.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import attrs
import trio

from kraft.messages.registry import request_class
from kraft.node.__main__ import main
from kraft.rpc.channel import current_request

STEPS = "steps.jsonl"
"""In the working directory of the node: one line for each long step, with its task, request and milliseconds."""
NOTED_S = 0.010


@attrs.define(eq=False)
class LongSteps(trio.abc.Instrument):
    """Writes each step beyond ``NOTED_S``, and the part of it that the garbage collector took."""

    out: TextIO
    _began_s: float = 0.0
    _loop: int = 0
    _collecting_since_s: float = 0.0
    _collecting_s: float = 0.0

    def before_run(self) -> None:
        self._loop = threading.get_ident()
        gc.callbacks.append(self._collect)

    def _collect(self, phase: str, info: object) -> None:
        if threading.get_ident() == self._loop:
            if phase == "start":
                self._collecting_since_s = time.thread_time()
            else:
                self._collecting_s += time.thread_time() - self._collecting_since_s

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._collecting_s = 0.0
        self._began_s = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        spent_s = time.thread_time() - self._began_s
        if spent_s > NOTED_S:
            current = task.context.get(current_request)
            request = current and current.request
            api = request_class(request.api_key).__name__.removesuffix("Request") if request else ""
            milliseconds = {"cpu_ms": round(spent_s * 1000), "gc_ms": round(self._collecting_s * 1000)}
            self.out.write(json.dumps({"task": task.name.partition(" ")[0], "api": api, **milliseconds}) + "\n")


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a node, and write its long steps into its working directory."""
    with Path(STEPS).open("a", buffering=1) as out:
        return main(arguments, [LongSteps(out)])


if __name__ == "__main__":
    sys.exit(run())
