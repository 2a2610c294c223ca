"""kcat, as Debian packages it: librdkafka of an older line than the one on PyPI."""

from __future__ import annotations

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient, NewTopic

from tests.clients.beyond.kcat import Kcat, KcatFailed, Member
from tests.clients.features import CODECS, FEATURES, PRODUCERS, not_offered
from tests.support.eventually import eventually

pytestmark = pytest.mark.interop

ADMINISTRATION = "kcat has no administration"
LACKS = {
    "create-topic": "kcat creates a topic only by producing to it",
    **dict.fromkeys(
        (
            "describe-configs",
            "alter-configs",
            "create-partitions",
            "delete-records",
            "list-groups",
            "describe-groups",
            "delete-groups",
            "delete-topic",
            "refuse-existing-topic",
            "refuse-config-value",
            "refuse-config-key",
            "refuse-partitions",
            "refuse-replication-factor",
            "refuse-offset",
            "refuse-unknown-group",
            "refuse-busy-group",
        ),
        ADMINISTRATION,
    ),
    "consume-transform-produce": "kcat writes no transaction from what it reads",
    "consumer-protocol": "librdkafka 2.0 has the classic protocol only",
    "share-consumer": "librdkafka 2.0 has no share consumer",
    "offsets-max-timestamp": "librdkafka 2.0 asks for no offset of the greatest timestamp",
}
IDEMPOTENT = ("-X", "enable.idempotence=true")


def feature(name: str) -> pytest.MarkDecorator:
    return pytest.mark.feature("kcat", name)


@pytest.fixture(scope="session")
def kcat_version(tool: Callable[[str], str]) -> str:
    return Kcat(tool("kcat"), "").version()


@pytest.fixture
def kcat(
    tool: Callable[[str], str],
    bootstrap_servers: str,
    kcat_version: str,
    record_property: Callable[[str, object], None],
) -> Kcat:
    record_property("client_version", kcat_version)
    return Kcat(tool("kcat"), bootstrap_servers)


@pytest.fixture
def four_partitions(admin: KafkaAdminClient, topic: str) -> str:
    admin.create_topics([NewTopic(topic, num_partitions=4, replication_factor=1)])
    return topic


@pytest.mark.parametrize("name", [pytest.param(name, marks=feature(name)) for name in FEATURES if name in LACKS])
def test_kcat_lacks(name: str) -> None:
    not_offered(LACKS[name])


@feature("describe-cluster")
def test_metadata_names_a_controller_among_the_brokers(kcat: Kcat) -> None:
    metadata = kcat.metadata()
    assert metadata["controllerid"] in [broker["id"] for broker in metadata["brokers"]]
    assert kcat.bootstrap_servers in [broker["name"] for broker in metadata["brokers"]]


@feature("describe-topics")
def test_metadata_of_a_topic(kcat: Kcat, four_partitions: str) -> None:
    (described,) = kcat.metadata("-t", four_partitions)["topics"]
    assert described["topic"] == four_partitions
    assert sorted(each["partition"] for each in described["partitions"]) == [0, 1, 2, 3]
    for each in described["partitions"]:
        assert each["replicas"] == each["isrs"] == [{"id": each["leader"]}]


@feature("auto-create")
def test_a_first_message_creates_its_topic(kcat: Kcat, topic: str) -> None:
    kcat.produce(topic, ["first"])
    assert topic in [each["topic"] for each in kcat.metadata()["topics"]]
    assert kcat.consume(topic) == ["first"]


@feature("transactions")
def test_a_committed_transaction_is_read(kcat: Kcat, four_partitions: str) -> None:
    """kcat writes its input in one transaction. The offset after two records and their marker is 3."""
    kcat.produce(four_partitions, ["one", "two"], "-X", f"transactional.id={four_partitions}")
    eventually(lambda: kcat.offset(four_partitions, -1) == 3)
    assert kcat.consume(four_partitions, "-p", "0", "-X", "isolation.level=read_committed") == ["one", "two"]


@pytest.mark.parametrize(
    ("codec", "producer"),
    [
        pytest.param(codec, producer, marks=feature(f"produce-{codec}-{producer}"))
        for codec in CODECS
        for producer in PRODUCERS
    ],
)
def test_produce_and_read_back(kcat: Kcat, log_directory: Path, topic: str, codec: str, producer: str) -> None:
    """librdkafka compresses only if the broker offers Produce from version 0 on; else all but zstd go out plain."""
    values = [f"{number} " + "x" * 200 for number in range(100)]
    kcat.produce(topic, values, "-z", codec, *(IDEMPOTENT if producer == "idempotent" else ()))
    assert kcat.consume(topic, "-X", "check.crcs=true") == values
    assert _codecs(log_directory / f"{topic}-0" / f"{0:020d}.log") == {codec}


def _codecs(segment: Path) -> set[str]:
    """The codecs that the batch headers of a segment name."""
    data, position, found = segment.read_bytes(), 0, set()
    while position < len(data):
        (attributes,) = struct.unpack_from(">h", data, position + 21)
        found.add(CODECS[attributes & 7])
        position += 12 + struct.unpack_from(">i", data, position + 8)[0]
    return found


@feature("acks")
@pytest.mark.parametrize("acks", ["0", "1"])
def test_acks(kcat: Kcat, topic: str, acks: str) -> None:
    kcat.produce(topic, ["sent"], "-X", f"acks={acks}")
    # No client waits with acks=0; this message comes later on a connection of its own, and both arrive.
    kcat.produce(topic, ["acknowledged"])
    assert sorted(kcat.run("-C", "-q", "-c", "2", "-t", topic).split()) == ["acknowledged", "sent"]


