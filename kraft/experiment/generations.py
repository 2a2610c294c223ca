"""The failover of a controller with ZooKeeper and with KRaft, while the number of partitions grows.

The active controller is killed by ``kill -9``. The time until another one is elected depends on timeouts. The time from
then on is the takeover: the new controller loads the metadata (in the ZooKeeper era, from ZooKeeper) and informs the
brokers. It ends with the first topic that a client can create.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import attrs

from kraft.experiment.controllers import STUBS, Controllers, legacy_controllers, quorum_controllers
from kraft.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kraft.messages.create_topics_response import CreateTopicsResponse
from kraft.rpc.client import Connection
from kraft.story.experiments.generations import (
    QUORUM,
    ZOOKEEPER,
    ControllerLoss,
    GenerationCell,
)
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.clock import Clock

TOPIC_PARTITIONS = 1000
CREATE_TIMEOUT_MS = 300_000
START: dict[str, Callable[[Path, Path, str], AbstractAsyncContextManager[Controllers]]] = {
    ZOOKEEPER: legacy_controllers,
    QUORUM: quorum_controllers,
}


@attrs.frozen
class GenerationsPlan:
    """The sizes of the experiment. ``combinations`` are pairs of software and mode."""

    directory: Path
    jars: Path
    combinations: Sequence[tuple[str, str]]
    partitions: Sequence[int] = (1000, 10_000, 100_000)
    losses: int = 3


async def run(plan: GenerationsPlan, say: Callable[[str], None], keep: Callable[[GenerationCell], None]) -> None:
    """Measure all cells, and call ``keep`` with each. A cluster grows from one number of partitions to the next.

    Raises:
        CannotStart: a process did not become ready.
        trio.TooSlowError: no controller became active in time.
    """
    for software, mode in plan.combinations:
        directory = plan.directory / f"{software.split()[0].lower()}-{mode.lower()}"
        say(f"{software}, {mode}: starting")
        names = (f"topic-{number}" for number in itertools.count())
        existing = 0
        async with START[mode](directory, plan.jars, software) as controllers:
            for count in sorted(plan.partitions):
                await _grow(controllers, names, count - existing)
                existing = count
                losses = [await _lose(controllers, names) for _ in range(plan.losses)]
                cell = GenerationCell(software, mode, count, losses)
                keep(cell)
                say(f"{software}, {mode}: {count:,} partitions, takeover {cell.takeover.p50:,.0f} ms")


async def _grow(controllers: Controllers, names: Iterator[str], count: int) -> None:
    """Create topics with ``count`` partitions together."""
    while count > 0:
        size = min(count, TOPIC_PARTITIONS)
        name = next(names)
        await controllers.on_active(partial(_create, name=name, partitions=size))
        count -= size


async def _create(connection: Connection, name: str, partitions: int) -> None:
    """Create a topic on the stub brokers. Raises KafkaError; a topic that exists is no error."""
    assignments = [CreatableReplicaAssignment(number, [STUBS[number % len(STUBS)]]) for number in range(partitions)]
    request = CreateTopicsRequest(topics=[CreatableTopic(name, -1, -1, assignments)], timeout_ms=CREATE_TIMEOUT_MS)
    response = await connection.request(request)
    assert isinstance(response, CreateTopicsResponse)
    code = response.topics[0].error_code
    if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        raise KafkaError(ErrorCode(code), response.topics[0].error_message)


async def _lose(controllers: Controllers, names: Iterator[str]) -> ControllerLoss:
    """Kill the active controller, wait until another one creates a topic, and start the first one again."""
    clock = Clock()
    lost, _ = await controllers.active()
    killed_ms = clock.now_s() * 1000
    await controllers.nodes[lost].kill()
    _, elected_ms = await controllers.active(other_than=lost)
    name = next(names)
    await controllers.on_active(partial(_create, name=name, partitions=1))
    usable_ms = clock.now_s() * 1000
    await controllers.nodes[lost].start()
    return ControllerLoss(killed_ms, elected_ms, usable_ms)
