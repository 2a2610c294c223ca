"""``python -m tests.fuzz --seconds N --seed S``: attack a node in a process of its own for a while, and print the
results.

Exit status 1 if the node died, disturbed the other client, logged a traceback, responded with UNKNOWN_SERVER_ERROR or
with an invalid response, or could not start again on its directory. A run with the printed seed repeats the same
attacks.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.frames import attack
from tests.fuzz.strike import CLIENT_APIS, CONTROL_APIS, Address, Neighbour, Tally, neighbour, strike
from tests.support.node_process import NodeProcess

ATTACKS_A_ROUND = 200
CONTROLLER_SHARE = 0.15
FAULTS_SHOWN = 10


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Attack a node with broken requests.")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.seconds:g} s")
    with tempfile.TemporaryDirectory(prefix="kraft-fuzz-") as directory:
        node = NodeProcess(Path(directory)).start()
        try:
            return _report(node, *_run(node, options.seconds, random.Random(options.seed)))
        finally:
            node.kill()


def _run(node: NodeProcess, seconds: float, rng: random.Random) -> tuple[Tally, Neighbour, list[int]]:
    """Attack in rounds. Return the results, and the resident memory (KiB) after each round."""
    client, controller = (("127.0.0.1", port) for port in node.ports)
    tally = Tally()
    memory: list[int] = []
    with neighbour(client) as friend:
        friend.prepare()
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for _ in range(ATTACKS_A_ROUND):
                _one(rng, client, controller, tally)
            friend.live()
            friend.tidy()
            memory.append(_status(node, "VmRSS"))
    return tally, friend, memory


def _one(rng: random.Random, client: Address, controller: Address, tally: Tally) -> None:
    if rng.random() < CONTROLLER_SHARE:
        strike(controller, attack(rng, CONTROL_APIS), tally)
    else:
        strike(client, attack(rng, CLIENT_APIS), tally)


def _status(node: NodeProcess, key: str) -> int:
    """A line of the process's status, in KiB."""
    assert node.process is not None
    for line in Path(f"/proc/{node.process.pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    raise KeyError(key)


def _report(node: NodeProcess, tally: Tally, friend: Neighbour, memory: list[int]) -> int:
    peak = _status(node, "VmHWM")
    faults = list(tally.faults)
    if node.stop() != 0:
        faults.append("the node did not stop with status 0")
    tracebacks = sum(line.startswith("Traceback") for line in node.output)
    if tracebacks:
        faults.append(f"{tracebacks} tracebacks in the log, the first:\n{_first_traceback(node.output)}")
    warnings = sum(" WARNING " in line for line in node.output)
    print(f"{tally.count} attacks: {dict(tally.attacks.most_common())}")
    print(f"{tally.sent_bytes} bytes sent; {friend.topics_removed} topics deleted in between")
    print(f"{tally.answers.total()} answers: {dict(tally.answers.most_common())}")
    print(f"{tally.closed} connections closed by the node, {tally.parked} left waiting by us")
    print(f"{warnings} warnings in the log, {tracebacks} tracebacks")
    course = [memory[position * (len(memory) - 1) // 10] // 1024 for position in range(11)]
    print(f"resident memory over time: {course} MiB, {peak // 1024} MiB at most")
    try:
        node.start()
    except RuntimeError as error:
        faults.append(str(error))
    for fault in faults[:FAULTS_SHOWN]:
        print(f"FAULT: {fault}")
    print(f"{len(faults)} faults")
    return 1 if faults else 0


def _first_traceback(lines: list[str]) -> str:
    start = next(number for number, line in enumerate(lines) if line.startswith("Traceback"))
    return "".join(lines[max(0, start - 1) : start + 15])


if __name__ == "__main__":
    sys.exit(main())
