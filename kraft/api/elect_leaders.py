"""ElectLeaders (key 43): elect the preferred leaders, or leaders outside the ISR for leaderless partitions (KIP-183).

Versions 0 to 2: 1 has unclean elections (KIP-460), 2 is flexible.

With ZooKeeper the controller responds once its own metadata shows the elected leaders. A partition that takes longer
than ``timeout_ms`` gets REQUEST_TIMED_OUT.
"""

from __future__ import annotations

from functools import partial

from kraft.api.context import ZkBrokerContext
from kraft.api.controller_requests import decide
from kraft.api.forwarding import forward
from kraft.api.propagation import check_size, not_shown
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.elect_leaders_request import ElectLeadersRequest
from kraft.messages.elect_leaders_response import ElectLeadersResponse, PartitionResult, ReplicaElectionResult
from kraft.messages.registry import ApiKey
from kraft.metadata.image import Image
from kraft.metadata.partitions import Partition
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

PREFERRED = 0

ROW = Api(
    ApiKey.ELECT_LEADERS,
    versions={ListenerType.BROKER: (0, 2), ListenerType.ZK_BROKER: (0, 2), ListenerType.CONTROLLER: (0, 2)},
    # As ControllerApis.handleElectLeaders asks; the table of Kafka's documentation has CLUSTER_ACTION.
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)

at_broker = forward
at_controller = decide


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: ElectLeadersRequest) -> Reply:
    check_size(sum(len(topic.partitions) for topic in message.topic_partitions or ()))
    return Parked(partial(_elect, broker, request.api_version, message))


async def _elect(broker: ZkBrokerContext, version: int, message: ElectLeadersRequest) -> ElectLeadersResponse:
    response: ElectLeadersResponse = await broker.controller.answer(message, version)
    code = ErrorCode(response.error_code)
    if message.topic_partitions is None and code in (ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR):
        return _of_all(broker.image, code)
    elected = {
        (topic.topic, each.partition_id): each
        for topic in response.replica_election_results
        for each in topic.partition_result
        if each.error_code == ErrorCode.NONE
    }
    is_led = _is_led_as_preferred if message.election_type == PREFERRED else _is_led
    for partition in await not_shown(broker, elected, message.timeout_ms, is_led):
        elected[partition].error_code = ErrorCode.REQUEST_TIMED_OUT
    return response


def _of_all(image: Image, code: ErrorCode) -> ElectLeadersResponse:
    """The response to an election for all partitions: each has the error, because version 0 has no other place."""
    results: dict[str, ReplicaElectionResult] = {}
    for topic, index, _ in image.partitions():
        result = results.setdefault(topic.name, ReplicaElectionResult(topic=topic.name))
        result.partition_result.append(PartitionResult(index, code, code.message))
    return ElectLeadersResponse(replica_election_results=list(results.values()))


def _is_led_as_preferred(image: Image, partition: tuple[str, int]) -> bool:
    state = _state(image, *partition)
    return state is not None and state.has_preferred_leader


def _is_led(image: Image, partition: tuple[str, int]) -> bool:
    state = _state(image, *partition)
    return state is not None and state.leader in image.brokers


def _state(image: Image, name: str, index: int) -> Partition | None:
    topic = image.topic(name)
    return None if topic is None else topic.partitions.get(index)


def error(message: ElectLeadersRequest, version: int, code: ErrorCode, text: str | None = None) -> ElectLeadersResponse:
    """Version 1 and newer have the error at the top too."""
    results = mapped(
        message.topic_partitions or (),
        lambda topic: ReplicaElectionResult(
            topic.topic, mapped(topic.partitions, lambda index: PartitionResult(index, code, text))
        ),
    )
    return ElectLeadersResponse(error_code=code if version >= 1 else 0, replica_election_results=results)
