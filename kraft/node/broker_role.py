"""The parts of a node that a broker runs alike with a metadata quorum and with ZooKeeper."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

import trio

from kraft.api.context import BrokerContext
from kraft.broker.replication_quota import ReplicationQuota
from kraft.config.broker import NodeConfig
from kraft.config.listeners import Endpoint, advertise
from kraft.config.throttle_settings import FOLLOWER_RATE, MOVE_RATE
from kraft.control.controller_channel import ControllerChannel
from kraft.metrics import Registry
from kraft.replication.compaction import Compaction
from kraft.replication.fetchers import Fetchers
from kraft.replication.isr import InSyncReplicas
from kraft.replication.maintenance import Maintenance
from kraft.replication.replicas import Replicas
from kraft.replication.throttle import Throttle
from kraft.rpc.client import BESIDE_RECORDS_BYTES, MAX_RESPONSE_BYTES, connect
from kraft.world.world import World


def start_broker(tasks: trio.Nursery, broker: BrokerContext) -> None:
    """Start the tasks that serve clients' requests."""
    tasks.start_soon(broker.lazy_coordinators.run, name="coordinators")
    tasks.start_soon(broker.producer_ids.run, name="producer ids")
    tasks.start_soon(broker.auto_topics.run, name="auto topic creation")
    tasks.start_soon(broker.moves.run, name="moves between directories")


def start_replication(
    tasks: trio.Nursery,
    config: NodeConfig,
    world: World,
    replicas: Replicas,
    channel: ControllerChannel,
    registry: Registry,
    stopping: trio.Event,
) -> None:
    """Start the tasks that follow leaders, propose ISR changes, and look after the logs."""
    throttle = replication_throttle(config, replicas, FOLLOWER_RATE)
    # A follower must be able to fetch any batch that its leader took from a producer.
    largest = max(MAX_RESPONSE_BYTES, config.network.socket_request_max_bytes + BESIDE_RECORDS_BYTES)
    connect_to_leader = partial(connect, dial=world.dial, max_response_bytes=largest)
    fetchers = Fetchers(config, replicas, world.clock, connect_to_leader, throttle)
    tasks.start_soon(fetchers.run, name="fetchers")
    tasks.start_soon(InSyncReplicas(replicas, world.clock, channel, registry).run, name="in-sync replicas")
    tasks.start_soon(Maintenance(config, world, replicas).run, name="maintenance")
    if config.logs.log_cleaner_enable:
        tasks.start_soon(Compaction(config, world, replicas, stopping).run, name="compaction")


def replication_throttle(config: NodeConfig, replicas: Replicas, setting: str) -> Throttle:
    """Return the throttle with the rate ``setting``, and the windows that are configured for it."""
    its = config.replication
    if setting == MOVE_RATE:
        number, size_s = (
            its.alter_log_dirs_replication_quota_window_num,
            its.alter_log_dirs_replication_quota_window_size_seconds,
        )
    else:
        number, size_s = its.replication_quota_window_num, its.replication_quota_window_size_seconds
    return Throttle(setting, replicas, ReplicationQuota(number, size_s))


async def unless(stopping: trio.Event, begin: Callable[[], Awaitable[None]]) -> bool:
    """Run ``begin``, which may wait for other processes; return False if the node was stopped before it was done."""
    done = False
    async with trio.open_nursery() as nursery:

        async def give_up() -> None:
            await stopping.wait()
            nursery.cancel_scope.cancel(reason="the node stops")

        nursery.start_soon(give_up)
        await begin()
        done = True
        nursery.cancel_scope.cancel(reason="it was done")
    return done


def reachable(endpoints: Iterable[Endpoint], bound: Mapping[str, Endpoint]) -> tuple[Endpoint, ...]:
    """Return the endpoints under which other nodes reach this one, with the bound ports."""
    return advertise(endpoints, socket.gethostname(), {name: endpoint.port for name, endpoint in bound.items()})
