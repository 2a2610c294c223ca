"""Configurations in a cluster with ZooKeeper: the same requests to a broker of Apache Kafka 3.9 and to one of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from kazoo.client import KazooClient

from kraft.messages.alter_client_quotas_request import AlterClientQuotasRequest, EntityData, EntryData, OpData
from kraft.messages.alter_configs_request import AlterableConfig as LegacyConfig
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_configs_request import AlterConfigsResource as LegacyResource
from kraft.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kraft.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest, UserName
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.rpc.client import connect
from kraft.wire.errors import ErrorCode
from kraft.wire.schema import Message
from kraft.zookeeper.znodes.notifications import CONFIG_CHANGES
from tests.interop.traffic import TIMEOUT_S, Traffic
from tests.support.apache_process import APACHE_3
from tests.support.apache_tool import CONFIGS, apache_tool, apache_tool_complaint
from tests.support.eventually import eventually
from tests.support.node_process import OURS
from tests.support.zookeeper_era import APACHE, LegacyBroker, LegacyCluster, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

APACHE_ID, OUR_ID = 1, 2
TOPIC, BROKER, OTHER_TYPE = 2, 4, 7
SET, DELETE, APPEND, SUBTRACT = range(4)
Change = tuple[str, int, str | None]
Entity = tuple[tuple[str, str | None], ...]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LegacyCluster]:
    """Apache's broker is the controller, because it starts first. Each broker has a topic of its own."""
    with legacy_cluster(tmp_path_factory.mktemp("configs")) as running:
        running.add(APACHE_ID, APACHE)
        running.add(OUR_ID, OURS)
        for node_id in (APACHE_ID, OUR_ID):
            running.create_topic(f"topic-{node_id}", (node_id,))
        for broker in running.brokers.values():
            for topic in ("topic-1", "topic-2"):
                eventually(partial(trio.run, described, broker, TOPIC, topic, "retention.ms"), TIMEOUT_S)
        yield running


@pytest.fixture
def zookeeper(cluster: LegacyCluster) -> Iterator[KazooClient]:
    with cluster.client() as client:
        yield client


async def ask(broker: LegacyBroker, kind: int, name: str, *changes: Change, validate_only: bool = False) -> object:
    """Change a resource, whose name may have ``{}`` for the id of the broker; return the code and the text."""
    configs = [AlterableConfig(key, operation, value) for key, operation, value in changes]
    resource = AlterConfigsResource(kind, name.format(broker.node_id), configs)
    return await exchange(broker, IncrementalAlterConfigsRequest([resource], validate_only))


async def replace(broker: LegacyBroker, kind: int, name: str, **values: str | None) -> object:
    configs = [LegacyConfig(key.replace("_", "."), value) for key, value in values.items()]
    return await exchange(broker, AlterConfigsRequest([LegacyResource(kind, name.format(broker.node_id), configs)]))


async def exchange(broker: LegacyBroker, request: IncrementalAlterConfigsRequest | AlterConfigsRequest) -> object:
    with trio.fail_after(TIMEOUT_S):
        async with connect("127.0.0.1", broker.ports[0]) as connection:
            (result,) = (await connection.request(request)).responses
    text = None if result.error_message is None else result.error_message.replace(str(broker.node_id), "{}")
    return ErrorCode(result.error_code).name, text


def both(cluster: LegacyCluster) -> Sequence[LegacyBroker]:
    return cluster.brokers[APACHE_ID], cluster.brokers[OUR_ID]


ACCEPTED: list[list[Change]] = [
    [("retention.ms", SET, "1000"), ("cleanup.policy", SET, "compact"), ("segment.bytes", SET, "1048576")],
    [("cleanup.policy", APPEND, "delete"), ("min.insync.replicas", SET, "1")],
    [("retention.ms", DELETE, None), ("flush.messages", SET, " 7 ")],
    [("cleanup.policy", SUBTRACT, "compact")],
    [("unclean.leader.election.enable", SET, "true"), ("max.message.bytes", SET, "2000000")],
]


