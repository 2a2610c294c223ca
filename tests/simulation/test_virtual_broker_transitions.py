"""A broker of many partitions is lost: its controllers must not lose their leader over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import trio
import trio.testing

from kraft.config.features import SUPPORTED_FEATURES
from kraft.controller.core import ControllerCore
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from kraft.messages.create_topics_request import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kraft.metadata.steps import Steps
from kraft.simulation.virtual_cluster import CLUSTER_ID
from tests.simulation.test_virtual import Controllers, controllers, seeds, virtually

PARTITIONS = 9_000
TOPICS = 9
SESSION_MS = 6_000
FETCH_TIMEOUT_S = 1.0
RECORD_S = 170e-6
"""The time of the active controller for one record here: all partitions together take longer than the fetch timeout."""
assert PARTITIONS * RECORD_S > 1.5 * FETCH_TIMEOUT_S

BROKERS = (11, 12)


async def register(cluster: Controllers, broker_id: int) -> None:
    controller = cluster.controller(await cluster.leader())
    request = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=UUID(int=broker_id),
        listeners=[Listener("PLAINTEXT", "broker", 9092, 0)],
        features=[Feature(name, low, high) for name, (low, high) in SUPPORTED_FEATURES.items()],
        log_dirs=[UUID(int=1000 + broker_id)],
    )
    epoch = (await controller.request(request)).broker_epoch
    await beat(cluster, broker_id, epoch)


async def beat(cluster: Controllers, broker_id: int, epoch: int) -> None:
    request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=epoch)
    assert not (await cluster.controller(await cluster.leader()).request(request)).is_fenced


async def create(cluster: Controllers, name: str) -> None:
    assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=list(BROKERS))
        for index in range(PARTITIONS // TOPICS)
    ]
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)
    response = await cluster.controller(await cluster.leader()).request(CreateTopicsRequest(topics=[topic]))
    assert response.topics[0].error_code == 0


def replay_in_time(core: ControllerCore, records: Sequence[Any], *where: Any) -> Steps[None]:
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, trio.testing.MockClock)
    clock.jump(len(records) * RECORD_S)
    return replay_in_steps(core, records, *where)


replay_in_steps = ControllerCore.replay_in_steps


@seeds
@virtually
async def test_a_lost_broker_costs_no_leader(tmp_path: Path, seed: int) -> None:
    """controller.quorum.fetch.timeout.ms: a follower without a response for so long starts an election.

    The new leader would give the broker another session, and come to the same end.
    """
    timeouts = {
        "broker_session_timeout_ms": str(SESSION_MS),
        "controller_quorum_fetch_timeout_ms": str(int(FETCH_TIMEOUT_S * 1000)),
    }
    async with controllers(tmp_path, seed=seed, **timeouts) as cluster:
        for broker_id in BROKERS:
            await register(cluster, broker_id)
        for number in range(TOPICS):
            await create(cluster, f"t{number}")
        leader = await cluster.leader()
        metadata = cluster.alive()[leader].parts.metadata
        epoch = cluster.quorum(leader).epoch
        with patch.object(ControllerCore, "replay_in_steps", replay_in_time), trio.fail_after(10 * SESSION_MS / 1000):
            while not metadata.image.brokers[BROKERS[0]].fenced:
                await beat(cluster, BROKERS[1], metadata.image.brokers[BROKERS[1]].epoch)
                await trio.sleep(1)
        assert (await cluster.leader(), cluster.quorum(leader).epoch) == (leader, epoch)
        assert {partition.leader for _, _, partition in metadata.image.partitions()} == {BROKERS[1]}