def test_keys_and_headers(kcat: Kcat, topic: str) -> None:
    kcat.produce(topic, ["k1:v1", "k2:v2"], "-K", ":", "-H", "colour=blue", "-H", "empty=")
    assert kcat.consume(topic, form="%o %k %s %h") == ["0 k1 v1 colour=blue,empty=", "1 k2 v2 colour=blue,empty="]


def test_tombstone(kcat: Kcat, topic: str) -> None:
    kcat.produce(topic, ["k1:"], "-K", ":", "-Z")
    assert kcat.consume(topic, form="%k %S") == ["k1 -1"]


def test_consume_from_offsets(kcat: Kcat, topic: str) -> None:
    kcat.produce(topic, [str(number) for number in range(10)])
    assert kcat.consume(topic, "-o", "beginning") == [str(number) for number in range(10)]
    assert kcat.consume(topic, "-o", "7") == ["7", "8", "9"]
    assert kcat.consume(topic, "-o", "-2") == ["8", "9"]
    assert kcat.consume(topic, "-o", "end") == []


@feature("offsets-timestamp")
def test_offsets_by_timestamp(kcat: Kcat, topic: str) -> None:
    for value in ("early", "late"):
        kcat.produce(topic, [value])
    early, late = (int(stamp) for stamp in kcat.consume(topic, form="%T"))
    assert early < late
    assert kcat.offset(topic, early) == 0
    assert kcat.offset(topic, late) == 1
    assert kcat.offset(topic, late + 1) == -1
    assert kcat.consume(topic, "-o", f"s@{late}") == ["late"]
    assert kcat.consume(topic, "-o", f"s@{early}", "-o", f"e@{late}") == ["early"]


@feature("offsets-ends")
def test_offsets_of_the_ends(kcat: Kcat, topic: str) -> None:
    kcat.produce(topic, ["1", "2", "3"])
    assert (kcat.offset(topic, -2), kcat.offset(topic, -1)) == (0, 3)


@feature("group-rebalance")
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_second_member_joins_and_leaves(kcat: Kcat, four_partitions: str, group: str, strategy: str) -> None:
    topic, everything = four_partitions, {0, 1, 2, 3}
    options = ("-X", f"partition.assignment.strategy={strategy}", "-X", "auto.offset.reset=earliest")
    with kcat.member(group, topic, *options) as first:
        eventually(lambda: first.partitions == everything)
        with kcat.member(group, topic, *options) as second:
            eventually(lambda: len(first.partitions) == len(second.partitions) == 2)
            assert first.partitions | second.partitions == everything
        eventually(lambda: first.partitions == everything)
        values = [f"{partition}-{number}" for partition in everything for number in range(10)]
        for partition in everything:
            kcat.produce(topic, [each for each in values if each.startswith(f"{partition}-")], "-p", str(partition))
        eventually(lambda: sorted(first.messages) == sorted(values))


@feature("group-resume")
def test_commit_and_resume(kcat: Kcat, topic: str, group: str) -> None:
    """kcat stores the offset of each printed message and commits it when it closes; ``-c`` closes it in the middle."""
    kcat.produce(topic, [str(number) for number in range(10)])
    options = ("-q", "-X", "auto.offset.reset=earliest")
    assert kcat.run(*options, "-c", "4", "-G", group, topic).split() == ["0", "1", "2", "3"]
    assert kcat.run(*options, "-c", "6", "-G", group, topic).split() == ["4", "5", "6", "7", "8", "9"]


@feature("static-member")
def test_static_member_returns_without_a_rebalance(kcat: Kcat, four_partitions: str, group: str) -> None:
    """KIP-345: a static member does not leave when it closes, and gets its partitions back by its instance id."""
    topic = four_partitions

    def static(name: str) -> AbstractContextManager[Member]:
        options = f"group.instance.id={name}", "auto.offset.reset=earliest", "session.timeout.ms=30000"
        return kcat.member(group, topic, *(part for option in options for part in ("-X", option)))

    with static("stays") as stays:
        with static("returns") as returns:
            eventually(lambda: len(stays.partitions) == len(returns.partitions) == 2)
            held, rebalances = returns.partitions, stays.rebalances
        with static("returns") as returns:
            for partition in range(4):
                kcat.produce(topic, [str(partition)], "-p", str(partition))
            eventually(lambda: len(stays.messages) == len(returns.messages) == 2)
            assert set(map(int, returns.messages)) == held
            assert stays.rebalances == rebalances


@feature("refuse-topic-name")
def test_illegal_topic_name_is_refused(kcat: Kcat) -> None:
    # librdkafka names the broker's error for a message that it holds, and its own for one that comes after it.
    with pytest.raises(KcatFailed, match=r"Broker: Invalid topic|Local: Unknown topic"):
        kcat.produce("not a name", ["lost"])


@feature("refuse-unknown-topic")
def test_unknown_topic_is_refused(kcat: Kcat, topic: str) -> None:
    with pytest.raises(KcatFailed, match="Broker: Unknown topic or partition"):
        kcat.consume(topic)


@feature("refuse-large-message")
def test_large_message_is_refused(kcat: Kcat, topic: str) -> None:
    """max.message.bytes is 1 MiB and a little by default."""
    with pytest.raises(KcatFailed, match="Broker: Message size too large"):
        kcat.produce(topic, ["x" * 3_000_000], "-X", "message.max.bytes=10000000")
    kcat.produce(topic, ["small"])
    assert kcat.consume(topic) == ["small"]
