"""Whole controllers in virtual time: the real nursery tree, on a network in memory (simulation, second tier)."""

from __future__ import annotations

import itertools
import random
import shutil
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import attrs
import pytest
import trio

from kraft.control.controller import Controller
from kraft.control.trace import ControllerActivated, ControllerDeactivated
from kraft.messages.config_record import ConfigRecord
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.messages.vote_request import PartitionData, TopicData, VoteRequest
from kraft.messages.vote_response import VoteResponse
from kraft.metadata.image import ResourceType
from kraft.metadata.steps import finished
from kraft.node.node import Node
from kraft.quorum.driver import Quorum
from kraft.quorum.journal import FILE_NAME
from kraft.quorum.log import MetadataLog
from kraft.quorum.trace import CoreStepped, RoleBegan
from kraft.raft.state import Follower, Leader, Prospective
from kraft.rpc.client import connect
from kraft.simulation import virtual_time
from kraft.simulation.virtual_cluster import PORT, VirtualNode, virtual_nodes
from kraft.simulation.virtual_network import VirtualNetwork
from kraft.storage.log import Log
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.internal_topics import CLUSTER_METADATA_PARTITION
from tests.support.covered import first_covered

#: An election takes at most two timeouts of a second; a lost one, and a leader that fell silent, add to that.
ELECTION_S = 20.0
#: The wall clock of virtual nodes at the start of virtual time.
BEGINNING_S = 1_700_000_000


@attrs.frozen
class Controllers:
    """Controllers that run, by node id."""

    nodes: dict[int, VirtualNode]
    network: VirtualNetwork
    nursery: trio.Nursery

    async def start(self, node_id: int) -> None:
        await self.nursery.start(self.nodes[node_id].run, name=self.nodes[node_id].host)

    def alive(self, but: int = 0) -> dict[int, Node]:
        """Those that run, ``but`` one."""
        return {key: each.node for key, each in self.nodes.items() if each.node is not None and key != but}

    def quorum(self, node_id: int) -> Quorum:
        return self.alive()[node_id].parts.quorum

    def controller(self, node_id: int) -> Controller:
        controller = self.alive()[node_id].parts.controller
        assert controller is not None
        return controller

    async def leader(self, but: int = 0) -> int:
        """Wait until all of the living, ``but`` one, follow the same leader, and that is active."""
        with trio.fail_after(ELECTION_S):
            while True:
                known = {(node.parts.quorum.leader_id, node.parts.quorum.epoch) for node in self.alive(but).values()}
                leader, _ = known.pop()
                if not known and leader in self.alive(but) and self.controller(leader).is_active:
                    return leader
                await trio.sleep(0.01)

    def isolate(self, node_id: int) -> None:
        """Cut every link of a node."""
        host = self.nodes[node_id].host
        self.network.isolate(host, [node.host for node in self.nodes.values() if node.host != host])

    async def set(self, number: int, but: int = 0) -> None:
        """Have the leader commit a change of the metadata."""
        resource = AlterConfigsResource(ResourceType.BROKER, "", [AlterableConfig("log.retention.ms", 0, str(number))])
        await self.controller(await self.leader(but)).request(IncrementalAlterConfigsRequest(resources=[resource]))

    async def agree(self) -> bytes:
        """Wait until all have committed the same; return the bytes of the logs, which are equal."""
        leader = self.quorum(await self.leader())
        with trio.fail_after(ELECTION_S):
            for node in self.alive().values():
                await node.parts.metadata.replayed(leader.end_offset)
        logs = {node.parts.quorum.log.read(leader.start_offset, 2**30)[0] for node in self.alive().values()}
        assert len(logs) == 1, "LogMatching: two logs are equal up to the lower of their high watermarks"
        return logs.pop()


@asynccontextmanager
async def controllers(directory: Path, count: int = 3, seed: int = 1, **settings: str) -> AsyncIterator[Controllers]:
    network = VirtualNetwork(seed)
    quiet = {"metadata.max.idle.interval.ms": "0"}
    given = {key.replace("_", "."): value for key, value in settings.items()}
    async with trio.open_nursery() as nursery:
        cluster = Controllers(virtual_nodes(directory, count, network, quiet | given), network, nursery)
        for node_id in cluster.nodes:
            await cluster.start(node_id)
        yield cluster
        nursery.cancel_scope.cancel()


