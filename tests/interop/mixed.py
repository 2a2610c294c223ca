"""``python -m tests.interop.mixed --kills 100 --write docs/mixed-quorums.md``: our voters and Apache's in one quorum.

In each mix of three voters the test ends the leader again and again, twice by ``kill -9``, twice by SIGTERM, and so on,
while a client creates topics. Three things must hold: another voter leads within a bounded time, every acknowledged
topic exists, and the logs of all nodes, ours and Apache's, have the same bytes.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from tests.bench.machine import hardware
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.cluster import Cluster, members, running_cluster
from tests.support.node_process import OURS, Kind
from tests.support.quorum_view import assert_equal_logs, wait_for_leader, wait_for_return
from tests.support.topic_creator import TopicCreator, assert_topics_are_there

LIMIT_S = 60.0
CREATED_BETWEEN_KILLS = 5
PAUSE_S = 0.1
"""Of the client after each topic: a hundred kills are then some thousand topics, and restarts do not get longer."""
TIMEOUTS = {"controller_quorum_fetch_timeout_ms": "1000", "controller_quorum_election_timeout_ms": "500"}


def name_of(kind: Kind) -> str:
    return f"Apache {kind.version}" if isinstance(kind, Apache) else "ours"


def mixes() -> dict[str, Sequence[Kind]]:
    chosen = [(OURS, OURS, apache) for apache in (APACHE_3, APACHE_4)]
    chosen += [(OURS, apache, apache) for apache in (APACHE_3, APACHE_4)]
    return {title(kinds): kinds for kinds in chosen}


def title(kinds: Sequence[Kind]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(map(name_of, kinds)).items())


@attrs.frozen
class Change:
    """One leader ended, and the next."""

    is_kill: bool
    ended: str
    elected: str
    epochs: int
    """The number of epochs; 1 if the first election had a winner."""
    led_s: float
    created_s: float
    """Until the new leader had committed a topic."""


@attrs.define
class Outcome:
    """The result of one mix."""

    changes: list[Change] = attrs.Factory(list)
    topics: int = 0
    offsets: tuple[int, int] = (0, 0)
    """From and to where the logs were compared."""

    def elections_won(self) -> Counter[str]:
        return Counter(change.elected for change in self.changes)


def run_mix(directory: Path, kinds: Sequence[Kind], kills: int) -> Outcome:
    """End ``kills`` leaders; and if one side has not won an election by then, up to three times as many.

    Raises:
        AssertionError: no leader or no commit within ``LIMIT_S``, an acknowledged topic that is gone, logs that differ.
    """
    outcome = Outcome()
    with running_cluster(directory, members(kinds, [OURS]), **TIMEOUTS) as cluster:
        brokers = [cluster.nodes[broker].bootstrap_servers for broker in cluster.brokers]
        with TopicCreator(brokers, pause_s=PAUSE_S) as creator:
            sides = {name_of(kind) for kind in kinds}
            while len(outcome.changes) < kills or (
                set(outcome.elections_won()) != sides and len(outcome.changes) < 3 * kills
            ):
                creator.wait_for_more(CREATED_BETWEEN_KILLS, LIMIT_S)
                outcome.changes.append(end_leader(cluster, creator, is_kill=len(outcome.changes) // 2 % 2 == 0))
        assert_topics_are_there(creator, brokers, LIMIT_S)
        outcome.topics = len(creator.acknowledged)
        outcome.offsets = assert_equal_logs(cluster, LIMIT_S)
    return outcome


def end_leader(cluster: Cluster, creator: TopicCreator, *, is_kill: bool) -> Change:
    """End the leader, wait for another that commits, start the ended node again, and wait until it has caught up."""
    before = wait_for_leader(cluster, timeout_s=LIMIT_S)
    victim = cluster.nodes[before.leader_id]
    ended = time.monotonic()
    if is_kill:
        victim.kill()
    else:
        victim.stop()
    after = wait_for_leader(cluster, above_epoch=before.epoch, timeout_s=LIMIT_S)
    led = time.monotonic()
    creator.wait_for_more(1, LIMIT_S)
    created = time.monotonic()
    cluster.start(before.leader_id)
    wait_for_return(cluster, before.leader_id, LIMIT_S)
    return Change(
        is_kill,
        name_of(cluster.members[before.leader_id].kind),
        name_of(cluster.members[after.leader_id].kind),
        after.epoch - before.epoch,
        led - ended,
        created - ended,
    )


_HEAD = """# Mixed quorums

