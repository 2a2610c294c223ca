"""Consumer protocol (KIP-848) and share groups (KIP-932), with the clients of PyPI that have them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import confluent_kafka as ck
import kafka
from kafka.admin import ConfigResource, ConfigResourceType

from tests.clients.adapter import Client
from tests.clients.confluent import Confluent, ConfluentMember
from tests.clients.features import each_client, not_offered
from tests.clients.test_features import Polled, created, numbered
from tests.support.eventually import eventually
from tests.support.librdkafka import Consumer, ShareConsumer


@each_client("consumer-protocol")
def test_a_member_of_the_consumer_protocol_joins_and_leaves(client: Client, topic: str, group: str) -> None:
    """KIP-848: the broker assigns. A partition has one owner at a time, and no record is lost."""
    if not isinstance(client, Confluent):
        not_offered(f"{client.package} has the classic protocol only")

    def join() -> ConfluentMember:
        settings = {"group.id": group, "group.protocol": "consumer", "auto.offset.reset": "earliest"}
        return ConfluentMember(Consumer({**client.settings, **settings, "enable.auto.commit": False}), topic)

    created(client, topic, partitions=4)
    polled = Polled()
    with closing(join()) as first:
        polled.until(lambda: first.assignment() == {0, 1, 2, 3}, first)
        with closing(join()) as second:
            polled.until(lambda: len(first.assignment()) == len(second.assignment()) == 2, first, second)
            assert first.assignment() | second.assignment() == {0, 1, 2, 3}
        polled.until(lambda: first.assignment() == {0, 1, 2, 3}, first)
        client.produce(topic, numbered(range(20), partitions=4))
        polled.until_all_of(numbered(range(20), partitions=4), first)
        first.commit()


@each_client("share-consumer")
def test_released_records_are_delivered_again_and_accepted_ones_are_not(client: Client, topic: str, group: str) -> None:
    """KIP-932: a released record is made available for another delivery attempt."""
    if not isinstance(client, Confluent):
        not_offered(f"{client.package} has no share consumer")
    created(client, topic)
    client.produce(topic, numbered(range(20)))
    with closing(kafka.KafkaAdminClient(bootstrap_servers=client.bootstrap_servers)) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.GROUP, group, {"share.auto.offset.reset": "earliest"})])

    def share(release: Callable[[int], bool]) -> set[int]:
        """Let a new member read until it has had each odd offset; return all that it got."""
        found: set[int] = set()
        settings: dict[str, Any] = {"group.id": group, "share.acknowledgement.mode": "explicit"}
        with closing(ShareConsumer({**client.settings, **settings})) as consumer:
            consumer.subscribe([topic])

            def poll() -> bool:
                for message in consumer.poll(0.1):
                    assert message.error() is None
                    found.add(message.offset())
                    kind = ck.AcknowledgeType.RELEASE if release(message.offset()) else ck.AcknowledgeType.ACCEPT
                    consumer.acknowledge(message, kind)
                assert not any(consumer.commit_sync(30.0).values())
                return found >= set(range(1, 20, 2))

            eventually(poll)
        return found

    assert share(lambda offset: offset % 2 == 1) == set(range(20))
    assert share(lambda offset: False) == set(range(1, 20, 2))
