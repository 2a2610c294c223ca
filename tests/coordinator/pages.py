"""``python -m tests.coordinator.pages`` puts the transcripts of the coordinators into the pages that teach them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from kraft.coordinator.framing import VERSION
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kraft.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition
from kraft.wire.codec import encode
from tests.coordinator.groups.consumer.desk import T
from tests.coordinator.groups.desk import DELAY_S, SESSION_S
from tests.coordinator.scribes import GroupScribe, TransactionScribe
from tests.coordinator.share_scribe import ACCEPT, LOCK_S, REJECT, RELEASE, ShareScribe

DOCS = Path(__file__).parents[2] / "docs"


def classic_group() -> list[str]:
    """Two consumers join; one is killed."""
    desk = GroupScribe()
    desk.who = "A"
    first = desk.answers[desk.join()].member_id
    desk.join(first)
    desk.pass_time(DELAY_S)
    desk.sync(first, 1, {first: plan(0, 1, 2, 3)})
    desk.who = "B"
    second = desk.answers[desk.join()].member_id
    joined = desk.join(second)
    desk.who = "A"
    desk.heartbeat(first, 1)
    desk.join(first)
    assert desk.answers[joined].generation_id == 2
    desk.who = "B"
    desk.sync(second, 2)
    desk.who = "A"
    desk.sync(first, 2, {first: plan(0, 1), second: plan(2, 3)})
    desk.pass_time(SESSION_S / 2)
    desk.heartbeat(first, 2)
    desk.pass_time(SESSION_S / 2)
    desk.heartbeat(first, 2)
    desk.join(first)
    desk.sync(first, 3, {first: plan(0, 1, 2, 3)})
    desk.who = "B"
    desk.heartbeat(second, 2)
    return desk.lines


def migration() -> list[str]:
    """A member of the consumer protocol joins a classic group, and the classic member is rolled."""
    desk = GroupScribe()
    desk.who = "A"
    protocols = [("range", wish())]
    first = desk.answers[desk.join(protocols=protocols)].member_id
    desk.join(first, protocols=protocols)
    desk.pass_time(DELAY_S)
    desk.sync(first, 1, {first: plan(0, 1, 2, 3)})
    desk.lines.clear()
    desk.who = "b"
    desk.beat("b", 0)
    desk.who = "A"
    desk.heartbeat(first, 1)
    desk.join(first, protocols=[("range", wish(0, 1, 2, 3))])
    desk.sync(first, 1)
    desk.join(first, protocols=[("range", wish(0, 1))])
    desk.sync(first, 2)
    desk.who = "b"
    desk.beat("b", 2, {})
    desk.who = "A"
    desk.leave((first, None))
    desk.who = "b"
    desk.beat("b", 2, {T: [2, 3]})
    return desk.lines


def wish(*owned: int) -> bytes:
    """The subscription to ``t`` of a classic member that owns these partitions (KIP-429)."""
    held = [TopicPartition("t", list(owned))] if owned else []
    return VERSION.pack(1) + encode(ConsumerProtocolSubscription(["t"], owned_partitions=held), 1)


def plan(*partitions: int) -> bytes:
    """The assignment that a leader sends."""
    return VERSION.pack(1) + encode(ConsumerProtocolAssignment([AssignedTopic("t", list(partitions))]), 1)


def consumer_group() -> list[str]:
    """Two members share four partitions, and one leaves."""
    desk = GroupScribe()
    desk.who = "a"
    desk.beat("a", 0)
    desk.who = "b"
    desk.beat("b", 0)
    desk.who = "a"
    desk.beat("a", 2, {T: [0, 1, 2, 3]})
    desk.beat("a", 2, {T: [0, 1]})
    desk.who = "b"
    desk.beat("b", 3, {})
    desk.beat("b", -1)
    desk.who = "a"
    desk.beat("a", 3, {T: [0, 1]})
    desk.who = "b"
    desk.beat("b", 3, {T: [2, 3]})
    return desk.lines


def shared_partition() -> list[str]:
    """Two members share a partition; one of them is killed."""
    partition = ShareScribe(end=6)
    partition.fetch("a", 4)
    partition.fetch("b", 4)
    partition.acknowledge("a", (0, 1, ACCEPT), (2, 2, RELEASE), (3, 3, REJECT))
    partition.fetch("a", 4)
    partition.acknowledge("a", (2, 2, ACCEPT))
    partition.pass_time(LOCK_S)
    partition.fetch("a", 4)
    partition.acknowledge("a", (4, 5, ACCEPT))
    return partition.lines


def killed_coordinator() -> list[str]:
    """The coordinator dies between its decision and the last marker."""
    desk = TransactionScribe()
    desk.who = "producer"
    producer = desk.producer()
    desk.add(producer, ("orders", 0), ("stock", 1))
    desk.end(producer)
    desk.write_markers(("orders", 0))
    desk.reload()
    desk.who = "producer"
    desk.add(producer, ("orders", 0))
    desk.write_markers()
    desk.add(producer, ("orders", 0))
    return desk.lines


def fenced_producer() -> list[str]:
    """A second producer takes the transactional id of the first one."""
    desk = TransactionScribe()
    desk.who = "first"
    first = desk.producer()
    desk.add(first, ("orders", 0))
    desk.who = "second"
    desk.init()
    desk.write_markers()
    desk.producer()
    desk.who = "first"
    desk.end(first)
    return desk.lines


TRANSCRIPTS: dict[str, dict[str, Callable[[], list[str]]]] = {
    "groups.md": {
        "classic group": classic_group,
        "consumer group": consumer_group,
        "migration": migration,
        "shared partition": shared_partition,
    },
    "transactions.md": {"killed coordinator": killed_coordinator, "fenced producer": fenced_producer},
}


def page(name: str) -> str:
    """Return the text of the page with the transcripts of now."""
    text = (DOCS / name).read_text()
    for title, make in TRANSCRIPTS[name].items():
        block = "\n".join(["```text", *make(), "```"])
        mark = re.escape(f"<!-- transcript: {title} -->")
        text, count = re.subn(
            rf"({mark}\n).*?(<!-- end -->)", lambda m, b=block: f"{m[1]}{b}\n{m[2]}", text, flags=re.S
        )
        assert count == 1, f"{name} has no place for the transcript {title!r}"
    return text


def main() -> None:
    for name in TRANSCRIPTS:
        (DOCS / name).write_text(page(name))


if __name__ == "__main__":
    main()