A quorum has three voters, some of them kraft nodes ("ours") and some Apache Kafka's. One broker of ours follows it, and
a client creates topics, one after the other. A test ends the leader, twice by `kill -9`, twice by SIGTERM, and so on,
and starts it again after the next election. At the end every acknowledged topic exists. The metadata logs of the four
nodes have the same bytes, from their first offset to the high watermark.

`python -m tests.interop.mixed --kills {kills} --write docs/mixed-quorums.md` makes the table. The interop tests
(`tests/interop/test_mixed_quorum.py`) run ten kills of each mix.

The fetch timeout is 1 s, the election timeout 0.5 to 1 s. Times are medians (and maxima) in seconds. All processes run
on one machine: {measured_on}.
"""
MARKER = "<!-- What follows is written by hand, and is kept when the page is written anew. -->"
_COLUMNS = (
    "voters",
    "ended by `kill -9`",
    "by SIGTERM",
    "elections won",
    "took more than one epoch",
    "leader after `kill -9`",
    "leader after SIGTERM",
    "topics",
    "offsets compared",
)


def render(outcomes: Mapping[str, Outcome], kills: int, measured_on: str, before: str = "") -> str:
    """Return the page of a run. ``before`` is the former page, whose part behind the marker stays."""
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *(_row(name, outcome) for name, outcome in outcomes.items())]
    kept = before.partition(MARKER)[2] or "\n"
    return (
        "\n".join(
            [
                _HEAD.format(kills=kills, measured_on=measured_on),
                *(f"| {' | '.join(row)} |" for row in rows),
                "",
                MARKER,
            ]
        )
        + kept
    )


def _row(name: str, outcome: Outcome) -> tuple[str, ...]:
    killed = [change for change in outcome.changes if change.is_kill]
    stopped = [change for change in outcome.changes if not change.is_kill]
    return (
        name,
        _ended(killed),
        _ended(stopped),
        _counts(Counter(change.elected for change in outcome.changes)),
        str(sum(change.epochs > 1 for change in outcome.changes)),
        _seconds(killed),
        _seconds(stopped),
        str(outcome.topics),
        f"{outcome.offsets[0]} to {outcome.offsets[1]}",
    )


def _ended(changes: Sequence[Change]) -> str:
    return _counts(Counter(change.ended for change in changes))


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _seconds(changes: Sequence[Change]) -> str:
    times = [change.led_s for change in changes]
    return f"{statistics.median(times):.2f} ({max(times):.2f})" if times else "–"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.interop.mixed", description="Kill leaders of mixed quorums.")
    parser.add_argument("--kills", type=int, default=100, help="of each mix")
    parser.add_argument("--write", type=Path, metavar="PATH", help="the page to write; printed if not given")
    options = parser.parse_args()
    outcomes = {}
    for name, kinds in mixes().items():
        with tempfile.TemporaryDirectory(prefix="kraft-mixed-") as directory:
            outcomes[name] = run_mix(Path(directory), kinds, options.kills)
        print(f"{name}: {len(outcomes[name].changes)} leaders ended, {outcomes[name].topics} topics", flush=True)
    measured_on = f"{hardware()}, CPython {platform.python_version()}, {datetime.date.today().isoformat()}"
    if options.write is None:
        print(render(outcomes, options.kills, measured_on))
    else:
        before = options.write.read_text() if options.write.exists() else ""
        options.write.write_text(render(outcomes, options.kills, measured_on, before))


if __name__ == "__main__":
    main()
