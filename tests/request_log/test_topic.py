"""The request log as a topic: no feedback, and no line is lost in silence."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio

from kraft.client.cluster import EARLIEST_TIMESTAMP, open_cluster
from kraft.client.consumer import Consumer
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.registry import ApiKey
from kraft.request_log import topic as request_topic
from kraft.request_log.lines import CLIENT_ID, RequestLines, Taken
from kraft.rpc.trace import RequestCompleted
from kraft.wire.errors import KafkaError
from kraft.world.dial import dial_by_tcp
from tests.support.eventually import until
from tests.support.nodes import Running, node_in

NAME = "__kraft_request_log"
TOPIC = {"kraft.request.log": "topic", "kraft.request.log.sample": "1", "offsets.topic.replication.factor": "3"}
DEADLINE_S = 30.0


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_topic, "FLUSH_INTERVAL_S", 0.01)
    monkeypatch.setattr(request_topic, "_RETRY_S", 0.01)


@contextlib.asynccontextmanager
async def consumer_of(running: Running) -> AsyncIterator[Consumer]:
    """A consumer of the log's topic, once the topic exists."""
    (endpoint,) = running.bound.broker.values()
    async with open_cluster(f"{endpoint.host}:{endpoint.port}", "reader") as cluster:
        consumer = Consumer(cluster, NAME)
        while not consumer.positions:
            with contextlib.suppress(KafkaError):
                await consumer.start(EARLIEST_TIMESTAMP)
        yield consumer


async def lines_until(consumer: Consumer, **fields: object) -> list[tuple[bytes | None, dict[str, Any]]]:
    """(key, line) of the topic's records, up to a line with these fields."""
    found: list[tuple[bytes | None, dict[str, Any]]] = []
    with trio.fail_after(DEADLINE_S):
        while not any(fields.items() <= line.items() for _, line in found):
            records = [each.record for each in await consumer.poll(0.1)]
            found += [(record.key, json.loads(record.value or b"")) for record in records]
    return found


async def test_the_topic_has_the_lines_from_the_start_of_the_node(tmp_path: Path) -> None:
    """A node starts before any broker leads the topic; elections are worth most. One broker holds one replica."""
    async with node_in(tmp_path, TOPIC) as running:
        await running.broker.request(ListGroupsRequest())
        async with consumer_of(running) as consumer:
            found = await lines_until(consumer, api="ListGroups")
        topic = running.node.parts.metadata.image.topic(NAME)
        assert topic is not None
        assert [len(partition.replicas) for partition in topic.partitions.values()] == [1]
    assert {key for key, _ in found} == {b"1"}
    assert [line["seq"] for _, line in found] == list(range(len(found)))
    assert found[0][1]["kind"] == "start"
    assert {"transition", "request"} <= {line["kind"] for _, line in found}


async def test_a_broker_with_an_odd_address_is_passed_over(tmp_path: Path) -> None:
    """A listener of Apache Kafka accepts ``PLAINTEXT://10.0.0.5:9092:9092``. Such a name has no address."""
    async with node_in(tmp_path, TOPIC) as running:
        broker = running.node.parts.metadata.image.brokers[1]
        odd = attrs.evolve(broker, id=0, endpoints=(attrs.evolve(broker.endpoints[0], host="10.0.0.5:9092,x"),))
        image = attrs.evolve(running.node.parts.metadata.image, brokers={0: odd, 1: broker})
        topic = request_topic.LogTopic("elsewhere", 1, 2**20)
        writer = request_topic.TopicWriter(topic, 1, lambda: image, None, dial_by_tcp)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(writer.run, RequestLines(1, lambda: 0))
            await until(lambda: running.node.parts.metadata.image.topic("elsewhere") is not None, DEADLINE_S)
            nursery.cancel_scope.cancel()


async def test_the_log_does_not_log_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each Produce of the log would otherwise be a line, and that line the next Produce."""
    flushes, requests = 0, Counter[str | None]()
    enough = trio.Event()
    take = RequestLines.take

    def counting(lines: RequestLines) -> Taken:
        nonlocal flushes
        flushes += 1
        if flushes == 40:
            enough.set()
        return take(lines)

    def count(event: RequestCompleted) -> None:
        if event.head.api_key == ApiKey.PRODUCE:
            requests[event.head.client_id] += 1

    monkeypatch.setattr(RequestLines, "take", counting)
    async with node_in(tmp_path, {**TOPIC, "kraft.request.log.control.sample": "0"}) as running:
        running.node.trace.subscribe(RequestCompleted, count)
        with trio.fail_after(DEADLINE_S):
            await enough.wait()
        assert 0 < requests[CLIENT_ID] < 10
        async with consumer_of(running) as consumer:
            found = await lines_until(consumer, client="reader")
    assert CLIENT_ID not in {line.get("client") for _, line in found}


async def test_lines_that_no_leader_took_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer that gave up may have stored the batch: the log counts it and does not send it again."""
    failing = trio.Event()

    async def refuse(producer: request_topic.Producer, records: object) -> None:
        failing.set()
        raise request_topic.GaveUp("no leader")

    send = request_topic.Producer.send
    monkeypatch.setattr(request_topic.Producer, "send", refuse)
    async with node_in(tmp_path, TOPIC) as running:
        with trio.fail_after(DEADLINE_S):
            await failing.wait()
        monkeypatch.setattr(request_topic.Producer, "send", send)
        await running.broker.request(ListGroupsRequest())
        async with consumer_of(running) as consumer:
            found = [line for _, line in await lines_until(consumer, api="ListGroups")]
    dropped = sum(line["count"] for line in found if line["kind"] == "dropped")
    assert dropped == next(line["seq"] for line in found)