async def test_every_change_of_a_topic_leaves_the_same_znode(cluster: LegacyCluster, zookeeper: KazooClient) -> None:
    """KafkaZkClient.setOrCreateEntityConfigs and createConfigChangeNotification: the same bytes, the order of the
    settings included, and an announcement for each change.
    """
    for changes in ACCEPTED:
        before = set(zookeeper.get_children(CONFIG_CHANGES))
        for broker in both(cluster):
            assert await ask(broker, TOPIC, "topic-{}", *changes) == ("NONE", None)
        theirs, ours = (zookeeper.get(f"/config/topics/topic-{each}")[0] for each in (APACHE_ID, OUR_ID))
        assert ours == theirs
        announced = sorted(set(zookeeper.get_children(CONFIG_CHANGES)) - before)
        data = [zookeeper.get(f"{CONFIG_CHANGES}/{name}")[0] for name in announced]
        assert [each.replace(b"topic-2", b"topic-1") for each in data] == [data[0]] * 2
    for broker in both(cluster):
        assert await replace(broker, TOPIC, "topic-{}", flush_ms="9", retention_bytes="8") == ("NONE", None)
    theirs, ours = (zookeeper.get(f"/config/topics/topic-{each}")[0] for each in (APACHE_ID, OUR_ID))
    assert ours == theirs


REFUSED: dict[str, tuple[int, str, list[Change]]] = {
    "a topic that is unknown": (TOPIC, "unknown", [("retention.ms", SET, "1")]),
    "no topic": (TOPIC, "", [("retention.ms", SET, "1")]),
    "a value": (TOPIC, "topic-{}", [("retention.ms", SET, "soon")]),
    "a name": (TOPIC, "topic-{}", [("retention.minutes", SET, "5")]),
    "a list": (TOPIC, "topic-{}", [("retention.ms", APPEND, "5")]),
    "no value": (TOPIC, "topic-{}", [("retention.ms", SET, None)]),
    "twice the same": (TOPIC, "topic-{}", [("retention.ms", SET, "1"), ("retention.ms", SET, "2")]),
    "another broker": (BROKER, "77", [("log.retention.ms", SET, "1")]),
    "no broker": (BROKER, "one", [("log.retention.ms", SET, "1")]),
    "what is not dynamic": (BROKER, "{}", [("broker.rack", SET, "a")]),
    "a value of a broker": (BROKER, "{}", [("log.retention.ms", SET, "soon")]),
    "a value of all brokers": (BROKER, "", [("log.cleaner.threads", SET, "many")]),
    "another type": (OTHER_TYPE, "x", [("a", SET, "b")]),
}


async def test_a_change_that_apache_refuses_is_refused_with_the_same_code(
    cluster: LegacyCluster, zookeeper: KazooClient
) -> None:
    """ConfigAdminManager and ZkAdminManager. Nothing is written."""
    before = set(zookeeper.get_children(CONFIG_CHANGES))
    for what, (kind, name, changes) in REFUSED.items():
        theirs, ours = [await ask(broker, kind, name, *changes) for broker in both(cluster)]
        assert theirs[0] == ours[0] != "NONE", (what, theirs, ours)
        assert ours[1]
    assert set(zookeeper.get_children(CONFIG_CHANGES)) == before


async def test_a_client_sees_a_change_at_once_at_every_broker(cluster: LegacyCluster) -> None:
    """ConfigHelper reads the settings of topics in ZooKeeper, so a broker that has not applied a change shows it."""
    ours, theirs = cluster.brokers[OUR_ID], cluster.brokers[APACHE_ID]
    for number in range(20):
        changed, shown = (ours, theirs) if number % 2 else (theirs, ours)
        assert await ask(changed, TOPIC, "topic-1", ("segment.ms", SET, str(1_000 + number))) == ("NONE", None)
        assert await described(shown, TOPIC, "topic-1", "segment.ms") == str(1_000 + number)


async def described(broker: LegacyBroker, kind: int, name: str, key: str) -> str | None:
    with trio.fail_after(TIMEOUT_S):
        async with connect("127.0.0.1", broker.ports[0]) as connection:
            request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, [key])])
            (result,) = (await connection.request(request)).results
    assert result.error_code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), result.error_message
    return next((each.value for each in result.configs), None)


async def test_dynamic_settings_of_brokers_come_to_brokers_of_both_kinds(cluster: LegacyCluster) -> None:
    """BrokerConfigHandler: the default of all brokers may be changed at each, and a broker's own settings at itself."""
    ours, theirs = cluster.brokers[OUR_ID], cluster.brokers[APACHE_ID]
    for number, (changed, shown) in enumerate(((ours, theirs), (theirs, ours)), 1):
        value = str(number * 1_000_000)
        assert await ask(changed, BROKER, "", ("log.segment.bytes", SET, value)) == ("NONE", None)
        await until_shown(shown, "topic-{}", "segment.bytes", value)
    for broker in (ours, theirs):
        assert await ask(broker, BROKER, "{}", ("log.segment.bytes", SET, "3000000")) == ("NONE", None)
        await until_shown(broker, "topic-{}", "segment.bytes", "3000000")
        assert await ask(broker, BROKER, "{}", ("log.segment.bytes", DELETE, None)) == ("NONE", None)
        await until_shown(broker, "topic-{}", "segment.bytes", "2000000")


