"""A controller request behind produce requests, and on a control plane of its own (KIP-291), in virtual time.

600 producers keep the data plane busy: 500 of their requests fill its queue, and 8 handlers work. The controller sends
a LeaderAndIsr, first to the same plane, then to a dedicated one. The planes are those of a broker; the handlers sleep.
"""

from __future__ import annotations

from functools import partial

import trio

from kraft.config.listeners import Endpoint
from kraft.messages.leader_and_isr_request import LeaderAndIsrRequest
from kraft.messages.leader_and_isr_response import LeaderAndIsrResponse
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.produce_response import ProduceResponse
from kraft.messages.registry import ApiKey
from kraft.metrics import Registry
from kraft.rpc.channel import CLOSE, Reply, Request
from kraft.rpc.client import Connection
from kraft.rpc.plane import Plane, control_plane
from kraft.rpc.quotas import ConnectionLimits, ConnectionQuotas
from kraft.rpc.server import Service, serve
from kraft.rpc.trace import RequestCompleted
from kraft.simulation import virtual_time
from kraft.simulation.virtual_network import VirtualNetwork
from kraft.world.trace import Trace

PRODUCERS = 600
PRODUCE_S = 0.010
PRODUCE = ProduceRequest(
    acks=1, topic_data=[TopicProduceData(name="orders", partition_data=[PartitionProduceData(n) for n in range(20)])]
)
VERSIONS = {ApiKey.PRODUCE: 9, ApiKey.LEADER_AND_ISR: 7}


async def handle(request: Request) -> Reply:
    if request.api_key == ApiKey.PRODUCE:
        await trio.sleep(PRODUCE_S)
        return ProduceResponse()
    return LeaderAndIsrResponse()


def report(name: str, event: RequestCompleted) -> None:
    if event.head.api_key == ApiKey.LEADER_AND_ISR:
        waited = f"waited {event.queue_s * 1000:.0f} ms for a handler of the {event.head.plane} plane"
        print(f"{name}: LeaderAndIsr {waited}")


async def produce(connection: Connection) -> None:
    while True:
        await connection.request(PRODUCE, VERSIONS[ApiKey.PRODUCE])


async def experiment(name: str, planes: list[Plane]) -> None:
    """Saturate the first of the planes, and send LeaderAndIsr to the last one."""
    network, trace = VirtualNetwork(seed=1), Trace()
    trace.subscribe(RequestCompleted, partial(report, name))
    service = Service(
        handle=handle,
        apis={key: (version, version) for key, version in VERSIONS.items()},
        error_response=lambda request, error: CLOSE,
        quotas=ConnectionQuotas(ConnectionLimits(), trio.current_time),
        registry=Registry(trio.current_time),
        listen=network.listen("broker"),
        trace=trace,
    )
    async with trio.open_nursery() as nursery:
        ports: list[int] = []
        for plane in planes:
            bound = await nursery.start(serve, plane, service, trio.Event())
            ports += [endpoint.port for endpoint in bound.values()]
        dial = network.dial("client")
        for _ in range(PRODUCERS):
            nursery.start_soon(produce, Connection(await dial("broker", ports[0]), "producer", timeout_s=60))
        await trio.sleep(1)
        queued = service.registry.get("kafka.network:type=RequestChannel,name=RequestQueueSize")
        print(f"{name}: {queued.value} requests wait in the queue of the data plane")
        controller = Connection(await dial("broker", ports[-1]), "controller", timeout_s=60)
        await controller.request(LeaderAndIsrRequest(), VERSIONS[ApiKey.LEADER_AND_ISR])
        nursery.cancel_scope.cancel()


async def main() -> None:
    data = Plane("data", (Endpoint("CLIENTS", "PLAINTEXT", "broker", 0),))
    control = control_plane((Endpoint("CONTROLLER", "PLAINTEXT", "broker", 0),))
    await experiment("shared plane", [data])
    await experiment("control plane", [data, control])


virtual_time.run(main)