def virtually(test: Callable[[Path, int], Awaitable[None]]) -> Callable[[Path, int], None]:
    """Run a test in virtual time; the seed is that of the scheduler, the network and every random choice."""

    def run(tmp_path: Path, seed: int) -> None:
        virtual_time.run(test, tmp_path, seed, seed=seed)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


seeds = pytest.mark.parametrize("seed", first_covered(range(3)))


def noted(owner: type, method: str) -> Any:
    """Inside of the block, record all calls of a method."""
    return patch.object(owner, method, autospec=True, side_effect=getattr(owner, method))


async def takeover(cluster: Controllers) -> tuple[int, float]:
    """Wait for an active controller; return it, and how long after it came to lead the quorum it became active."""
    led_since: dict[int, float] = {}
    with trio.fail_after(ELECTION_S):
        while True:
            for node_id in cluster.alive():
                if cluster.quorum(node_id).is_leader:
                    led_since.setdefault(node_id, trio.current_time())
                if cluster.controller(node_id).is_active:
                    return node_id, trio.current_time() - led_since[node_id]
            await trio.sleep(0.001)


@pytest.mark.parametrize("seed", first_covered(range(10)))
@virtually
async def test_the_next_leader_takes_over_from_memory(tmp_path: Path, seed: int) -> None:
    """KIP-631: the other controllers follow the log, so that one of them can take over at once."""
    async with controllers(tmp_path, seed=seed, metadata_log_max_record_bytes_between_snapshots="500") as cluster:
        for number in range(10):
            await cluster.set(number)
        await cluster.agree()
        first = await cluster.leader()
        assert all(cluster.quorum(node_id).log.snapshot for node_id in cluster.nodes)
        await cluster.nodes[first].kill()
        with noted(Log, "read") as reads, noted(MetadataLog, "load_snapshot") as loads:
            second, waited_s = await takeover(cluster)
        assert second != first
        assert waited_s < 0.1, "a flush and a fetch: its first record is committed"
        from_disk = {call.args[0].directory for call in reads.call_args_list + loads.call_args_list}
        assert cluster.quorum(second).log.directory not in from_disk
        await cluster.set(11)
        await cluster.start(first)
        await cluster.set(12)
        await cluster.agree()
        configs = [node.parts.metadata.image.config(ResourceType.BROKER, "") for node in cluster.alive().values()]
        assert configs == [{"log.retention.ms": "12"}] * 3


@seeds
@virtually
async def test_a_controlled_stop_needs_no_timeout(tmp_path: Path, seed: int) -> None:
    """KIP-595: EndQuorumEpoch lets the preferred successor stand at once."""
    async with controllers(tmp_path, seed=seed) as cluster:
        first = await cluster.leader()
        stopped_at = trio.current_time()
        await cluster.nodes[first].stop()
        await cluster.leader()
        assert trio.current_time() - stopped_at < 1.0, "controller.quorum.fetch.timeout.ms is 2000"


@seeds
@virtually
async def test_a_controlled_stop_does_not_wait_for_the_dead(tmp_path: Path, seed: int) -> None:
    async with controllers(tmp_path, seed=seed) as cluster:
        first = await cluster.leader()
        await cluster.nodes[min(cluster.nodes.keys() - {first})].kill()
        await trio.sleep(ELECTION_S)
        stopped_at = trio.current_time()
        await cluster.nodes[first].stop()
        assert trio.current_time() - stopped_at < 1.0


@seeds
@virtually
async def test_a_leader_paused_for_the_fetch_timeout_keeps_its_epoch_if_no_other_voter_can_win(
    tmp_path: Path, seed: int
) -> None:
    """One voter is down: the follower needs the leader whose fetch timeout expired, and follows it again at once
    (KIP-996).
    """
    async with controllers(tmp_path, seed=seed) as cluster:
        first = await cluster.leader()
        dead, follower = sorted(cluster.nodes.keys() - {first})
        await cluster.nodes[dead].kill()
        epoch = cluster.quorum(first).epoch
        cluster.nodes[first].pause()
        await trio.sleep(2.2)
        assert isinstance(cluster.quorum(follower).state, Prospective), "controller.quorum.fetch.timeout.ms is 2000"
        cluster.nodes[first].resume()
        await trio.sleep(0.1)
        assert isinstance(cluster.quorum(follower).state, Follower)
        await cluster.set(1)
        assert cluster.quorum(first).epoch == epoch