async def until_shown(broker: LegacyBroker, topic: str, key: str, value: str) -> None:
    with trio.fail_after(TIMEOUT_S):
        while True:
            if await described(broker, TOPIC, topic.format(broker.node_id), key) == value:
                return
            await trio.sleep(0.05)


QUOTAS: list[tuple[Entity, dict[str, float]]] = [
    ((("user", "ann"),), {"producer_byte_rate": 1000.0, "request_percentage": 12.5}),
    ((("user", None),), {"consumer_byte_rate": 7.0}),
    ((("client-id", "a/b ~*"),), {"controller_mutation_rate": 0.5}),
    ((("client-id", None),), {"producer_byte_rate": 1.0}),
    ((("user", "ann"), ("client-id", "x")), {"producer_byte_rate": 10.0}),
    ((("user", None), ("client-id", None)), {"producer_byte_rate": 11.0}),
    ((("ip", "10.0.0.1"),), {"connection_creation_rate": 5.0}),
    ((("ip", None),), {"connection_creation_rate": 6.0}),
]
FILTERS = [
    DescribeClientQuotasRequest([ComponentData(*each) for each in components], strict)
    for strict in (False, True)
    for components in (
        [],
        [("user", 0, "ann")],
        [("user", 1, None)],
        [("user", 2, None)],
        [("user", 2, None), ("client-id", 2, None)],
        [("user", 0, "ann"), ("client-id", 0, "x")],
        [("client-id", 0, "a/b ~*")],
        [("ip", 2, None)],
        [("ip", 0, "10.0.0.2")],
        [("ip", 2, None), ("user", 2, None)],
        [("planet", 2, None)],
    )
]


async def test_quotas_that_apaches_broker_has_written_are_described_alike(cluster: LegacyCluster) -> None:
    """ZkAdminManager.describeClientQuotas, for every kind of entity and filter (KIP-546)."""
    theirs = cluster.brokers[APACHE_ID]
    for entity, quotas in QUOTAS:
        parts = [EntityData(kind, name) for kind, name in entity]
        ops = [OpData(key, value) for key, value in quotas.items()]
        (altered,) = (await request(theirs, AlterClientQuotasRequest([EntryData(parts, ops)]))).entries
        assert altered.error_code == ErrorCode.NONE, altered.error_message
    for wanted in FILTERS:
        of_apache, of_ours = [await described_quotas(broker, wanted) for broker in both(cluster)]
        assert of_ours == of_apache, wanted
    assert of_apache == (ErrorCode.UNSUPPORTED_VERSION, None)
    everything = await described_quotas(cluster.brokers[OUR_ID], FILTERS[0])
    assert everything == (ErrorCode.NONE, {frozenset(entity): quotas for entity, quotas in QUOTAS})


async def described_quotas(broker: LegacyBroker, wanted: DescribeClientQuotasRequest) -> tuple[int, object]:
    response = await request(broker, wanted)
    if response.entries is None:
        return response.error_code, None
    return response.error_code, {
        frozenset((part.entity_type, part.entity_name) for part in entry.entity): {
            each.key: each.value for each in entry.values
        }
        for entry in response.entries
    }


async def test_credentials_that_apaches_controller_has_written_are_described_alike(cluster: LegacyCluster) -> None:
    """ZkAdminManager.describeUserScramCredentials: all users, and each error of a user that is named (KIP-554)."""
    upsertions = [
        ScramCredentialUpsertion(name, mechanism, iterations, b"salt", b"password")
        for name, mechanism, iterations in (("carol", 1, 4096), ("carol", 2, 8192), ("d/e f", 2, 4097))
    ]
    altered = await request(cluster.brokers[APACHE_ID], AlterUserScramCredentialsRequest([], upsertions))
    assert {each.error_code for each in altered.results} == {ErrorCode.NONE}
    for names in ([], ["carol", "d/e f"], ["nobody", "ann", "", "carol", "twice", "twice"]):
        wanted = DescribeUserScramCredentialsRequest([UserName(name) for name in names])
        of_apache, of_ours = [await described_users(broker, wanted) for broker in both(cluster)]
        assert of_ours == of_apache
        assert ("carol", ErrorCode.NONE, ((1, 4096), (2, 8192))) in of_apache


