"""The requests that only the active controller serves, over its listener; and the responses of the other controllers
(KIP-631).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import pytest
import trio

from kraft.api.controller_requests import MAX_ENTRIES
from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.control.controller import Controller
from kraft.controller.context import Context, Decision
from kraft.controller.core import HANDLERS, HANDLERS_IN_STEPS
from kraft.controller.create_topics import create_topics
from kraft.messages.allocate_producer_ids_request import AllocateProducerIdsRequest
from kraft.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from kraft.messages.broker_registration_request import BrokerRegistrationRequest, Feature, Listener
from kraft.messages.controller_registration_request import ControllerRegistrationRequest
from kraft.messages.controller_registration_request import Feature as ControllerFeature
from kraft.messages.controller_registration_request import Listener as ControllerListener
from kraft.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from kraft.messages.registry import ApiKey, request_class
from kraft.messages.unregister_broker_request import UnregisterBrokerRequest
from kraft.messages.vote_request import VoteRequest
from kraft.metadata.steps import Steps
from kraft.rpc.client import connect
from kraft.wire.errors import ErrorCode
from kraft.wire.schema import Message
from tests.api.serving import Serving
from tests.support.cluster_id import CLUSTER_ID

OFFERED_HERE = OFFERED[ListenerType.CONTROLLER]
ALL = {*HANDLERS, *HANDLERS_IN_STEPS}
#: More than the plane has handlers.
CLIENTS = 20
DECIDED = [ApiKey(key) for key in OFFERED_HERE if request_class(key) in ALL]


def error_codes(answer: Any) -> Iterator[int]:
    """Every error code in an answer, however deep."""
    for field in answer.FIELDS:
        value = getattr(answer, field.name)
        if field.name == "error_code":
            yield value
        elif field.struct is not None and value is not None:
            for each in value if field.is_array else (value,):
                yield from error_codes(each)


def test_every_request_for_a_controller_is_offered() -> None:
    assert {request_class(key) for key in DECIDED} == ALL


#: Requests whose refusal is in their parts: with no part there would be none.
WITH_A_PART: dict[ApiKey, Message] = {
    ApiKey.CREATE_TOPICS: CreateTopicsRequest(
        topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)]
    ),
    ApiKey.ELECT_LEADERS: ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0])]),
}


async def test_a_standby_controller_answers_not_controller(standby: Serving) -> None:
    """KIP-631: NOT_CONTROLLER, in whatever form the API has for it."""
    for key in DECIDED:
        message = WITH_A_PART.get(key, request_class(key)())
        oldest, newest = OFFERED_HERE[key]
        for version in range(oldest, newest + 1):
            answer = await standby.ask(message, version)
            assert set(error_codes(answer)) - {0} <= {ErrorCode.NOT_CONTROLLER}, (key, version)
            has_a_part = key in WITH_A_PART or "error_code" in {field.name for field in answer.FIELDS}
            assert not has_a_part or ErrorCode.NOT_CONTROLLER in error_codes(answer), (key, version)


async def register(served: Serving, broker_id: int = 5, directories: Sequence[UUID] = (UUID(int=5000),)) -> int:
    """The epoch of a broker that has just registered."""
    registration = BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=UUID(int=500),
        listeners=[Listener("PLAINTEXT", "broker5", 9092, 0)],
        features=[Feature("metadata.version", 7, 21)],
        log_dirs=list(directories),
    )
    answer = await served.ask(registration, 4)
    assert answer.error_code == 0
    epoch: int = answer.broker_epoch
    return epoch


MANY_IDS = [UUID(int=1_000 + number) for number in range(MAX_ENTRIES + 1)]


@pytest.mark.parametrize(
    ("message", "version"),
    [
        (BrokerRegistrationRequest(cluster_id=CLUSTER_ID, log_dirs=MANY_IDS), 4),
        (BrokerRegistrationRequest(listeners=[Listener("A", "host", 9092, 0)] * len(MANY_IDS)), 4),
        (BrokerRegistrationRequest(features=[Feature("a", 1, 1)] * len(MANY_IDS)), 4),
        (BrokerHeartbeatRequest(offline_log_dirs=MANY_IDS), 1),
        (ControllerRegistrationRequest(listeners=[ControllerListener("A", "host", 9092, 0)] * len(MANY_IDS)), 0),
        (ControllerRegistrationRequest(features=[ControllerFeature("a", 1, 1)] * len(MANY_IDS)), 0),
    ],
)
async def test_a_node_has_no_thousand_directories(active: Serving, message: Message, version: int) -> None:
    """The controller decides such a request in one step, which took 112 ms for 99,000 directories."""
    assert (await active.ask(message, version)).error_code == ErrorCode.INVALID_REQUEST


async def test_a_broker_registers_with_as_many_directories_as_it_may_have(active: Serving) -> None:
    assert await register(active, directories=MANY_IDS[:MAX_ENTRIES]) >= 0


async def test_the_life_of_a_broker_over_the_wire(active: Serving) -> None:
    """KIP-631: registered, fenced until it has caught up, then unfenced; and in the end unregistered."""
    epoch = await register(active)
    heartbeat = BrokerHeartbeatRequest(broker_id=5, broker_epoch=epoch, current_metadata_offset=0, want_fence=False)
    assert (await active.ask(heartbeat, 1)).is_fenced
    heartbeat.current_metadata_offset = epoch
    assert not (await active.ask(heartbeat, 0)).is_fenced
    topics = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
    [created] = (await active.ask(topics)).topics
    assert created.error_code == 0
    block = await active.ask(AllocateProducerIdsRequest(broker_id=5, broker_epoch=epoch))
    assert (block.error_code, block.producer_id_len) == (0, 1000)
    election = ElectLeadersRequest(topic_partitions=[TopicPartitions("t", [0])])
    [result] = (await active.ask(election)).replica_election_results[0].partition_result
    assert result.error_code == ErrorCode.ELECTION_NOT_NEEDED
    assert (await active.ask(UnregisterBrokerRequest(5))).error_code == 0
    assert (await active.ask(heartbeat)).error_code, "it is not registered any more"


async def test_a_standby_names_the_active_controller(active: Serving, standby: Serving) -> None:
    """KIP-919: DescribeCluster at a controller's listener."""
    asked = DescribeClusterRequest(endpoint_type=2)
    assert (await active.ask(asked)).controller_id == 1
    assert (await standby.ask(asked)).controller_id == -1
    brokers = await active.ask(DescribeClusterRequest(endpoint_type=1))
    assert brokers.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


