"""Our node and Apache Kafka side by side, with the same settings, for as long as the scenarios run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from pathlib import Path

import pytest

from kraft.config.features import MAX_METADATA_LEVEL
from kraft.messages.registry import ApiKey
from tests.differential.pair import Pair, answers
from tests.differential.talk import Line, Side
from tests.differential.voter import fake_voter
from tests.support.apache_process import APACHE_3, APACHE_4, Apache
from tests.support.eventually import eventually
from tests.support.node_process import OURS, Kind, NodeProcess, free_ports

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "metadata.max.idle.interval.ms": "0",
    "metadata.log.max.record.bytes.between.snapshots": "300",
    # The records of the scenarios are years old, and Apache's retention looks at them 30 s after its start.
    "log.retention.ms": "-1",
    # Otherwise the cleaner looks for a compacted log every 15 s.
    "log.cleaner.backoff.ms": "200",
}
#: For the newest levels: the heartbeat that needs a target assignment computes it, at once.
NEWEST_SETTINGS = {
    **SETTINGS,
    "group.consumer.min.assignment.interval.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.min.assignment.interval.ms": "0",
    "group.share.assignment.interval.ms": "0",
}
NEWEST_FEATURES = {
    "metadata.version": MAX_METADATA_LEVEL,
    "group.version": 1,
    "transaction.version": 2,
    "share.version": 1,
}
#: Nothing may happen by itself while a scenario runs.
NEVER_MS = str(3_600_000)
VOTER_SETTINGS = {
    "process.roles": "controller",
    "controller.quorum.election.timeout.ms": NEVER_MS,
    "controller.quorum.fetch.timeout.ms": NEVER_MS,
    "controller.quorum.election.backoff.max.ms": NEVER_MS,
    "controller.quorum.retry.backoff.ms": "500",
    "metadata.max.idle.interval.ms": "0",
}
OTHER_VOTERS = (2, 3)


@contextmanager
def _running(directory: Path, kind: Kind, settings: Mapping[str, str] = SETTINGS) -> Iterator[NodeProcess]:
    node = NodeProcess(directory / "1", settings, kind=kind)
    try:
        yield node.start()
        assert node.is_running, "the node did not survive:\n" + "".join(node.output[-40:])
    finally:
        node.kill()


@pytest.fixture(scope="session", params=[APACHE_4, APACHE_3], ids=attrgetter("version"))
def beside(request: pytest.FixtureRequest) -> Apache:
    """The Apache Kafka that our node is compared with: each has a node of ours to itself."""
    kind: Apache = request.param
    return kind


@pytest.fixture(scope="session")
def ours(beside: Apache, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    with _running(tmp_path_factory.mktemp("ours"), OURS) as node:
        yield node


@pytest.fixture(scope="session")
def apache(beside: Apache, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    with _running(tmp_path_factory.mktemp("apache"), beside) as node:
        yield node


@pytest.fixture(scope="session")
def brokers(beside: Apache, ours: NodeProcess, apache: NodeProcess) -> Pair:
    """Every version that both offer to clients."""
    return Pair.of(beside.version, *(Side(node.ports[0], node.log_directory) for node in (apache, ours)))


@pytest.fixture(scope="session")
def controllers(beside: Apache, ours: NodeProcess, apache: NodeProcess) -> Pair:
    """The same nodes at the listener of their controllers, without the topics that other scenarios left."""
    for node in (apache, ours):
        delete_topics(node)
    return Pair.of(beside.version, *(Side(node.ports[1], node.log_directory) for node in (apache, ours)))


@pytest.fixture(scope="session")
def newest(beside: Apache, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Nodes of their own at the newest levels of all features, which the other scenarios do not have."""
    with ExitStack() as stack:
        nodes = [
            stack.enter_context(_running(tmp_path_factory.mktemp("newest"), kind, NEWEST_SETTINGS))
            for kind in (beside, OURS)
        ]
        for node in nodes:
            upgrade(node)
        sides = [Side(node.ports[0], node.log_directory) for node in nodes]
        yield Pair.of(beside.version, *sides)


def upgrade(node: NodeProcess) -> None:
    line = Line(node.ports[0])
    updates = [{"feature": name, "maxVersionLevel": level, "upgradeType": 1} for name, level in NEWEST_FEATURES.items()]
    try:
        line.send(ApiKey.UPDATE_FEATURES, 1, {"featureUpdates": updates, "timeoutMs": 9000})
        answer = line.receive(ApiKey.UPDATE_FEATURES, 1)
        assert not isinstance(answer, str), answer
        assert not answer["errorCode"], answer
    finally:
        line.close()


def delete_topics(node: NodeProcess) -> None:
    line = Line(node.ports[0])
    try:
        line.send(ApiKey.METADATA, 9, {"topics": None})
        known = line.receive(ApiKey.METADATA, 9)
        assert not isinstance(known, str), known
        line.send(
            ApiKey.DELETE_TOPICS, 4, {"topicNames": [each["name"] for each in known["topics"]], "timeoutMs": 9000}
        )
        assert not isinstance(line.receive(ApiKey.DELETE_TOPICS, 4), str)
    finally:
        line.close()


@pytest.fixture(scope="module")
def voters(beside: Apache, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Voter 1 of three, twice; the test plays the other voters, which know pre-votes if Apache does (KIP-996).

    They end with the module, because Apache's voter asks the others for a leader without a pause.
    """
    with ExitStack() as stack:
        newest_vote = 1 if beside is APACHE_3 else 2
        sides = [
            stack.enter_context(_voter(tmp_path_factory.mktemp("voter"), kind, newest_vote)) for kind in (beside, OURS)
        ]
        yield Pair.of(beside.version, *sides)


@contextmanager
def _voter(directory: Path, kind: Kind, newest_vote: int) -> Iterator[Side]:
    """A voter without a leader is not ready, but answers at its listener."""
    with ExitStack() as stack:
        others = {each: stack.enter_context(fake_voter(each, free_ports(1)[0], newest_vote)) for each in OTHER_VOTERS}
        node = NodeProcess(directory / "1", kind=kind)
        port = node.ports[1]
        addresses = {1: port, **{each: fake.port for each, fake in others.items()}}
        node.settings = {
            **VOTER_SETTINGS,
            "listeners": f"CONTROLLER://127.0.0.1:{port}",
            "controller.quorum.voters": ",".join(f"{each}@127.0.0.1:{at}" for each, at in addresses.items()),
        }
        stack.callback(node.kill)
        node.launch()
        eventually(lambda: answers(port) or not node.is_running, kind.ready_timeout_s)
        yield Side(port, node.log_directory, others)
        assert node.is_running, "the voter did not survive:\n" + "".join(node.output[-40:])
