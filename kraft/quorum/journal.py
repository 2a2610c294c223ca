"""The quorum's journal on disk: ``quorum-journal.jsonl`` beside ``meta.properties``, one JSON object a line.

The Raft core gives a reason for each change of state and for each verdict on a request. The journal keeps them, and
``kraft quorum explain`` reads the journals of any number of nodes. The ``kind`` of a line is one of:

- ``start``: the node started; ``wrote_ms`` is the time of the last record in its log, or null if a controller may
  append nothing for any time (``metadata.max.idle.interval.ms=0``). A killed node writes no ``stop``;
- ``transition``: a change of state;
- ``verdict``: a request was granted or refused;
- ``omitted``: the number of verdicts that were counted and not written;
- ``fatal``: the reason why the core gave up;
- ``stop``: a controlled stop.

``ms`` is the time by this node's clock, in milliseconds since the Unix epoch.

The journal must never delay the quorum, and it is bounded: two files of MAX_BYTES, the older one with the suffix
``.1``. A line goes to the page cache without fsync. Equal verdicts are counted instead of written. The first OSError
ends the file. ``copy_to`` gets every line all the same: the request log has them too.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from enum import Enum

import attrs

from kraft.quorum.refusals import Refusal, RefusalReason, RequestSummary
from kraft.raft.events import Effects, Verdict
from kraft.storage.atomic import write_all
from kraft.storage.creation import open_or_create

logger = logging.getLogger("kraft.node")

FILE_NAME = "quorum-journal.jsonl"
OLDER_SUFFIX = ".1"
MAX_BYTES = 2**20

#: The maximum number of different verdicts written between two changes of state. Others are only counted.
MAX_KINDS = 64
MAX_LASTING_KINDS = 16
#: The minimum time between two lines for the same verdict.
REPEAT_MS = 10_000

Line = dict[str, object]


@attrs.define
class _Repeated:
    """A written verdict, and its repetitions since: ``times``, the last one in ``epoch`` at ``ms``."""

    line: Line
    written_ms: int
    times: int = 0
    epoch: int = 0
    ms: int = 0


class QuorumJournal:
    """Writes the journal of one node into a directory.

    Resource handling: holds the file open until ``close``, or until the first error.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        node_id: int,
        now_ms: Callable[[], int],
        copy_to: Callable[[Line], object] | None = None,
    ) -> None:
        """Open the journal in the directory ``path``. ``now_ms`` is the wall clock. After an OSError, which is logged,
        nothing is written. ``copy_to`` must not raise.
        """
        self.path = os.path.join(path, FILE_NAME)
        self._node_id = node_id
        self._now_ms = now_ms
        self._copy_to = copy_to
        self._kinds: dict[tuple[object, ...], _Repeated] = {}
        self._omitted = 0
        self._fd = -1
        self._size = 0
        try:
            self._open()
        except OSError as error:
            self._end(error)

    def start(self, wrote_ms: int | None) -> None:
        """Write that the node starts. ``wrote_ms`` is the time of the last record in its log, by the clock of the
        leader. It dates the end of a killed leader's term, so it is None if a leader may append nothing.
        """
        self._write([self._line(self._now_ms(), "start", wrote_ms=wrote_ms)])

    def note(self, effects: Effects) -> None:
        """Write the transitions, the verdicts and the fatal error of one step."""
        if not (effects.transitions or effects.verdicts or effects.fatal):
            return
        now_ms = self._now_ms()
        lines: list[Line] = []
        if effects.transitions:
            lines += self._counted_lines()
            lines += (self._line(now_ms, "transition", **attrs.asdict(change)) for change in effects.transitions)
        for verdict in effects.verdicts:
            lines += self._core_verdict(now_ms, verdict)
        if effects.fatal:
            lines.append(self._line(now_ms, "fatal", words=effects.fatal))
        self._write(lines)

    def stop(self) -> None:
        """Write the counts of repeated verdicts, and that this is a controlled stop."""
        self._write([*self._counted_lines(at_end=True), self._line(self._now_ms(), "stop")])

    def close(self) -> None:
        """Close the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _line(self, ms: int, kind: str, **fields: object) -> Line:
        return {"ms": ms, "node": self._node_id, "kind": kind, **fields}

    def note_refusal(self, refusal: Refusal) -> None:
        """Write a request that was refused before the core."""
        self._write(self._verdict_lines(self._now_ms(), refusal.request, False, refusal.reason))

    def _core_verdict(self, now_ms: int, verdict: Verdict) -> list[Line]:
        request = RequestSummary.of(verdict.request, verdict.peer)
        return self._verdict_lines(now_ms, request, verdict.granted, verdict.reason)

    def _verdict_lines(self, now_ms: int, request: RequestSummary, granted: bool, reason: Enum) -> list[Line]:
        """Return the line of a verdict, one with a count if it was written before, or none if it is only counted."""
        key = (request.kind, request.pre_vote, request.peer, granted, reason)
        known = self._kinds.get(key)
        if known is None and len(self._kinds) >= MAX_KINDS:
            self._omitted += 1
            return []
        if known is None:
            line = self._line(
                now_ms,
                "verdict",
                epoch=request.epoch,
                request=request.kind,
                preVote=request.pre_vote,
                peer=request.peer,
                granted=granted,
                reason=reason.name,
                words=reason.value,
            )
            self._kinds[key] = _Repeated(line, now_ms)
            return [line]
        known.times += 1
        known.epoch, known.ms = request.epoch, now_ms
        if 0 <= now_ms - known.written_ms < REPEAT_MS:
            return []
        known.written_ms = now_ms
        return [_again(known)]

    def _counted_lines(self, *, at_end: bool = False) -> list[Line]:
        """Return the lines of counted verdicts. After a change of state the next verdict of each kind is written again.

        Requests rejected before the core do not depend on its state and can repeat indefinitely. Up to
        MAX_LASTING_KINDS of their counters survive a change of state.
        """
        lasting = [key for key in self._kinds if isinstance(key[-1], RefusalReason)]
        kept = {key: self._kinds.pop(key) for key in lasting[: 0 if at_end else MAX_LASTING_KINDS]}
        lines = [_again(known) for known in self._kinds.values() if known.times]
        if self._omitted:
            lines.append(self._line(self._now_ms(), "omitted", times=self._omitted))
        self._kinds = kept
        self._omitted = 0
        return lines

    def _write(self, lines: list[Line]) -> None:
        if self._copy_to is not None:
            for line in lines:
                self._copy_to(line)
        if self._fd < 0 or not lines:
            return
        data = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines).encode()
        try:
            if self._size and self._size + len(data) > MAX_BYTES:
                os.close(self._fd)
                self._fd = -1
                os.replace(self.path, self.path + OLDER_SUFFIX)
                self._open()
            write_all(self._fd, data)
            self._size += len(data)
        except OSError as error:
            self._end(error)

    def _open(self) -> None:
        self._fd = open_or_create(self.path, os.O_RDWR | os.O_APPEND)
        self._size = os.fstat(self._fd).st_size
        if self._size and os.pread(self._fd, 1, self._size - 1) != b"\n":
            write_all(self._fd, b"\n")  # A truncated line must not make the next one unreadable.
            self._size += 1

    def _end(self, error: OSError) -> None:
        logger.warning("%s: %s; the journal ends here, the quorum is not affected", self.path, error.strerror or error)
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _again(known: _Repeated) -> Line:
    """Return the line for a repeated verdict with its count, and reset the count."""
    line = {**known.line, "ms": known.ms, "epoch": known.epoch, "times": known.times}
    known.times = 0
    return line