@seeds
@virtually
async def test_a_leader_with_a_slow_disk_commits_the_records_of_the_others(tmp_path: Path, seed: int) -> None:
    """KIP-595: a majority of the voters commits. The leader need not be in it, and answers Fetches during its fsync."""
    async with controllers(tmp_path, seed=seed) as cluster:
        first = await cluster.leader()
        cluster.nodes[first].disk_s = 10.0
        with trio.fail_after(1.0):
            await cluster.set(1)
        cluster.nodes[first].disk_s = 0.001


@seeds
@virtually
async def test_one_frame_does_not_use_up_the_epochs(tmp_path: Path, seed: int) -> None:
    """Epochs are int32. Any peer of the listener may send one, without a password."""
    async with controllers(tmp_path, seed=seed) as cluster:
        leader = await cluster.leader()
        before = cluster.quorum(leader).epoch
        candidate = min(cluster.nodes.keys() - {leader})
        for node, epoch in itertools.product(cluster.nodes.values(), (2**30, 2**31 - 2, 2**31 - 1)):
            vote = VoteRequest(topics=[TopicData("__cluster_metadata", [PartitionData(0, epoch, candidate)])])
            async with connect(node.host, PORT, dial=cluster.network.dial("anybody")) as connection:
                response = await connection.request(vote, 0)
            assert isinstance(response, VoteResponse)
            assert response.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
        await trio.sleep(ELECTION_S)
        await cluster.set(1)
        assert cluster.quorum(leader).epoch == before


def values_in(log: MetadataLog, offset: int) -> list[str | None]:
    """The values of the configuration that are in a log from ``offset`` on."""
    records = [record for batch in finished(log.batches(offset, log.end_offset)) for record in batch.records]
    return [record.value for record in records if isinstance(record, ConfigRecord)]


@seeds
@virtually
async def test_an_isolated_leader_steps_down_and_its_uncommitted_records_are_truncated(
    tmp_path: Path, seed: int
) -> None:
    """KIP-595: a leader that no majority fetches from resigns; in the new epoch its log is truncated."""
    async with controllers(tmp_path, seed=seed) as cluster:
        await cluster.set(1)
        await cluster.agree()
        old = await cluster.leader()
        log = cluster.quorum(old).log
        committed = log.end_offset
        cluster.isolate(old)
        lost = AlterConfigsResource(ResourceType.BROKER, "", [AlterableConfig("log.retention.ms", 0, "9")])
        with pytest.raises(KafkaError, match="NOT_CONTROLLER"), trio.fail_after(ELECTION_S):
            await cluster.controller(old).request(IncrementalAlterConfigsRequest(resources=[lost]))
        assert not isinstance(cluster.quorum(old).state, Leader)
        assert values_in(log, committed) == ["9"]
        await cluster.set(2, but=old)
        cluster.network.heal()
        await cluster.agree()
        assert isinstance(cluster.quorum(old).state, Follower)
        assert values_in(log, committed) == ["2"]
        assert cluster.alive()[old].parts.metadata.image.config(ResourceType.BROKER, "") == {"log.retention.ms": "2"}


