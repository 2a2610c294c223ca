"""Every feature of the table, through every client library of PyPI, against one node.

The same tests run against Apache Kafka with ``--bootstrap-servers``: a test that passes there shows Kafka's behaviour.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pytest

from tests.clients.adapter import FIRST_TIMESTAMP_MS, Client, Code, Member, Message, Refused
from tests.clients.features import CODECS, PRODUCERS, each_client
from tests.clients.requests import NO_SESSION, fetch_request
from tests.support.eventually import eventually
from tests.support.wire_client import wire_client


def numbered(numbers: Iterable[int], partitions: int = 1) -> list[Message]:
    """Messages that differ in value, key, headers, timestamp, and partition; large enough to be worth compressing."""
    return [
        Message(
            value=b"value %d " % number * 20,
            key=None if number % 5 == 0 else b"key %d" % number,
            headers=(("number", b"%d" % number), ("number", b"again"), ("empty", b""))[: number % 4],
            timestamp_ms=FIRST_TIMESTAMP_MS + number,
            partition=number % partitions,
        )
        for number in numbers
    ]


def refused(code: Code) -> pytest.RaisesExc[Refused]:
    return pytest.RaisesExc(Refused, check=lambda error: error.code == code)


def kept_codec(bootstrap_servers: str, topic: str) -> str:
    """The codec of the first batch: the lowest three bits of its attributes, which are its bytes 21 and 22."""
    with wire_client(bootstrap_servers) as wire:
        answer = wire.call(fetch_request(NO_SESSION, topic=topic), 11)
    records = answer.responses[0].partitions[0].records
    return CODECS[records[22] & 7]


class Polled:
    """Return the records that some members of a group have read so far; ``until`` polls all of them."""

    def __init__(self) -> None:
        self.values: set[bytes | None] = set()

    def until(self, reached: Callable[[], bool], *members: Member) -> None:
        def poll() -> bool:
            for member in members:
                self.values.update(message.value for message in member.poll())
            return reached()

        eventually(poll, timeout_s=60.0)

    def until_all_of(self, messages: list[Message], *members: Member) -> None:
        self.until(lambda: self.values >= {message.value for message in messages}, *members)


def created(client: Client, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    """Create the topic, and wait until the broker has it: Kafka responds before all its brokers have the topic."""
    client.create_topic(topic, partitions, configs)
    eventually(lambda: topic in client.topics())


# Topics and messages


@each_client("create-topic")
def test_a_topic_is_created_and_seen(client: Client, topic: str) -> None:
    created(client, topic, partitions=3)
    assert len(client.leaders(topic)) == 3


@each_client("delete-topic")
def test_a_deleted_topic_is_gone_and_its_name_is_free(client: Client, topic: str) -> None:
    created(client, topic)
    client.produce(topic, numbered(range(3)))
    client.delete_topic(topic)
    eventually(lambda: topic not in client.topics())
    created(client, topic)
    assert client.produce(topic, numbered(range(1))) == [0]


@each_client("auto-create")
def test_a_first_message_creates_its_topic(client: Client, topic: str) -> None:
    """``auto.create.topics.enable`` (default true): enable auto creation of topic on the server."""
    assert client.produce(topic, numbered(range(2))) == [0, 1]
    assert client.consume(topic, 2) == numbered(range(2))


@each_client("produce-{codec}-{producer}", codec=CODECS, producer=PRODUCERS)
def test_produced_records_are_read_back(client: Client, topic: str, codec: str, producer: str) -> None:
    """The consumer gets the sent records, and the broker keeps them in the producer's codec (``compression.type``)."""
    messages = numbered(range(50))
    created(client, topic)
    assert client.produce(topic, messages, codec=codec, idempotent=producer == "idempotent") == list(range(50))
    found = client.consume(topic, 50)
    assert found == messages
    assert [message.offset for message in found] == list(range(50))
    assert kept_codec(client.bootstrap_servers, topic) == codec


@each_client("acks")
def test_acks_0_and_1(client: Client, topic: str) -> None:
    """acks=0: the server sends no answer, and the connection goes on."""
    messages = numbered(range(20))
    created(client, topic)
    client.produce(topic, messages[:10], acks=0)
    eventually(lambda: client.offset(topic, "latest") == 10)
    assert client.produce(topic, messages[10:], acks=1) == list(range(10, 20))
    assert client.consume(topic, 20) == messages


# Groups


