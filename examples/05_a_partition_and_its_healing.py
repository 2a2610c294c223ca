"""A partition and its healing: the old leader steps down, the new one's log wins, and nothing committed is lost.

The three cores are the real ones; `kraft.testing.cores` is their network, their disks and their clock. A log is drawn
as its records with the epoch that each is from; what stands left of the bar is committed, as far as that node knows.
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
show("Red is committed: all have it.")

print("\n         The network is cut between 1 and the others. Somebody still changes things through 1.")
cores.cut([1], [2, 3])
cores.append(1, 2)
cores.run(2)
cores.append(3)
cores.run(0.5)
show("Two leaders, of different epochs. Yellow is committed; blue and green are not, and nobody was told so.")
cores.run(3)

print("\n         The network is whole again.")
cores.cut()
cores.run(2)
show("The log of the newer epoch has won.")
