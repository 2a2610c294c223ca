"""``python -m tests.coordinator.pages`` puts the transcripts of the coordinators into the pages that teach them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from kraft.coordinator.framing import VERSION
from kraft.coordinator.transactions.effects import TransactionMarkers
from kraft.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kraft.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from kraft.messages.consumer_protocol_subscription import ConsumerProtocolSubscription, TopicPartition
from kraft.wire.codec import encode
from kraft.wire.errors import ErrorCode
from kraft.wire.internal_topics import OFFSETS_TOPIC
from tests.coordinator.groups.consumer.desk import T
from tests.coordinator.groups.desk import DELAY_S, SESSION_S
from tests.coordinator.partition_scribe import ORDERS, PartitionScribe
from tests.coordinator.scribes import GroupScribe, TransactionScribe, words
from tests.coordinator.share_scribe import ACCEPT, LOCK_S, REJECT, RELEASE, ShareScribe

DOCS = Path(__file__).parents[2] / "docs"
OFFSETS = (OFFSETS_TOPIC, 0)


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


def bumped_epochs() -> list[str]:
    """transaction.version 2: each end bumps the epoch, so a late request is refused (KIP-890)."""
    desk = TransactionScribe(transaction_version=2)
    orders = desk.orders = PartitionScribe(desk.lines)

    def produce(text: str, producer: tuple[int, int]) -> None:
        def add() -> ErrorCode:
            desk.who = "leader"
            return desk.add(producer, ORDERS, version=5)[ORDERS]

        orders.produce("producer", text, producer, add)
        desk.who = "producer"

    desk.who = "producer"
    first = desk.producer()
    produce("first", first)
    ended = desk.end(first, version=5)
    second = ended.producer_id, ended.producer_epoch
    desk.write_markers()
    produce("second", second)
    produce("late", first)
    desk.end(first, version=5)
    desk.end(second, committed=False, version=5)
    desk.write_markers()
    desk.end(second, committed=False, version=5)
    orders.read("consumer")
    return desk.lines


def timed_out() -> list[str]:
    """A producer stops in the middle of its transaction, and comes back later."""
    desk = TransactionScribe()
    orders = desk.orders = PartitionScribe(desk.lines)
    desk.who = "producer"
    begun = desk.init(timeout=30_000)
    producer = begun.producer_id, begun.producer_epoch
    desk.add(producer, ORDERS)
    orders.produce("producer", "paid", producer)
    orders.produce("another", "shipped")
    orders.read("consumer")
    desk.pass_time(30)
    desk.write_markers()
    orders.read("consumer")
    orders.produce("producer", "paid again", producer)
    desk.end(producer)
    return desk.lines


def transactional_offsets() -> list[str]:
    """A member of a group is killed between its commit and the marker of its offsets (KIP-447)."""
    group = GroupScribe()
    lines = group.lines
    desk = TransactionScribe(lines)
    group.who = desk.who = "A"
    member = group.answers[group.join()].member_id
    group.join(member)
    group.pass_time(DELAY_S)
    group.sync(member, 1, {member: plan(0, 1, 2, 3)})
    producer = desk.producer()
    desk.add(producer, OFFSETS)
    group.commit_in_transaction(producer, 3, member, 1)
    desk.end(producer)
    group.write_marker(desk.markers[0])
    desk.write_markers()
    lines.clear()
    desk.add(producer, ORDERS)
    desk.add(producer, OFFSETS)
    group.commit_in_transaction(producer, 5, member, 1)
    desk.end(producer)

    end = len(lines)
    group.who = "B"
    successor = group.answers[group.join()].member_id
    group.join(successor)
    group.gather()
    group.sync(successor, 2, {successor: plan(0, 1, 2, 3)})
    assert list(group.group().members) == [successor]
    del lines[end:]
    lines.append("A is paused until its session has ended; B is the only member, in generation 2")

    group.fetch_offset(require_stable=False)
    group.fetch_offset(require_stable=True)
    group.who = "coordinator"
    group.write_marker(desk.markers[0])
    desk.write_markers()
    group.who = "B"
    group.fetch_offset(require_stable=True)
    group.who = desk.who = "A"
    desk.add(producer, OFFSETS)
    group.commit_in_transaction(producer, 7, member, 1)
    return lines


def hanging_transaction() -> list[str]:
    """A broker without verification appends a late record, and an administrator ends the transaction (KIP-664)."""
    desk = TransactionScribe()
    orders = desk.orders = PartitionScribe(desk.lines)
    desk.who = "producer"
    producer = desk.producer()
    desk.add(producer, ORDERS)
    orders.produce("producer", "paid", producer)
    desk.end(producer)
    desk.write_markers()
    orders.produce("producer", "late", producer)
    desk.pass_time(900)
    orders.produce("another", "shipped")
    orders.read("consumer")
    desk.who = "administrator"
    orders.describe_producers("administrator")
    desk.list_transactions(producer[0])
    desk.describe()
    abort = TransactionMarkers("", *producer, desk.coordinator_epoch, committed=False, version=0, partitions=(ORDERS,))
    desk.lines.append(f"administrator: {words(abort)}")
    orders.append_marker(abort)
    orders.read("consumer")
    return desk.lines


def log_of_a_partition() -> list[str]:
    """Three transactions and a plain record; the follower has all but the last marker."""
    orders = PartitionScribe()
    names = {1: "A", 2: "B", 3: "C"}

    def end(producer_id: int, *, committed: bool) -> None:
        orders.append_marker(TransactionMarkers("", producer_id, 0, 0, committed, 0, (ORDERS,)))

    for producer_id, text in ((1, "a1"), (2, "b1"), (1, "a2")):
        orders.produce(names[producer_id], text, (producer_id, 0))
    end(1, committed=True)
    orders.produce("B", "b2", (2, 0))
    end(2, committed=False)
    orders.produce("C", "c1", (3, 0))
    orders.produce("plain", "p1")
    orders.produce("A", "a3", (1, 0))
    orders.is_followed = False
    end(1, committed=True)
    assert orders.visible() == [0, 2]
    return orders.picture(names)


TRANSCRIPTS: dict[str, dict[str, Callable[[], list[str]]]] = {
    "groups.md": {
        "classic group": classic_group,
        "consumer group": consumer_group,
        "migration": migration,
    },
    "groups/share-groups.md": {
        "shared partition": shared_partition,
    },
    "transactions.md": {
        "killed coordinator": killed_coordinator,
        "fenced producer": fenced_producer,
        "timed out": timed_out,
        "bumped epochs": bumped_epochs,
        "log of a partition": log_of_a_partition,
        "transactional offsets": transactional_offsets,
    },
    "transactions/hanging.md": {
        "hanging transaction": hanging_transaction,
    },
}
PICTURES = {log_of_a_partition}


def page(name: str) -> str:
    """Return the text of the page with the transcripts of now."""
    text = (DOCS / name).read_text()
    for title, make in TRANSCRIPTS[name].items():
        block = "\n".join([f"```{'mermaid' if make in PICTURES else 'text'}", *make(), "```"])
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
