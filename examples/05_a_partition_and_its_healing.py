"""A partition and its healing: the old leader steps down, the new leader's log wins, and no committed record
is lost.

The three cores are the real ones; `kraft.testing.cores` is their network, their disks and their clock. A log is printed
as its records, each with its epoch. Records to the left of the bar are committed, as far as that node knows.
"""

from __future__ import annotations

from kraft.raft.messages import Request
from kraft.testing.cores import Cores
from kraft.testing.driven import Line

COLOURS = ["red", "blue", "green", "yellow"]


def tell(text: str, kind: Line, about: Request | None) -> None:
    if kind is Line.NEWS:
        print(f"{cores.now:5.2f} s  {text}")


def show(title: str) -> None:
    print(f"         {title}")
    for node in cores.nodes.values():
        records = [
            f"{COLOURS[each.value - 1] if each.value > 0 else 'begin'}/{each.epoch}" for each in node.disk.log.entries
        ]
        records.insert(node.core.high_watermark, "|")
        print(f"           {node.node_id} {type(node.core.state).__name__:8}  {' '.join(records)}")


cores = Cores((1, 2, 3))
cores.say = tell
cores.run(1.5)
cores.append(1)
cores.settle()
show("Red is committed: all voters have it.")

print("\n         The network is cut between 1 and the others. A client still sends changes to 1.")
cores.cut([1], [2, 3])
cores.append(1, 2)
cores.run(2)
cores.append(3)
cores.run(0.5)
show("Two leaders, of different epochs. Yellow is committed. Blue and green are not, nor acknowledged.")
cores.run(3)

print("\n         The network heals.")
cores.cut()
cores.run(2)
show("All logs have the records of the newer epoch.")
