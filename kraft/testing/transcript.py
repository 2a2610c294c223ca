"""Transcripts: the behaviour of a quorum, command by command, as text that people read and a test checks.

A transcript consists of blocks: one or more commands, a line ``----``, and the effects, up to an empty line. Lines that
begin with ``#`` are prose. ``replay`` performs the commands on real cores and returns the same text with the effects of
this run; a test compares the two. The commands are the methods ``do_…`` of :class:`Stage`. Each effect of a Raft core
is one line, in the order of performing::

    timeout 1
    ----
    1: Unattached -> Prospective in epoch 0: the election timeout expired without a leader
    1 sends 2 and 3: PreVote in epoch 0: my log is empty
"""

from __future__ import annotations

from collections.abc import Callable

from kraft.raft.events import Resign, ShutDown
from kraft.raft.messages import Request
from kraft.raft.state import Follower, Leader
from kraft.testing.cores import Cores
from kraft.testing.driven import DrivenCore, InFlight, Line
from kraft.testing.words import name_of

_RULE = "----"


class TranscriptError(Exception):
    """The text is not a transcript, or a command is invalid. The message names the line."""


def replay(text: str) -> str:
    """Perform a transcript and return it with its effects. Raises TranscriptError if the text is invalid."""
    stage = Stage()
    result: list[str] = []
    commands: list[tuple[int, str]] = []
    skips_effects = False
    for number, line in enumerate(text.splitlines(), 1):
        if skips_effects:
            skips_effects = bool(line)
            if skips_effects:
                continue
        if line == _RULE:
            if not commands:
                raise TranscriptError(f"line {number}: no command before {_RULE}")
            result += [line, *_perform(stage, commands)]
            commands, skips_effects = [], True
            continue
        result.append(line)
        if line and not line.startswith("#"):
            commands.append((number, line))
        elif commands:
            raise TranscriptError(f"line {number}: commands and {_RULE} belong together")
    if commands:
        raise TranscriptError(f"line {commands[0][0]}: the effects are missing; add {_RULE}")
    return "\n".join(result) + "\n"


def _perform(stage: Stage, commands: list[tuple[int, str]]) -> list[str]:
    lines: list[str] = []
    for number, command in commands:
        name, *words = command.split()
        perform: Callable[..., None] | None = getattr(stage, f"do_{name}", None)
        if perform is None:
            raise TranscriptError(f"line {number}: there is no command {name!r}")
        try:
            perform(*words)
        except (TypeError, ValueError, KeyError) as error:
            raise TranscriptError(f"line {number}: {command}: {error}") from error
        lines += stage.take_lines()
    return lines or ["ok"]