@each_client("group-rebalance")
def test_a_second_member_joins_and_leaves(client: Client, topic: str, group: str) -> None:
    every = {0, 1, 2, 3}
    created(client, topic, partitions=4)
    before, during, after = (numbered(range(start, start + 20), partitions=4) for start in (0, 20, 40))
    polled = Polled()
    with client.member(group, topic) as first:
        client.produce(topic, before)
        polled.until_all_of(before, first)
        assert first.assignment() == every
        first.commit()
        with client.member(group, topic) as second:

            def shared() -> bool:
                both = first.assignment(), second.assignment()
                return all(both) and not both[0] & both[1] and both[0] | both[1] == every

            polled.until(shared, first, second)
            client.produce(topic, during)
            polled.until_all_of(during, first, second)
            first.commit()
            second.commit()
        polled.until(lambda: first.assignment() == every, first)
        client.produce(topic, after)
        polled.until_all_of(after, first)


@each_client("group-resume")
def test_a_new_consumer_resumes_from_the_commit(client: Client, topic: str, group: str) -> None:
    read, left = numbered(range(10)), numbered(range(10, 20))
    created(client, topic)
    client.produce(topic, read)
    polled = Polled()
    with client.member(group, topic) as first:
        polled.until_all_of(read, first)
        first.commit()
    client.produce(topic, left)
    resumed = Polled()
    with client.member(group, topic) as second:
        resumed.until_all_of(left, second)
    assert resumed.values == {message.value for message in left}


@each_client("static-member")
def test_a_static_member_returns_to_its_partitions(client: Client, topic: str, group: str) -> None:
    """KIP-345: a member with ``group.instance.id`` that comes back within the session keeps its assignment."""
    messages = numbered(range(10))
    created(client, topic, partitions=2)
    polled = Polled()
    with client.member(group, topic, static_id="one") as first:
        polled.until(lambda: first.assignment() == {0, 1}, first)
    assert client.describe_group(group).members == 1
    with client.member(group, topic, static_id="one") as returned:
        client.produce(topic, messages)
        polled.until_all_of(messages, returned)
        assert client.describe_group(group).members == 1


@each_client("list-groups")
def test_groups_are_listed(client: Client, topic: str, group: str) -> None:
    created(client, topic)
    with client.member(group, topic) as member:
        Polled().until(lambda: bool(member.assignment()), member)
        assert group in client.groups()


@each_client("describe-groups")
def test_a_group_is_described(client: Client, topic: str, group: str) -> None:
    created(client, topic)
    with client.member(group, topic) as member:
        Polled().until(lambda: bool(member.assignment()), member)
        found = client.describe_group(group)
        assert (found.state, found.members) == ("Stable", 1)
    assert eventually(lambda: client.describe_group(group).members == 0)
    assert client.describe_group(group).state in {"Empty", "Dead"}


@each_client("delete-groups")
def test_a_group_without_members_is_deleted(client: Client, topic: str, group: str) -> None:
    created(client, topic)
    client.produce(topic, numbered(range(3)))
    polled = Polled()
    with client.member(group, topic) as member:
        polled.until_all_of(numbered(range(3)), member)
        member.commit()
    eventually(lambda: client.describe_group(group).members == 0)
    client.delete_group(group)
    assert group not in client.groups()


# Administration


@each_client("describe-cluster")
def test_the_cluster_is_described(client: Client, bootstrap_servers: str) -> None:
    found = client.cluster()
    assert found.controller in found.brokers
    assert bootstrap_servers in found.brokers.values()


@each_client("describe-topics")
def test_a_topic_is_described(client: Client, topic: str) -> None:
    created(client, topic, partitions=3)
    brokers = set(client.cluster().brokers)
    found = client.leaders(topic)
    assert set(found) == {0, 1, 2}
    assert set(found.values()) <= brokers


@each_client("describe-configs")
def test_the_configs_of_a_topic_are_described(client: Client, topic: str) -> None:
    """The settings from the creation, and Kafka's defaults for the rest."""
    created(client, topic, configs={"retention.ms": "7200000"})
    found = client.configs(topic)
    assert found["retention.ms"] == "7200000"
    assert found["cleanup.policy"] == "delete"
    assert found["segment.bytes"] == str(1 << 30)
    assert found["max.message.bytes"] == "1048588"


@each_client("alter-configs")
def test_an_altered_config_is_described_and_in_force(client: Client, topic: str) -> None:
    """``max.message.bytes``: the largest record batch size allowed by Kafka."""
    created(client, topic)
    client.produce(topic, [Message(bytes(10_000))])
    client.alter_config(topic, "max.message.bytes", "2000")
    eventually(lambda: client.configs(topic)["max.message.bytes"] == "2000")
    with refused(Code.MESSAGE_TOO_LARGE):
        client.produce(topic, [Message(bytes(10_000))])
    client.alter_config(topic, "max.message.bytes", "20000")
    eventually(lambda: client.configs(topic)["max.message.bytes"] == "20000")
    assert client.produce(topic, [Message(bytes(10_000))]) == [1]


@each_client("create-partitions")
def test_partitions_are_added(client: Client, topic: str) -> None:
    created(client, topic)
    client.create_partitions(topic, 3)
    eventually(lambda: set(client.leaders(topic)) == {0, 1, 2})
    assert client.produce(topic, [Message(b"to the new one", partition=2)]) == [0]