async def described_users(broker: LegacyBroker, wanted: DescribeUserScramCredentialsRequest) -> list[object]:
    response = await request(broker, wanted)
    assert response.error_code == ErrorCode.NONE
    return sorted(
        (each.user, each.error_code, tuple((info.mechanism, info.iterations) for info in each.credential_infos))
        for each in response.results
    )


async def request(broker: LegacyBroker, message: Message) -> Any:
    with trio.fail_after(TIMEOUT_S):
        async with connect("127.0.0.1", broker.ports[0]) as connection:
            return await connection.request(message)


def configs(cluster: LegacyCluster, *options: str, zookeeper: bool = False) -> str:
    where = ["--bootstrap-server", cluster.brokers[OUR_ID].bootstrap_servers]
    if zookeeper:
        where = ["--zookeeper", cluster.zookeeper.address]
    return apache_tool(CONFIGS, *where, *options, kind=APACHE_3)


def test_kafka_configs_changes_topics_and_brokers_through_our_broker(cluster: LegacyCluster) -> None:
    """The tool of Apache Kafka 3.9 with --bootstrap-server."""
    topic = ["--entity-type", "topics", "--entity-name", "topic-2"]
    configs(cluster, "--alter", *topic, "--add-config", "retention.ms=77,cleanup.policy=[compact,delete]")
    shown = configs(cluster, "--describe", *topic)
    assert "retention.ms=77 sensitive=false" in shown
    assert "cleanup.policy=compact,delete sensitive=false" in shown
    configs(cluster, "--alter", *topic, "--delete-config", "retention.ms")
    assert "retention.ms=77" not in configs(cluster, "--describe", *topic)
    brokers = ["--entity-type", "brokers", "--entity-default"]
    configs(cluster, "--alter", *brokers, "--add-config", "log.cleaner.threads=2")
    eventually(lambda: "log.cleaner.threads=2" in configs(cluster, "--describe", *brokers), TIMEOUT_S)


def test_kafka_configs_prepares_a_broker_through_zookeeper(cluster: LegacyCluster, zookeeper: KazooClient) -> None:
    """--zookeeper, which 3.9 still has for a broker that is not running, and for the credentials of users."""
    broker = ["--entity-type", "brokers", "--entity-name", "3"]
    configs(cluster, "--alter", *broker, "--add-config", "log.retention.ms=5,log.cleaner.threads=2", zookeeper=True)
    user = ["--entity-type", "users", "--entity-name", "alice"]
    configs(cluster, "--alter", *user, "--add-config", "SCRAM-SHA-256=[password=secret]", zookeeper=True)
    started = cluster.add(3, OURS)
    assert trio.run(described, started, BROKER, "3", "log.retention.ms") == "5"
    refused = [*broker, "--alter", "--add-config", "log.retention.ms=6"]
    where = ["--zookeeper", cluster.zookeeper.address]
    assert "broker 3 is running" in apache_tool_complaint(CONFIGS, *where, *refused, kind=APACHE_3)
    assert started.stop() == 0
    assert not [line for line in started.output if "ERROR" in line], "an announcement of a user has no effect"


def test_our_controller_elects_an_unclean_leader_once_a_topic_allows_it(tmp_path: Path) -> None:
    """TopicUncleanLeaderElectionEnable: by kafka-configs or any admin client, at any broker."""
    with legacy_cluster(tmp_path, replica_lag_time_max_ms="2000", replica_fetch_wait_max_ms="200") as running:
        for node_id in (1, 2):
            running.add(node_id, OURS)
        running.create_topic("orders", (2, 1))
        traffic = Traffic(running.brokers[1].bootstrap_servers)
        eventually(lambda: in_sync(traffic) == {1, 2}, TIMEOUT_S)
        running.brokers[1].kill()
        eventually(lambda: in_sync(Traffic(running.brokers[2].bootstrap_servers)) == {2}, TIMEOUT_S)
        running.brokers[2].kill()
        running.brokers[1].start()
        eventually(lambda: leader(traffic) == -1, TIMEOUT_S)
        traffic.set_config("orders", "unclean.leader.election.enable", "true")
        eventually(lambda: leader(traffic) == 1, TIMEOUT_S)


def in_sync(traffic: Traffic) -> set[int]:
    partitions = traffic.describe("orders")
    return partitions[0].isr if partitions else set()


def leader(traffic: Traffic) -> int | None:
    partitions = traffic.describe("orders")
    return partitions[0].leader if partitions else None
