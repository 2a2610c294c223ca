"""kcat on the command line: runs that end by themselves, and group members that run until a signal."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import attrs

RUN_LIMIT_S = 30.0
# Eager: "% Group G rebalanced (memberid M): assigned: t [0], t [1]";
# cooperative: "% Group G rebalanced: incremental assignment of 2 partition(s) (…): t [0], t [1]".
_REBALANCED = re.compile(r"^% Group \S+ rebalanced.*?(assigned|revoked|incremental assignment|incremental revoke)")
_PARTITION = re.compile(r"\[(\d+)\]")
# A member learns of a rebalance with its next heartbeat; kcat prints each line at once.
_MEMBER_OPTIONS = (
    "-u",
    "-X",
    "heartbeat.interval.ms=100",
    "-X",
    "session.timeout.ms=6000",
    "-X",
    "fetch.wait.max.ms=100",
)


class KcatFailed(Exception):
    """kcat ended with a status other than 0; the message is its output."""


@attrs.define
class Member:
    """One running ``kcat -G``. Its own reports come among the messages and begin with ``%``."""

    process: subprocess.Popen[str]
    lines: list[str] = attrs.Factory(list)

    def read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def partitions(self) -> set[int]:
        """Return its partitions after all the rebalances that it printed."""
        held: set[int] = set()
        for line in self.lines:
            if found := _REBALANCED.match(line):
                named = {int(number) for number in _PARTITION.findall(line)}
                held = held - named if "revoke" in found[1] else held | named
        return held

    @property
    def rebalances(self) -> int:
        return sum(_REBALANCED.match(line) is not None for line in self.lines)

    @property
    def messages(self) -> list[str]:
        return [line for line in self.lines if not line.startswith("%")]


@attrs.frozen
class Kcat:
    path: str
    bootstrap_servers: str

    def version(self) -> str:
        said = subprocess.run([self.path, "-V"], capture_output=True, text=True, timeout=RUN_LIMIT_S).stdout
        found = re.search(r"Version (\S+) .*librdkafka (\S+)", said)
        assert found is not None, said
        return f"{found[1]} (librdkafka {found[2]})"

    def run(self, *options: str, stdin: str = "") -> str:
        """Return kcat's output.

        Raises:
            KcatFailed: it ended with a status other than 0.
        """
        command = [self.path, "-b", self.bootstrap_servers, *options]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=RUN_LIMIT_S)
        if done.returncode != 0:
            raise KcatFailed(done.stderr)
        return done.stdout

    def produce(self, topic: str, lines: list[str], *options: str) -> None:
        """Produce one message per line, to partition 0 unless ``options`` name another."""
        where = () if "-p" in options else ("-p", "0")
        self.run("-P", "-t", topic, *where, *options, stdin="".join(f"{line}\n" for line in lines))

    def consume(self, topic: str, *options: str, form: str = "%s") -> list[str]:
        """All messages up to the present end, each as a line in kcat's format language."""
        return self.run("-C", "-q", "-e", "-t", topic, "-f", f"{form}\\n", *options).splitlines()

    def metadata(self, *options: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("-L", "-J", *options))
        return found

    def offset(self, topic: str, timestamp: int) -> int:
        """ListOffsets of partition 0, as ``topic [partition] offset N``."""
        return int(self.run("-Q", "-t", f"{topic}:0:{timestamp}").split()[-1])

    @contextlib.contextmanager
    def member(self, group: str, topic: str, *options: str) -> Iterator[Member]:
        """A group member for as long as the block runs; then it leaves as SIGTERM makes it leave."""
        command = [self.path, "-b", self.bootstrap_servers, *_MEMBER_OPTIONS, *options, "-G", group, topic]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            member = Member(process)
            reader = threading.Thread(target=member.read, daemon=True)
            reader.start()
            try:
                yield member
                process.terminate()
                process.wait(timeout=RUN_LIMIT_S)
            finally:
                process.kill()
                reader.join()
