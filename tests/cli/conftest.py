"""A directory that Apache Kafka wrote, for the tools that read directories."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import attrs
import pytest
import trio
from confluent_kafka import Producer

from kraft.messages.alter_client_quotas_request import AlterClientQuotasRequest, EntityData, EntryData, OpData
from kraft.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kraft.messages.create_acls_request import AclCreation, CreateAclsRequest
from kraft.messages.create_topics_request import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.rpc.client import connect
from tests.support.apache_process import APACHE_4
from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer
from tests.support.node_process import NodeProcess

_SETTINGS = {
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


_TOPIC, _BROKER = 2, 4
_READ, _ALLOW = 3, 3


@attrs.frozen
class Directories:
    """The log directory of one node, as it was while it ran and after a controlled stop."""

    live: Path
    stopped: Path


@pytest.fixture(scope="session")
def apache_directories(tmp_path_factory: pytest.TempPathFactory) -> Directories:
    """A directory of an Apache Kafka node that ran for a while."""
    directory = tmp_path_factory.mktemp("apache")
    node = NodeProcess(directory, _SETTINGS, kind=APACHE_4)
    try:
        node.start()
        _use(node.bootstrap_servers)
        partition = node.log_directory / "__cluster_metadata-0"
        eventually(lambda: any(partition.glob("*.checkpoint")))
        unfinished = shutil.ignore_patterns("*.tmp", "*.part")  # they vanish while others are copied
        live = Path(shutil.copytree(node.log_directory, directory / "live", ignore=unfinished))
        assert node.stop() in (0, 143)
    finally:
        node.kill()
    return Directories(live, node.log_directory)


def _use(bootstrap_servers: str) -> None:
    """Leave a record of many kinds in the logs."""
    trio.run(_administer, int(bootstrap_servers.rpartition(":")[2]))
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": bootstrap_servers, "compression.type": codec, "linger.ms": 50})
        for number in range(20):
            producer.produce("orders", key=f"k{number}", value="v" * 100, headers={"h": "1"}, partition=0)
        producer.flush()
    transactional = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": "t1"})
    transactional.init_transactions()
    for end in (transactional.commit_transaction, transactional.abort_transaction):
        transactional.begin_transaction()
        transactional.produce("orders", value="in a transaction", partition=1)
        transactional.flush()
        end()
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "g1", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    assert len(consumer.consume(5, timeout=30)) == 5
    consumer.commit(asynchronous=False)
    consumer.close()


async def _administer(port: int) -> None:
    topic = CreatableTopic("orders", 2, 1, configs=[CreatableTopicConfig("retention.ms", "50000")])
    acl = AclCreation(_TOPIC, "orders", principal="User:zed", host="*", operation=_READ, permission_type=_ALLOW)
    entity = [EntityData("user", "bob"), EntityData("client-id", "c1")]
    quota = EntryData(entity, [OpData("producer_byte_rate", 1024.0, False)])
    salted = hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 4096)
    credential = ScramCredentialUpsertion("alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=salted)
    setting = AlterConfigsResource(_BROKER, "", [AlterableConfig("log.cleaner.threads", 0, "2")])
    async with connect("127.0.0.1", port) as connection:
        for request in (
            CreateTopicsRequest(topics=[topic]),
            CreateAclsRequest(creations=[acl]),
            AlterClientQuotasRequest(entries=[quota]),
            AlterUserScramCredentialsRequest(upsertions=[credential]),
            IncrementalAlterConfigsRequest(resources=[setting]),
        ):
            await connection.request(request)