async def test_a_controller_describes_its_own_settings(standby: Serving) -> None:
    """KIP-919: tools may send requests to a controller directly."""
    asked = DescribeConfigsRequest(resources=[DescribeConfigsResource(4, "1", ["node.id"])])
    [result] = (await standby.ask(asked)).results
    assert [(each.name, each.value) for each in result.configs] == [("node.id", "1")]


async def test_requests_in_wait_for_a_decision_occupy_no_handler(
    active: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A controller's handlers serve the quorum, too: its Fetch and Vote go on during a large decision."""
    may_end, answered, came = False, 0, 0
    all_came = trio.Event()

    def decide(context: Context, request: CreateTopicsRequest) -> Steps[Decision]:
        while not may_end:
            yield 1_000_000
        return (yield from create_topics(context, request))

    async def request(controller: Controller, message: Any, version: int | None = None) -> Any:
        nonlocal came
        came += 1
        if came == CLIENTS:
            all_came.set()
        return await decided(controller, message, version)

    async def client() -> None:
        nonlocal answered
        async with connect("127.0.0.1", active.port, client_id="test") as connection:
            await connection.request(CreateTopicsRequest(topics=[CreatableTopic("t", 1, 1)]))
        answered += 1

    decided = Controller.request
    monkeypatch.setattr(Controller, "request", request)
    monkeypatch.setitem(HANDLERS_IN_STEPS, CreateTopicsRequest, decide)
    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            for _ in range(CLIENTS):
                nursery.start_soon(client)
            await all_came.wait()
            await active.ask(VoteRequest(cluster_id=CLUSTER_ID))
            assert answered == 0
            may_end = True
    assert answered == CLIENTS
