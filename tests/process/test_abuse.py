"""The heaviest legal requests of every API leave the quorum of three combined nodes alone, and the brokers' leases.

A sample of ``python -m tests.abuse``: the tables ``specs``, which has all versions and arrays at their largest, and
``cluster``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.abuse.attacks import all_attacks
from tests.abuse.campaign import Watch, judge, neighbour, prepare_clients, running_clients, strike
from tests.abuse.generated import Case, Likeliest, cases
from tests.abuse.state import WIDE_PARTITIONS, everything, id_of_wide_topic, wide_topic
from tests.abuse.target import running_target
from tests.fuzz.strike import CLIENT_APIS, CONTROL_APIS
from tests.support.node_process import OURS
from tests.support.quorum_view import wait_for_leader

ELEMENTS = 10_000
"""A tenth of the most that a request may have, for the sake of the suite's time."""
PART = 20
"""The divisor of the counts and sizes of the attacks by hand."""
PAUSE_S = 0.02
"""Between two requests of a client: all of them take a node and its clients little time."""
FETCH_TIMEOUT_MS = 2000
"""``controller.quorum.fetch.timeout.ms``: a control plane that waits for so long deposes its leader (KIP-595)."""


def sample() -> Iterator[Case]:
    """Of each API the newest version, and there one shape of each array in turn."""
    for at_controller, apis in ((False, CLIENT_APIS), (True, CONTROL_APIS)):
        for key, (_, newest) in apis.items():
            found = list(cases({key: (newest, newest)}, at_controller=at_controller, every_version=False))
            arrays = list(dict.fromkeys(case.array for case in found))
            for number, array in enumerate(arrays):
                of_array = [case for case in found if case.array == array]
                yield of_array[number % len(of_array)]


def test_the_heaviest_requests_at_the_leaders_node_depose_and_fence_nobody(tmp_path: Path) -> None:
    """KIP-595's fetch timeout (2 s) and the brokers' session (9 s) are Kafka's. A neighbour's requests are answered
    throughout, and all together need no more memory than the campaign grants to one attack.
    """
    with running_target(tmp_path, OURS, 3) as target, running_clients(target, PAUSE_S) as clients:
        before = wait_for_leader(target.cluster)
        with neighbour(target.address, target.broker_id) as friend:
            everything(friend)
            prepare_clients(friend)
            likeliest = Likeliest(id_of_wide_topic(friend))
            watch = Watch.begin(target, clients)
            with watch.sampling():
                outcomes = [
                    strike(
                        target.controller_address if case.at_controller else target.address,
                        [case.frame(likeliest, ELEMENTS)],
                    )
                    for case in sample()
                ]
            verdict = watch.verdict("sample", max(outcomes, key=lambda outcome: outcome.silent))
            everything(friend)
        after = wait_for_leader(target.cluster)
        assert (after.leader_id, after.epoch) == (before.leader_id, before.epoch)
        assert verdict.harm() == [], verdict
        assert max(verdict.worst_ms, verdict.control_worst_ms) < FETCH_TIMEOUT_MS, verdict


def test_small_attacks_by_hand_depose_and_fence_nobody(tmp_path: Path) -> None:
    """Each attack of the campaign, in turn on one cluster: the epoch stays, and no broker is fenced or ends."""
    with running_target(tmp_path, OURS, 3) as target, running_clients(target) as clients:
        before = wait_for_leader(target.cluster)
        with neighbour(target.address, target.broker_id) as friend:
            wide_topic(friend, WIDE_PARTITIONS // PART)  # before an attack creates it with another width
        harmed = {}
        for attack in all_attacks(PART):
            verdict = judge(target, clients, attack, once=True)
            if verdict.harm():
                harmed[attack.name] = verdict
        assert harmed == {}
        after = wait_for_leader(target.cluster)
        assert (after.leader_id, after.epoch) == (before.leader_id, before.epoch)