class Stage:
    """The cores of one transcript, and its commands. ``do_x`` is the command ``x``; its arguments are strings."""

    def __init__(self) -> None:
        self.cores = Cores(())
        self._lines: list[str] = []
        self._hidden: set[str] = set()
        self._news_only = False
        self._with_time = False
        self._arrival: str | None = None
        self._indent = ""

    def take_lines(self) -> list[str]:
        lines, self._lines = self._lines, []
        self._arrival, self._indent = None, ""
        return lines

    def _record(self, text: str, kind: Line, about: Request | None) -> None:
        hidden = self._news_only or (about is not None and name_of(about) in self._hidden)
        if kind is Line.ARRIVAL:
            # A hidden message is shown after all if one of its effects is not hidden.
            self._arrival, self._indent = (text if not self._news_only else None), ""
            if hidden:
                return
        elif hidden and kind is not Line.NEWS:
            return
        if self._arrival is not None:
            self._lines.append(self._arrival)
            self._arrival, self._indent = None, "  "
        if kind is not Line.ARRIVAL:
            time = f"{self.cores.now:.2f} s  " if self._with_time else ""
            self._lines.append(f"{time}{self._indent}{text}")

    def _node(self, word: str) -> DrivenCore:
        return self.cores.nodes[int(word)]

    def do_hide(self, *names: str) -> None:
        """``hide Fetch``: messages of that API are delivered, but shown only if they have other effects."""
        self._hidden = set(names)

    def do_show(self) -> None:
        """``show``: end ``hide``."""
        self._hidden.clear()

    # The nodes.

    def do_quorum(self, *words: str) -> None:
        """``quorum 1 2 3 observers 4``: new nodes with empty disks."""
        voters, _, observers = " ".join(words).partition("observers")
        self.cores = Cores(map(int, voters.split()), map(int, observers.split()), say=self._record)
        self._lines.clear()

    def do_old(self, node: str) -> None:
        """``old 3``: node 3 runs a release without pre-votes."""
        self.cores.old.add(self._node(node).node_id)

    def do_state(self, *nodes: str) -> None:
        """``state``, ``state 1 3``: the states of nodes, and their logs, each record as its epoch.

        ``|`` is the high watermark: records to its left are committed. Records in brackets are not yet durable.
        """
        for node in [self._node(word) for word in nodes] or self.cores.nodes.values():
            self._lines.append(describe(node))

    # Time.

    def do_timeout(self, node: str) -> None:
        """``timeout 1``: node 1 receives nothing until a timeout changes its state."""
        self.cores.time_out(int(node))

    def do_fire(self, node: str) -> None:
        """``fire 1``: time passes until the timer of node 1 fires, once."""
        self.cores.fire(int(node))

    def do_run(self, seconds: str) -> None:
        """``run 5``: five seconds pass, messages arrive at once. Only changes of states and logs are shown."""
        self._news_only = self._with_time = True
        self.cores.run(float(seconds))
        self._news_only = self._with_time = False

    def do_elect(self, node: str) -> None:
        """``elect 1``: node 1 times out first, and all messages arrive. Only the result is shown."""
        self.cores.time_out(int(node))
        self.cores.settle()
        state = self._node(node).core.state
        if not isinstance(state, Leader):
            raise ValueError(f"it is {type(state).__name__}")
        self._lines = [f"{node} leads epoch {state.epoch}"]

    # Messages.

    def do_deliver(self, way: str = "*->*") -> None:
        """``deliver``, ``deliver 1->2``, ``deliver 1->*``: the messages in flight on these connections arrive."""
        for in_flight in self._on(way):
            self.cores.deliver(in_flight)

    def do_drop(self, way: str = "*->*") -> None:
        """``drop 1->2``: the messages in flight from node 1 to node 2 are lost."""
        for in_flight in self._on(way):
            self.cores.in_flight.remove(in_flight)
            if name_of(in_flight.message.request) not in self._hidden:
                self._lines.append(f"lost: {in_flight}")

    def do_settle(self) -> None:
        """``settle``: deliver until no message is in flight. Only changes of states and logs are shown."""
        self._news_only = True
        self.cores.settle()
        self._news_only = False

    def do_mail(self) -> None:
        """``mail``: the messages in flight."""
        shown = [
            in_flight for in_flight in self.cores.in_flight if name_of(in_flight.message.request) not in self._hidden
        ]
        self._lines += map(str, shown) if shown else ["nothing is under way"]

    def _on(self, way: str) -> list[InFlight]:
        source, target = way.split("->")
        in_flight = filter(self.cores.may_arrive, self.cores.in_flight)
        return [each for each in in_flight if source in ("*", f"{each.source}") and target in ("*", f"{each.target}")]

    def do_cut(self, *words: str) -> None:
        """``cut 1 | 2 3``: partition the network between node 1 and the others."""
        self.cores.cut(*(map(int, side.split()) for side in " ".join(words).split("|")))

    def do_heal(self) -> None:
        """``heal``: end the partition of the network."""
        self.cores.cut()

    # Logs and disks.

    def do_append(self, node: str, count: str = "1") -> None:
        """``append 1 3``: the controller on node 1 appends a batch of three records."""
        if not self.cores.append(int(node), int(count)):
            self._lines.append(f"{node} is not the leader, and appends nothing")

    def do_hold(self, node: str) -> None:
        """``hold 1``: from now on, writes of node 1 are not durable before a ``flush``."""
        self._node(node).held = True

    def do_flush(self, node: str) -> None:
        """``flush 1``: all writes of node 1 so far become durable."""
        held = self._node(node)
        if held.writing is not None:
            held.finish_writing()
        for _ in range(len(held.unfinished)):
            held.finish_flush()

    def do_snapshot(self, node: str) -> None:
        """``snapshot 1``: node 1 writes a snapshot of its committed records."""
        snapshot = self._node(node).create_snapshot()
        if snapshot is None:
            raise ValueError("nothing new is committed")
        self._lines.append(f"{node} writes the snapshot to offset {snapshot.end_offset}, epoch {snapshot.epoch}")

    def do_trim(self, node: str) -> None:
        """``trim 1``: node 1 deletes the part of its log that its newest snapshot covers."""
        if not self._node(node).trim():
            raise ValueError("there is nothing to delete")
        self._lines.append(f"{node} deletes its log below {self._node(node).core.log.start_offset}")

    # Crashes and stops.

    def do_crash(self, node: str) -> None:
        """``crash 1``: node 1 is killed and loses all writes that are not durable."""
        self._node(node).crash()

    def do_restart(self, node: str) -> None:
        """``restart 1``: node 1 starts with the files on its disk."""
        self._node(node).start()

    def do_wipe(self, node: str) -> None:
        """``wipe 1``: the disk of node 1, which is down, is replaced by an empty one."""
        if self._node(node).up:
            raise ValueError("it runs")
        self._node(node).disk.wipe()

    def do_resign(self, node: str) -> None:
        """``resign 1``: the controller on node 1 gives up its leadership."""
        core = self._node(node)
        core.step(Resign(core.core.epoch))

    def do_stop(self, node: str) -> None:
        """``stop 1``: node 1 begins a controlled shutdown."""
        self._node(node).step(ShutDown())


def describe(node: DrivenCore) -> str:
    """Return one line about a node: its state, and its log as the epochs of its records."""
    if not node.up:
        return f"{node.node_id} is down, log {draw_log(node, 0)}"
    state = node.core.state
    of = f" of {state.leader_id}" if isinstance(state, Follower) else ""
    log = draw_log(node, node.core.high_watermark)
    return f"{node.node_id} {type(state).__name__}{of}, epoch {state.epoch}, log {log}"


def draw_log(node: DrivenCore, high_watermark: int) -> str:
    """Return a log as text. ``1 1 | 2 (2)``: two committed records of epoch 1, then two of epoch 2, the last not
    durable.
    """
    log, durable = node.disk.log, node.core.log.durable_offset if node.up else node.disk.log.end
    marks = [f"snapshot to {log.start},"] if log.start else []
    for offset, entry in enumerate(log.entries, log.start):
        if offset == high_watermark > 0:
            marks.append("|")
        opens = "(" if offset == durable else ""
        closes = ")" if offset == log.end - 1 >= durable else ""
        marks.append(f"{opens}{entry.epoch}{closes}")
    if high_watermark == log.end and high_watermark > 0:
        marks.append("|")
    return " ".join(marks) or "empty"