@seeds
@virtually
async def test_a_leader_that_stood_still_acknowledges_nothing_of_its_epoch(tmp_path: Path, seed: int) -> None:
    """KIP-595: during its pause the others elected a leader, so no node commits the changes sent to the paused one."""
    async with controllers(tmp_path, seed=seed) as cluster:
        await cluster.set(1)
        old = await cluster.leader()
        epoch = cluster.quorum(old).epoch
        cluster.nodes[old].pause()
        lost = AlterConfigsResource(ResourceType.BROKER, "", [AlterableConfig("log.retention.ms", 0, "9")])
        refused = trio.Event()

        async def ask() -> None:
            with pytest.raises(KafkaError, match="NOT_CONTROLLER"):
                await cluster.controller(old).request(IncrementalAlterConfigsRequest(resources=[lost]))
            refused.set()

        cluster.nursery.start_soon(ask)
        await cluster.set(2, but=old)
        assert (cluster.quorum(old).is_leader, cluster.quorum(old).epoch) == (True, epoch), "it does not know yet"
        assert not refused.is_set()
        cluster.nodes[old].resume()
        with trio.fail_after(ELECTION_S):
            await refused.wait()
        await cluster.agree()
        assert cluster.alive()[old].parts.metadata.image.config(ResourceType.BROKER, "") == {"log.retention.ms": "2"}


@seeds
@virtually
async def test_a_wiped_voter_begins_with_a_snapshot(tmp_path: Path, seed: int) -> None:
    """KIP-630: a replica that is too far behind fetches the leader's snapshot, then the log behind it."""
    settings = {"metadata_log_max_record_bytes_between_snapshots": "2000", "metadata_max_retention_bytes": "1"}
    async with controllers(tmp_path, seed=seed, **settings) as cluster:
        for number in range(100):
            await cluster.set(number)
        leader = await cluster.leader()
        with trio.fail_after(ELECTION_S):
            while not cluster.quorum(leader).start_offset:
                await cluster.set(100)
        wiped = next(key for key in cluster.nodes if key != leader)
        await cluster.nodes[wiped].kill()
        shutil.rmtree(tmp_path / str(wiped) / CLUSTER_METADATA_PARTITION)
        await cluster.start(wiped)
        await cluster.set(101)
        with trio.fail_after(ELECTION_S):
            await cluster.alive()[wiped].parts.metadata.replayed(cluster.quorum(leader).high_watermark)
        assert cluster.alive()[wiped].parts.metadata.snapshots_loaded == 1
        assert cluster.quorum(wiped).start_offset > 0
        config = cluster.alive()[wiped].parts.metadata.image.config(ResourceType.BROKER, "")
        assert config == {"log.retention.ms": "101"}


@seeds
@virtually
async def test_voters_that_load_a_snapshot_are_in_nobodys_way(tmp_path: Path, seed: int) -> None:
    """A voter takes part once it can be reached. One that loads meanwhile would win elections, and not lead."""
    settings = {"metadata_log_max_record_bytes_between_snapshots": "500"}
    loads_s = dict.fromkeys(range(1, 4), 0.0)
    run_in_thread = VirtualNode.in_thread

    async def slowly(node: VirtualNode, work: Callable[..., Any], *arguments: Any) -> Any:
        if work.__name__ == "load_snapshot":
            await trio.sleep(loads_s[node.node_id])
        return await run_in_thread(node, work, *arguments)

    with patch.object(VirtualNode, "in_thread", slowly):
        async with controllers(tmp_path, seed=seed, **settings) as cluster:
            for number in range(20):
                await cluster.set(number)
            await cluster.agree()
            epoch = cluster.quorum(1).epoch
            for node in cluster.nodes.values():
                await node.kill()
            loads_s.update({2: 30.0, 3: 30.0})
            for node in cluster.nodes.values():
                cluster.nursery.start_soon(node.run)
            await trio.sleep(29)
            await cluster.set(20)
            assert cluster.quorum(1).epoch <= epoch + 3, "an election may be lost, but not one after the other"


@pytest.mark.parametrize("seed", [0])
@virtually
async def test_the_journal_distinguishes_a_stop_from_a_kill(tmp_path: Path, seed: int) -> None:
    async with controllers(tmp_path, seed=seed) as cluster:
        await cluster.leader()
        await cluster.nodes[1].kill()
        await cluster.nodes[2].stop()
        last = [(tmp_path / str(node) / FILE_NAME).read_text().splitlines()[-1] for node in (1, 2)]
    assert ['"kind":"stop"' in line for line in last] == [False, True]


