"""``python -m tests.abuse``: the heaviest legal requests against nodes in processes of their own, and tables.

Three tables: ``peers`` has the attacks by hand on one node (``--peers kraft,apache``: Apache Kafka gets the same
bytes), ``cluster`` has them on the leader of three nodes, and ``specs`` the attacks from the message specs there.
``--write docs/robustness/heavy-requests.md`` puts them into the page. Exit status 1 if anything was over its budget.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from kraft.messages.registry import ApiKey
from tests.abuse import page
from tests.abuse.attack import Attack
from tests.abuse.attacks import all_attacks
from tests.abuse.campaign import Verdict, judge, neighbour, running_clients
from tests.abuse.generated import Case, Likeliest, api_name, cases
from tests.abuse.state import everything, id_of_wide_topic
from tests.abuse.target import Target, running_target
from tests.fuzz.strike import CLIENT_APIS, CONTROL_APIS
from tests.support.apache_process import Apache
from tests.support.fetchers import APACHE_KAFKA, QUICK_JVM
from tests.support.node_process import Kind, Ours

KINDS: dict[str, Callable[[], Kind]] = {
    "kraft": lambda: Ours("tests.abuse.watched_node"),
    # The heap that Apache's own start script gives.
    "apache": lambda: Apache(APACHE_KAFKA, (*QUICK_JVM, "-Xmx1g", "-Xms1g")),
}
TABLES = ("peers", "cluster", "specs")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.abuse", description="Send nodes the heaviest requests.")
    parser.add_argument("--peers", default="kraft", help="kraft, apache or both, with a comma")
    parser.add_argument("--tables", default=",".join(TABLES), help="those to fill, with commas")
    parser.add_argument("--only", default="", help="the attacks whose name has this text")
    parser.add_argument("--every-version", action="store_true", help="not only those at which the form changes")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="the page to write the tables into")
    options = parser.parse_args()
    chosen = [attack for attack in all_attacks() if options.only in attack.name]
    failed = False
    for table in options.tables.split(","):
        if table == "peers":
            verdicts = {
                peer: [_alone(KINDS[peer](), 1, attack) for attack in chosen] for peer in options.peers.split(",")
            }
            lines = page.beside_peers(verdicts)
            judged = verdicts.get("kraft", [])
        elif table == "cluster":
            judged = [_alone(KINDS["kraft"](), 3, attack) for attack in chosen]
            lines = page.in_cluster(judged)
        else:
            groups = page.grouped(_from_specs(options.only, every_version=options.every_version))
            judged = [verdict for rows in groups.values() for verdict in rows]
            lines = page.by_api(groups)
        failed |= any(verdict.faults() for verdict in judged)
        print(*lines, sep="\n", flush=True)
        if options.write is not None:
            page.replace_table(options.write, f"abuse: {table}", lines)
    return int(failed)


def _alone(kind: Kind, nodes: int, attack: Attack) -> Verdict:
    """Judge an attack on a cluster of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="kraft-abuse-") as directory,
        running_target(Path(directory), kind, nodes) as target,
        running_clients(target) as clients,
    ):
        return _told(judge(target, clients, attack))


def _from_specs(only: str, *, every_version: bool) -> Iterator[tuple[str, Verdict]]:
    """Judge the generated attacks on one cluster, or on a new one after a fault that changed its state."""
    left = list(_by_api(only, every_version=every_version))
    while left:
        with (
            tempfile.TemporaryDirectory(prefix="kraft-abuse-") as directory,
            running_target(Path(directory), KINDS["kraft"](), 3) as target,
            running_clients(target) as clients,
        ):
            is_intact = True
            while left and is_intact:
                name, requests = left[0]
                likeliest = _prepare(target)
                while requests and is_intact:
                    verdict = _told(judge(target, clients, requests.pop(0).attack(likeliest)))
                    is_intact = not page.LOST.intersection(verdict.faults())
                    yield name, verdict
                if not requests:
                    left.pop(0)


def _by_api(only: str, *, every_version: bool) -> Iterator[tuple[str, list[Case]]]:
    for suffix, apis, at_controller in (("", CLIENT_APIS, False), (" (controller)", CONTROL_APIS, True)):
        for key, versions in apis.items():
            found = cases({key: versions}, at_controller=at_controller, every_version=every_version)
            chosen = [case for case in found if only in str(case)]
            if chosen:
                yield f"{api_name(ApiKey(key))}{suffix}", chosen


def _prepare(target: Target) -> Likeliest:
    with neighbour(target.address, target.broker_id) as friend:
        everything(friend)
        return Likeliest(id_of_wide_topic(friend))


def _told(verdict: Verdict) -> Verdict:
    """Print a verdict as soon as it is there."""
    waits = (verdict.p99_ms, verdict.worst_ms, verdict.control_p99_ms, verdict.control_worst_ms)
    shown = ", ".join(f"{wait:.1f}" for wait in waits)
    faults = f" OVER: {', '.join(verdict.faults())}" if verdict.faults() else ""
    memory = " ".join(map(str, verdict.memory_mib))
    print(f"{verdict.attack}: {verdict.outcome}; {verdict.step}; waits {shown}; {memory} MiB{faults}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
