"""``python -m tests.bench``: measure this node and its peers, and write the results.

::

    python -m tests.bench                                   everything, printed
    python -m tests.bench --only codec,latency --rounds 7   some of it
    python -m tests.bench --write docs                      also into the docs
    python -m tests.bench --only former --former DIR        beside another checkout of this repository

Every round measures all peers, so that a busy minute of the machine affects all of them. A run replaces only its own
sections; the samples are kept in ``benchmarks.json``.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.bench import (
    campaign,
    codec,
    commit,
    failover,
    former,
    groups,
    growth,
    latency,
    machine,
    metadata,
    page,
    planes,
    request_log,
    shares,
    small,
    spark_connector,
    startup,
    throughput,
    transactions,
)
from tests.bench.figures import Report, Section, merged
from tests.bench.peers import APACHE, KFAKE, KRAFT, TANSU, Peer, Running, find_peers, former_commit, running

Measure = Callable[[Sequence[Peer], int], Section]
"""Measures the peers in a number of rounds."""


INTERRUPTED = 143
BUSY = 0.5
"""A load average above this at the start is mentioned beside the figures."""


def main() -> int:
    options = _parse()
    # A terminated run stops its brokers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))
    about = machine.describe()
    busy = machine.load()
    if busy > BUSY:
        about += f"; {busy:.1f} other tasks were running when it began"
    peers, missing = find_peers([name for name in (KRAFT, APACHE, TANSU, KFAKE) if name in options.peers])
    for sentence in missing:
        print(sentence, file=sys.stderr)
    if options.former is not None:
        peers.append(former_commit(options.former))
    found: dict[str, Section] = {}
    for name in (each for each in SECTIONS if each in options.only):
        if name == "former" and options.former is None:
            print("the section `former` needs --former DIR", file=sys.stderr)
            continue
        print(f"measuring {name} …", file=sys.stderr, flush=True)
        found[name] = SECTIONS[name](peers, options.rounds)
        found[name].notes += missing
    old = Report()
    kept = options.write / "benchmarks.json" if options.write else None
    if kept is not None:
        old = Report.read(kept)
    report = merged(old, found, about)
    if kept is None:
        print(*(page.tables(report, name) for name in found), sep="\n\n")
        return 0
    report.write(kept)
    page.write(kept)  # so that the pages have the rounded values of the file
    print(f"written: {kept} and the pages beside it", file=sys.stderr)
    return 0


def _with_running_brokers(measure: Callable[[Sequence[Running], int], Section]) -> Measure:
    def start_and_measure(peers: Sequence[Peer], rounds: int) -> Section:
        scratch = tempfile.TemporaryDirectory(prefix="kraft-bench-", ignore_cleanup_errors=True)
        with scratch, running(peers, Path(scratch.name)) as brokers:
            return measure(brokers, rounds)

    return start_and_measure


def _spark(rounds: int) -> Section:
    from tests.bench import spark  # needs PySpark

    return spark.measure(rounds)


def _spark_files(rounds: int) -> Section:
    from tests.bench import spark_files  # needs PySpark

    return spark_files.measure(rounds)


def _half(rounds: int) -> int:
    """Return the rounds of a section that takes long."""
    return max(1, rounds // 2)


SECTIONS: Mapping[str, Measure] = {
    "codec": lambda _, rounds: codec.measure(rounds),
    "startup": startup.measure,
    "throughput": _with_running_brokers(throughput.measure),
    "latency": _with_running_brokers(latency.measure),
    "transactions": transactions.measure,
    "groups": groups.measure,
    "shares": shares.measure,
    "small": _with_running_brokers(small.measure),
    "former": lambda peers, rounds: former.measure(peers, rounds, [SECTIONS[name] for name in former.SECTIONS]),
    spark_connector.NAME: _with_running_brokers(spark_connector.measure),
    "growth": lambda peers, rounds: growth.measure([peer for peer in peers if peer.keeps_on_disk], rounds),
    "commit": lambda _, rounds: commit.measure(rounds),
    "failover": lambda _, rounds: failover.measure(rounds),
    "metadata": lambda peers, rounds: metadata.measure([peer.name for peer in peers], _half(rounds)),
    "planes": lambda _, rounds: planes.measure(rounds),
    "request_log": lambda _, rounds: request_log.measure(rounds),
    "spark": lambda _, rounds: _spark(_half(rounds)),
    "spark_files": lambda _, rounds: _spark_files(rounds),
    "campaign": lambda _, rounds: campaign.measure(_half(rounds)),
}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measure this node beside its peers.")
    parser.add_argument(
        "--only", type=_names(tuple(SECTIONS)), default=tuple(SECTIONS), metavar="A,B", help=", ".join(SECTIONS)
    )
    everyone = (KRAFT, APACHE, TANSU, KFAKE)
    parser.add_argument("--peers", type=_names(everyone), default=everyone, metavar="A,B", help=", ".join(everyone))
    parser.add_argument(
        "--former", type=_checkout, metavar="DIR", help="a checkout of a former commit: one more peer of every section"
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds that count; two more warm everybody up")
    parser.add_argument(
        "--write", type=Path, metavar="DIR", help="the directory of benchmarks.md, its chapters and its samples"
    )
    return parser.parse_args()


def _checkout(text: str) -> Path:
    if not (Path(text) / "kraft/node/__main__.py").exists():
        raise argparse.ArgumentTypeError(f"{text!r} is no checkout of this repository")
    return Path(text)


def _names(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(known)}")
        return names

    return parse


if __name__ == "__main__":
    sys.exit(main())
