"""A client that creates one topic after the other, whatever happens to the cluster, and remembers what it was told."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Sequence
from types import TracebackType

from kafka.protocol.admin.topics import CreateTopicsRequest
from kafka.protocol.metadata import MetadataRequest

from tests.support.eventually import eventually
from tests.support.wire_client import WireClient, wire_client

CREATE_TIMEOUT_S = 5.0
PAUSE_S = 0.02
STOP_TIMEOUT_S = 30.0


class TopicCreator:
    """A thread that creates topics through brokers, in turn when one fails, each under a name that is never used again.

    Use as a context manager: the thread ends with the block.
    """

    def __init__(
        self,
        brokers: Sequence[str],
        *,
        replication_factor: int = 1,
        prefix: str = "made",
        pause_s: float = PAUSE_S,
    ) -> None:
        """``pause_s`` is the rest after each creation and each failure."""
        self.brokers = brokers
        self.pause_s = pause_s
        self.replication_factor = replication_factor
        self.prefix = prefix
        self.acknowledged: list[tuple[str, float]] = []
        """Name, and when the answer came (monotonic seconds)."""
        self.failures: list[str] = []
        """What went wrong, from errors that a client may retry; a topic of these may exist or not."""
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
                while not self._done.is_set() and self._create(client, f"{self.prefix}-{next(numbers)}"):
                    self._done.wait(self.pause_s)
            self._done.wait(self.pause_s)

    def _create(self, client: WireClient, name: str) -> bool:
        """Whether the topic was acknowledged."""
        topic = CreateTopicsRequest.CreatableTopic(
            name=name, num_partitions=1, replication_factor=self.replication_factor, assignments=[], configs=[]
        )
        timeout_ms = int(CREATE_TIMEOUT_S * 1000)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=timeout_ms, validate_only=False)
        (result,) = client.call(request, 5).topics
        if result.error_code == 0:
            self.acknowledged.append((name, time.monotonic()))
            return True
        self.failures.append(f"{name}: {result.error_code} {result.error_message}")
        return False

    def wait_for_more(self, count: int, timeout_s: float) -> None:
        """Until ``count`` creations more than now have been acknowledged."""
        target = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= target, timeout_s)


def topics_at(broker: str) -> set[str]:
    """The topics that the broker knows."""
    with wire_client(broker) as client:
        answer = client.call(MetadataRequest(topics=None, allow_auto_topic_creation=False), 8)
    return {topic.name for topic in answer.topics}


def assert_topics_are_there(creator: TopicCreator, brokers: Sequence[str], timeout_s: float = 30.0) -> None:
    """Every broker comes to know every acknowledged topic."""
    expected = {name for name, _ in creator.acknowledged}
    for broker in brokers:
        eventually(lambda broker=broker: expected <= topics_at(broker), timeout_s)
