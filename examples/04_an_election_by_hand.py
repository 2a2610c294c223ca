"""An election by hand: three members of a quorum in a dictionary, and every message between them.

A core is a function of time and events. It opens no socket and no file: it returns effects, and its driver performs
them. Here the network is a list, a message takes 10 ms, and every write is durable at once.
"""

from __future__ import annotations

from kraft.raft import events
from kraft.raft.core import RaftCore
from kraft.raft.log_view import LogView
from kraft.raft.state import ElectionState
from kraft.testing.driven import InFlight
from kraft.testing.words import election_in_words

now = 1.1  # seconds since the start: the election timeout of voter 1
cores = {
    node: RaftCore(node, (1, 2, 3), ElectionState(), LogView(), 0.0, jitter=lambda chance=node / 10: chance)
    for node in (1, 2, 3)
}
mail: list[InFlight] = []
requests: list[InFlight] = []  # the id of a request is its index


def tell(line: object) -> None:
    print(f"{now:.2f} s  {line}")


def step(node: int, event: events.Event) -> None:
    """Step a core with an event, and perform its effects: write durably first, send afterwards."""
    core = cores[node]
    effects = core.step(now, event)
    for transition in effects.transitions:
        tell(f"{node}: {transition}")
    if effects.election is not None:
        tell(f"{node} writes {election_in_words(effects.election)}")
        step(node, events.ElectionStateWritten(effects.election))
    if isinstance(effects.append, events.LeaderChange):
        tell(f"{node} appends record 0 (the LeaderChange)")
        step(node, events.LogAppended(1, effects.append.epoch))
    if effects.flush:
        step(node, events.LogFlushed(core.log.end_offset, core.log.truncations))
    for number, response in ((reply.request_id, reply.response) for reply in effects.replies):
        asker, asked = requests[number].source, requests[number].message
        mail.append(InFlight(node, asker, 1, events.ResponseReceived(asked.number, node, asked.request, response)))
    mail.extend(InFlight(node, send.to, 1, send) for send in effects.sends)
    if effects.high_watermark is not None:
        tell(f"{node} advances its high watermark to {effects.high_watermark}")


step(1, events.Timeout())
while any(core.high_watermark < 1 for core in cores.values()):
    now += 0.01
    in_flight = mail.pop(0)
    tell(in_flight)
    if isinstance(in_flight.message, events.Send):
        requests.append(in_flight)
        step(in_flight.target, events.RequestReceived(len(requests) - 1, in_flight.message.request))
    else:
        step(in_flight.target, in_flight.message)
