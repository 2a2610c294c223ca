"""A client that creates topics and changes every second one, during all faults, and keeps the acknowledgements."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Any

import attrs
from kafka.protocol.admin.configs import DescribeConfigsRequest, IncrementalAlterConfigsRequest
from kafka.protocol.admin.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from kafka.protocol.metadata import MetadataRequest

from tests.support.eventually import eventually
from tests.support.wire_client import WireClient, wire_client

CREATE_TIMEOUT_S = 5.0
PAUSE_S = 0.02
STOP_TIMEOUT_S = 30.0

TOPIC, SET = 2, 0
CHANGED_SETTING = "retention.ms"
MORE_PARTITIONS = 3


@attrs.frozen
class Known:
    """The expected state of a topic: None without an acknowledgement, or without a check."""

    exists: bool | None = True
    partitions: int | None = 1
    setting: str | None = None


class TopicCreator:
    """A thread that creates topics through brokers, through the next one when one fails, each under a new name.

    Of four topics one gets more partitions, one another setting, and one is deleted. Use as a context manager: the
    thread ends with the block.
    """

    def __init__(
        self,
        brokers: Sequence[str],
        *,
        replication_factor: int = 1,
        prefix: str = "made",
        pause_s: float = PAUSE_S,
    ) -> None:
        """``pause_s`` is the rest after each topic and each failure."""
        self.brokers = brokers
        self.pause_s = pause_s
        self.replication_factor = replication_factor
        self.prefix = prefix
        self.acknowledged: list[tuple[str, float]] = []
        """Name, and when the answer to its creation came (monotonic seconds)."""
        self.known: dict[str, Known] = {}
        """The acknowledged changes, by topic."""
        self.failures: list[str] = []
        """The failures: retriable errors, after which the change may have happened or not."""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="topic creator")

    def __enter__(self) -> TopicCreator:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        numbers = itertools.count()
        for broker in itertools.cycle(self.brokers):
            if self._done.is_set():
                return
            with contextlib.suppress(OSError, EOFError), wire_client(broker, CREATE_TIMEOUT_S * 2) as client:
                while not self._done.is_set() and self._make(client, next(numbers)):
                    self._done.wait(self.pause_s)
            self._done.wait(self.pause_s)

    def _make(self, client: WireClient, number: int) -> bool:
        """Create a topic and change it; whether all was acknowledged."""
        name = f"{self.prefix}-{number}"
        topic = CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=1, replication_factor=self.replication_factor, assignments=[], configs=[]
        )
        timeout_ms = int(CREATE_TIMEOUT_S * 1000)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms, validate_only=False)
        if not self._did(name, client.call(request, 5).topics):
            return False
        self.acknowledged.append((name, time.monotonic()))
        self.known[name] = Known()
        match number % 4:
            case 1:
                more = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=MORE_PARTITIONS, assignments=None)
                growth = CreatePartitionsRequest(topics=[more], timeout_ms=timeout_ms, validate_only=False)
                return self._change(client, name, growth, 3, partitions=MORE_PARTITIONS)
            case 2:
                resource = IncrementalAlterConfigsRequest.AlterConfigsResource
                value = str(3_600_000 + number)
                config = resource.AlterableConfig(name=CHANGED_SETTING, config_operation=SET, value=value)
                altered = resource(resource_type=TOPIC, resource_name=name, configs=[config])
                setting = IncrementalAlterConfigsRequest(resources=[altered], validate_only=False)
                return self._change(client, name, setting, 1, setting=value)
            case 3:
                deletion = DeleteTopicsRequest(topic_names=[name], timeout_ms=timeout_ms)
                return self._change(client, name, deletion, 5, exists=False)
        return True

    def _change(self, client: WireClient, name: str, request: Any, version: int, **changed: Any) -> bool:
        """Until a response, the state of the change is unknown."""
        before = self.known[name]
        self.known[name] = attrs.evolve(before, **dict.fromkeys(changed))
        answer = client.call(request, version)
        is_done = self._did(name, answer.results if hasattr(answer, "results") else answer.responses)
        if is_done:
            self.known[name] = attrs.evolve(before, **changed)
        return is_done

    def _did(self, name: str, results: Sequence[Any]) -> bool:
        (result,) = results
        if result.error_code:
            self.failures.append(f"{name}: {result.error_code} {result.error_message}")
        return not result.error_code

    def wait_for_more(self, count: int, timeout_s: float) -> None:
        """Until ``count`` creations more than now have been acknowledged."""
        target = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= target, timeout_s)


def differences(creator: TopicCreator, broker: str) -> list[str]:
    """Return the sorted differences between the broker's metadata and the acknowledgements."""
    resources = [
        DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=TOPIC, resource_name=name, configuration_keys=[CHANGED_SETTING]
        )
        for name, known in creator.known.items()
        if known.setting is not None
    ]
    asked = DescribeConfigsRequest(resources=resources, include_synonyms=False, include_documentation=False)
    with wire_client(broker) as client:
        topics = client.call(MetadataRequest(topics=None, allow_auto_topic_creation=False), 8).topics
        described = client.call(asked, 4).results
    partitions = {topic.name: len(topic.partitions) for topic in topics}
    settings = {each.resource_name: each.configs[0].value for each in described if each.configs}
    found = {
        name: Known(
            known.exists if known.exists is None else name in partitions,
            known.partitions if known.partitions is None or known.exists is not True else partitions.get(name),
            known.setting if known.setting is None else settings.get(name),
        )
        for name, known in creator.known.items()
    }
    return sorted(
        f"{name}: {found[name]}, expected {known}" for name, known in creator.known.items() if found[name] != known
    )


def assert_topics_are_there(creator: TopicCreator, brokers: Sequence[str], timeout_s: float = 30.0) -> None:
    """Every broker comes to know every acknowledged creation, change and deletion."""
    for broker in brokers:
        with contextlib.suppress(AssertionError):
            eventually(partial(_agrees, creator, broker), timeout_s)
        assert differences(creator, broker) == []


def _agrees(creator: TopicCreator, broker: str) -> bool:
    return not differences(creator, broker)
