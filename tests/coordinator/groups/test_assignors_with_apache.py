"""The same groups through Apache Kafka's own assignors.

Each member must get the same partitions from ``range`` and ``uniform``, and from ``simple`` if not all members read the
same topics. If they do, the result of ``simple`` depends on the order of Apache's hash maps. Then as many partitions
must stay, and as many be shared, and the members have as many.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import attrs
import pytest

from kraft.coordinator.groups.consumer.assignors import ASSIGNORS, AssignedMember, Shares, is_homogeneous
from kraft.coordinator.groups.share.assignor import NAME, assign_simple
from kraft.metadata.steps import finished
from kraft.wire.uuids import uuid_to_text
from tests.support.fetchers import APACHE_KAFKA, QUICK_JVM, apache_kafka, require

pytestmark = pytest.mark.interop

PROGRAM = Path(__file__).parent / "java" / "Assign.java"
GROUPS = 100
CHANGES = 4
RUN_LIMIT_S = 110
Plain = dict[str, dict[str, list[int]]]
"""Partitions by member and topic."""
TOPICS = [UUID(int=number << 64 | number) for number in (1, 2, 3 << 60, 9 << 60, 2**64 - 1)]


@attrs.frozen
class Group:
    """The input of an assignor. The first ``missing`` partitions of each topic have no state, so nobody shares them."""

    assignor: str
    members: list[AssignedMember]
    counts: dict[UUID, int]
    missing: int = 0

    def assigned(self) -> Shares:
        if self.assignor != NAME:
            return finished(ASSIGNORS[self.assignor](self.members, self.counts))
        assignable = {topic_id: range(self.missing, count) for topic_id, count in self.counts.items()}
        return finished(assign_simple(self.members, assignable))

    def subscribed(self, share: dict[str, list[int]]) -> dict[str, list[int]]:
        """Omit topics without a subscriber: Apache's ``simple`` leaves them with the members that had them."""
        topics = {uuid_to_text(topic_id) for member in self.members for topic_id in member.topics}
        return {topic: some for topic, some in share.items() if topic in topics}

    def plain(self) -> dict[str, Any]:
        return {
            "assignor": self.assignor,
            "homogeneous": is_homogeneous(self.members),
            "counts": {uuid_to_text(topic_id): count for topic_id, count in self.counts.items()},
            "assignable": {
                uuid_to_text(topic_id): list(range(self.missing, count)) for topic_id, count in self.counts.items()
            },
            "members": [
                {
                    "id": member.member_id,
                    "instance": member.instance_id,
                    "topics": [uuid_to_text(topic_id) for topic_id in sorted(member.topics)],
                    "previous": said(member.previous),
                }
                for member in self.members
            ],
        }


def said(share: Any) -> dict[str, list[int]]:
    return {uuid_to_text(topic_id): sorted(share[topic_id]) for topic_id in sorted(share) if share[topic_id]}


def history(chance: Random, assignor: str) -> list[Group]:
    """A group whose members, subscriptions and topics change. Each assignment begins with the one before."""
    groups: list[Group] = []
    shares: Shares = {}
    counts = {topic_id: chance.randint(1, 7) for topic_id in TOPICS[: chance.randint(1, len(TOPICS))]}
    names = [f"m{number}" for number in range(12)]
    equal = chance.random() < 0.5
    for _ in range(CHANGES):
        together = frozenset(chance.sample(list(counts), chance.randint(1, len(counts))))
        members = []
        for name in sorted(chance.sample(names, chance.randint(1, len(names)))):
            topics = together if equal else frozenset(chance.sample(list(counts), chance.randint(1, len(counts))))
            previous = {topic_id: frozenset(some) for topic_id, some in shares.get(name, {}).items()}
            instance = f"i{name}" if assignor == "range" and chance.random() < 0.3 else None
            members.append(AssignedMember(name, instance, topics, previous))
        missing = 0 if shares else chance.choice((0, 1))
        groups.append(Group(assignor, members, dict(counts), missing))
        shares = groups[-1].assigned()
        for topic_id in counts:
            counts[topic_id] += chance.choice((0, 0, 2))
    return groups


@pytest.mark.parametrize("assignor", [NAME, *sorted(ASSIGNORS)])
def test_apache_assigns_the_same_partitions(assignor: str) -> None:
    chance = Random(1)
    groups = [group for _ in range(GROUPS) for group in history(chance, assignor)]
    command = [require("java"), *QUICK_JVM, "-cp", f"{apache_kafka(APACHE_KAFKA)}/*", str(PROGRAM)]
    lines = "".join(json.dumps(group.plain()) + "\n" for group in groups)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(groups)
    for group, answer in zip(groups, answers, strict=True):
        ours = {name: said(share) for name, share in group.assigned().items()}
        theirs = {name: group.subscribed(share) for name, share in json.loads(answer).items()}
        assert ours.keys() == theirs.keys()
        if assignor == NAME and is_homogeneous(group.members):
            assert figures(group, ours) == figures(group, theirs), group
        else:
            assert ours == theirs, group


def holders(shares: Plain) -> Counter[tuple[str, int]]:
    """How many members have each partition."""
    return Counter((topic, each) for share in shares.values() for topic, some in share.items() for each in some)


def figures(group: Group, shares: Plain) -> tuple[int, list[int], list[int]]:
    """How many partitions stay, how many each member has, and how many members each partition has."""
    stays = sum(
        len(some.intersection(shares[member.member_id].get(uuid_to_text(topic_id), ())))
        for member in group.members
        for topic_id, some in member.previous.items()
    )
    sizes = sorted(sum(map(len, share.values())) for share in shares.values())
    return stays, sizes, sorted(holders(shares).values())