@seeds
@virtually
async def test_the_trace_of_a_node_has_its_roles_and_its_active_controller(tmp_path: Path, seed: int) -> None:
    """All events in order, in virtual time, with the effects of each step of the core."""
    async with controllers(tmp_path, seed=seed) as cluster:
        leader = await cluster.leader()
        node, epoch = cluster.alive()[leader], cluster.quorum(leader).epoch
        heard: list[tuple[str, int, bool]] = []
        stepped: list[CoreStepped] = []

        def hear(event: RoleBegan | ControllerActivated | ControllerDeactivated) -> None:
            assert (event.time_s, event.node_id) == (BEGINNING_S + trio.current_time(), leader)
            heard.append((type(event).__name__, event.epoch, cluster.controller(leader).is_active))

        for kind in (RoleBegan, ControllerActivated, ControllerDeactivated):
            node.trace.subscribe(kind, hear)
        node.trace.subscribe(CoreStepped, stepped.append)
        await cluster.nodes[leader].resign()
        await cluster.quorum(leader).change(leader, epoch)
        successor = await cluster.leader()
        assert heard[:2] == [("ControllerDeactivated", epoch, False), ("RoleBegan", epoch, False)]
        assert heard[-1] == ("RoleBegan", cluster.quorum(successor).epoch, False)
        turns = [(each.before, each.after) for told in stepped for each in told.effects.transitions]
        assert turns[0] == ("Leader", "Resigned")


async def _history(directory: Path, seed: int) -> list[tuple[float, str]]:
    """When which node led, over the death of two leaders."""
    history: list[tuple[float, str]] = []
    async with controllers(directory, count=5, seed=seed) as cluster:
        for _ in range(2):
            leader = await cluster.leader()
            history.append((trio.current_time(), f"{leader} leads epoch {cluster.quorum(leader).epoch}"))
            await cluster.nodes[leader].kill()
        leader = await cluster.leader()
        history.append((trio.current_time(), f"{leader} leads epoch {cluster.quorum(leader).epoch}"))
    return history


@pytest.mark.no_cover
def test_the_same_seed_gives_the_same_history(tmp_path: Path) -> None:
    """The canary of ``virtual_time``: what makes a run repeatable is not Trio's public face."""
    first, again, other = [
        virtual_time.run(_history, tmp_path / name, seed, seed=seed) for name, seed in [("a", 1), ("b", 1), ("c", 3)]
    ]
    assert first == again != other


@pytest.mark.no_cover
def test_other_threads_change_nothing(tmp_path: Path) -> None:
    """Trio's scheduler is the same in all of them, and so are its dice."""
    alone = virtual_time.run(_history, tmp_path / "alone", 1, seed=1)
    is_over = threading.Event()

    async def live() -> None:
        while not is_over.is_set():
            async with trio.open_nursery() as nursery:
                for _ in range(5):
                    nursery.start_soon(trio.sleep, 0)

    other = threading.Thread(target=trio.run, args=[live])
    other.start()
    try:
        assert virtual_time.run(_history, tmp_path / "beside", 1, seed=1) == alone
    finally:
        is_over.set()
        other.join()


def test_virtual_time_patches_nothing_but_trio() -> None:
    """A node is given its clock and its randomness; whatever else runs in the process keeps its own."""

    def of_this_process() -> list[object]:
        return [random.random, random.randrange, random.getrandbits, uuid.uuid4, time.time, time.perf_counter]

    async def look() -> list[object]:
        await trio.lowlevel.checkpoint()
        return of_this_process()

    assert virtual_time.run(look) == of_this_process()


async def _clocks(directory: Path, seed: int) -> tuple[int, float]:
    """The wall clock and the metrics' clock of a node that has run for an hour."""
    async with controllers(directory, count=1, seed=seed) as cluster:
        await cluster.leader()
        await trio.sleep_until(3600)
        node = cluster.alive()[1]
        return node.world.clock.now_ms(), node.registry.clock()


def test_the_clocks_of_a_node_are_virtual(tmp_path: Path) -> None:
    """The same run writes the same times, and measures the same durations."""
    wall_ms, seconds = virtual_time.run(_clocks, tmp_path, 1, seed=1)
    assert (wall_ms % 10_000_000_000, seconds) == (3_600_000, 3600.0)