@each_client("delete-records")
def test_records_before_an_offset_are_deleted(client: Client, topic: str) -> None:
    messages = numbered(range(10))
    created(client, topic)
    client.produce(topic, messages)
    client.delete_records(topic, before_offset=4)
    assert client.offset(topic, "earliest") == 4
    assert client.consume(topic, 6) == messages[4:]


@each_client("offsets-ends")
def test_the_earliest_and_latest_offsets(client: Client, topic: str) -> None:
    created(client, topic)
    assert (client.offset(topic, "earliest"), client.offset(topic, "latest")) == (0, 0)
    client.produce(topic, numbered(range(10)))
    assert (client.offset(topic, "earliest"), client.offset(topic, "latest")) == (0, 10)


@each_client("offsets-timestamp")
def test_the_offset_of_a_timestamp_is_the_first_not_before_it(client: Client, topic: str) -> None:
    created(client, topic)
    client.produce(topic, [Message(b"", timestamp_ms=FIRST_TIMESTAMP_MS + 10 * number) for number in range(10)])
    assert client.offset(topic, FIRST_TIMESTAMP_MS + 30) == 3
    assert client.offset(topic, FIRST_TIMESTAMP_MS + 31) == 4


@each_client("offsets-max-timestamp")
def test_the_offset_of_the_greatest_timestamp(client: Client, topic: str) -> None:
    """KIP-734: the offset of the record with the greatest timestamp, which need not be the last."""
    created(client, topic)
    client.produce(topic, [Message(b"", timestamp_ms=FIRST_TIMESTAMP_MS + late) for late in (0, 50, 20, 10)])
    assert client.offset(topic, "max-timestamp") == 1


# Refusals


@each_client("refuse-existing-topic")
def test_a_topic_that_exists(client: Client, topic: str) -> None:
    created(client, topic)
    with refused(Code.TOPIC_ALREADY_EXISTS):
        client.create_topic(topic)


@each_client("refuse-unknown-topic")
def test_a_topic_that_does_not_exist(client: Client, topic: str) -> None:
    with refused(Code.UNKNOWN_TOPIC_OR_PARTITION):
        client.delete_topic(topic)
    with refused(Code.UNKNOWN_TOPIC_OR_PARTITION):
        client.create_partitions(topic, 2)


@each_client("refuse-topic-name")
def test_an_illegal_topic_name(client: Client) -> None:
    with refused(Code.INVALID_TOPIC_EXCEPTION):
        client.create_topic("no/slash")


@each_client("refuse-config-value")
def test_a_config_value_out_of_range(client: Client, topic: str) -> None:
    with refused(Code.INVALID_CONFIG):
        client.create_topic(topic, configs={"retention.ms": "soon"})
    created(client, topic)
    with refused(Code.INVALID_CONFIG):
        client.alter_config(topic, "max.message.bytes", "-5")


@each_client("refuse-config-key")
def test_a_config_that_does_not_exist(client: Client, topic: str) -> None:
    with refused(Code.INVALID_CONFIG):
        client.create_topic(topic, configs={"retention.moons": "3"})


@each_client("refuse-partitions")
def test_fewer_partitions_than_there_are(client: Client, topic: str) -> None:
    created(client, topic, partitions=3)
    with refused(Code.INVALID_PARTITIONS):
        client.create_partitions(topic, 2)


@each_client("refuse-replication-factor")
def test_more_replicas_than_brokers(client: Client, topic: str) -> None:
    with refused(Code.INVALID_REPLICATION_FACTOR):
        client.create_topic(topic, replicas=3)


@each_client("refuse-large-message")
def test_a_message_over_the_limit(client: Client, topic: str) -> None:
    created(client, topic, configs={"max.message.bytes": "2000"})
    with refused(Code.MESSAGE_TOO_LARGE):
        client.produce(topic, [Message(bytes(10_000))])
    assert client.offset(topic, "latest") == 0


@each_client("refuse-offset")
def test_deleting_records_beyond_the_end(client: Client, topic: str) -> None:
    created(client, topic)
    with refused(Code.OFFSET_OUT_OF_RANGE):
        client.delete_records(topic, before_offset=5)


@each_client("refuse-unknown-group")
def test_deleting_an_unknown_group(client: Client, group: str) -> None:
    with refused(Code.GROUP_ID_NOT_FOUND):
        client.delete_group(group)


@each_client("refuse-busy-group")
def test_deleting_a_group_with_members(client: Client, topic: str, group: str) -> None:
    created(client, topic)
    with client.member(group, topic) as member:
        Polled().until(lambda: bool(member.assignment()), member)
        with refused(Code.NON_EMPTY_GROUP):
            client.delete_group(group)
