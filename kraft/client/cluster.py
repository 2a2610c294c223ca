"""Talk to any Kafka cluster: one connection per broker, opened when it is needed.

Each API is asked in a version whose shape the commands share (names instead of topic ids, one group per request), which
every broker since Kafka 2.1 has.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import trio

from kraft.config.listeners import address, parse_host_port
from kraft.config.setting import one_line
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_cluster_response import DescribeClusterResponse
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from kraft.messages.registry import ApiKey
from kraft.rpc.client import Connection, connect
from kraft.wire.errors import ErrorCode, KafkaError

TIMEOUT_S = 30.0
TIMEOUT_MS = 30_000
RETRY_S = 0.1
EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1

_BROKERS, _CONTROLLERS = 1, 2  # endpoint types

#: The newest version that the commands use, where a later one has another shape.
_NEWEST = {
    ApiKey.PRODUCE: 12,
    ApiKey.FETCH: 12,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_FETCH: 7,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.DELETE_TOPICS: 5,
}
_NOT_YET = (
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


def check(code: int, message: str | None = None) -> None:
    """Raise KafkaError for an error code in an answer."""
    if code:
        raise KafkaError(ErrorCode(code), message)


class ClusterUnreachable(Exception):
    """None of the bootstrap servers answered; the text names them and the last reason."""


@asynccontextmanager
async def open_cluster(bootstrap: str) -> AsyncIterator[Cluster]:
    """Connect to the first server of ``bootstrap`` (``host:port,…``) that answers. Close all connections at the end.

    Raises:
        ConfigError: an address is not ``host:port``.
        ClusterUnreachable: no server answered.
    """
    servers = [
        parse_host_port("bootstrap servers", text.strip(), "Value must be host:port") for text in bootstrap.split(",")
    ]
    async with AsyncExitStack() as stack:
        reason: Exception = OSError("no broker given")
        for host, port in servers:
            try:
                first = await stack.enter_async_context(connect(host, port, client_id="kraft-cli", timeout_s=TIMEOUT_S))
            except (OSError, trio.TooSlowError, KafkaError) as error:
                reason = error
            else:
                yield Cluster(stack, first)
                return
        why = getattr(reason, "strerror", None) or str(reason) or "no answer in time"
        raise ClusterUnreachable(f"Cannot connect to {bootstrap}: {one_line(why)}")


class Cluster:
    """The brokers of a cluster. Used by one task."""

    def __init__(self, stack: AsyncExitStack, first: Connection) -> None:
        self._stack = stack
        self._first = first
        self._connections: dict[tuple[str, int], Connection] = {}
        self._addresses: dict[int, tuple[str, int]] = {}
        self._coordinators: dict[str, int] = {}

    async def request(self, message: Any, node_id: int | None = None) -> Any:
        """Ask a broker (any, if ``node_id`` is None). Raises KafkaError, Disconnected, trio.TooSlowError."""
        connection = self._first if node_id is None else await self.connection(node_id)
        return await connection.request(message, version_for(connection, message))

    async def connection(self, node_id: int) -> Connection:
        """Return the connection to a broker of the last metadata, opened if there is none yet."""
        where = self._addresses.get(node_id)
        if where is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not in the cluster's metadata")
        if where not in self._connections:
            try:
                opened = await self._stack.enter_async_context(
                    connect(*where, client_id="kraft-cli", timeout_s=TIMEOUT_S)
                )
            except OSError as error:
                why = f"cannot connect to broker {node_id} at {address(*where)}: {error.strerror or error}"
                raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, why) from None
            self._connections[where] = opened
        return self._connections[where]

    async def metadata(self, topics: Sequence[str] | None, *, create: bool = False) -> MetadataResponse:
        """Describe these topics, or all if None, and remember the brokers. ``create`` asks for missing ones."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        response: MetadataResponse = await self.request(
            MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        )
        self._addresses |= {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        return response

    async def controller_id(self) -> int:
        """Return the broker that takes changes of topics and configurations."""
        return (await self.metadata([])).controller_id

    async def describe(self, *, controllers: bool, include_fenced: bool = False) -> DescribeClusterResponse:
        """Describe brokers, or controllers as only these know them (KIP-919), and remember them."""
        request = DescribeClusterRequest(
            endpoint_type=_CONTROLLERS if controllers else _BROKERS, include_fenced_brokers=include_fenced
        )
        response: DescribeClusterResponse = await self.request(request)
        check(response.error_code, response.error_message)
        self._addresses |= {broker.broker_id: (broker.host, broker.port) for broker in response.brokers}
        return response

    async def brokers(self) -> list[int]:
        """Return the ids of all brokers."""
        return sorted(broker.node_id for broker in (await self.metadata([])).brokers)

    async def topic(self, name: str, *, create: bool = False) -> MetadataResponseTopic:
        """Return a topic all of whose partitions have a leader; waits for a new one. KafkaError if there is none."""
        with trio.fail_after(TIMEOUT_S):
            while True:
                (topic,) = (await self.metadata([name], create=create)).topics
                codes = {topic.error_code, *(partition.error_code for partition in topic.partitions)} - {0}
                if not codes:
                    return topic
                code = ErrorCode(min(codes))
                missing = code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if code not in _NOT_YET and not (missing and create):
                    raise KafkaError(code, f"topic {name} does not exist" if missing else None)
                await trio.sleep(RETRY_S)

    async def ask_coordinator(self, group: str, message: Any, code_of: Callable[[Any], int]) -> Any:
        """Ask the broker that coordinates a group, again while there is none or it loads.

        ``code_of`` finds the error code in an answer; codes that do not pass by waiting are the caller's to check.
        """
        with trio.fail_after(TIMEOUT_S):
            while True:
                if group not in self._coordinators:
                    found = await self.request(FindCoordinatorRequest(key=group))
                    if found.error_code not in _NOT_YET:
                        check(found.error_code)
                        self._coordinators[group] = found.node_id
                        self._addresses[found.node_id] = (found.host, found.port)
                if group in self._coordinators:
                    response = await self.request(message, self._coordinators[group])
                    if code_of(response) not in _NOT_YET:
                        return response
                    del self._coordinators[group]
                await trio.sleep(RETRY_S)

    async def offsets(self, topic: str, timestamps: dict[int, int]) -> dict[int, int]:
        """Return the offset at a timestamp (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, or ms) by partition."""
        found = {}
        described = await self.topic(topic)
        for leader in {partition.leader_id for partition in described.partitions}:
            asked = [
                ListOffsetsPartition(partition_index=partition.partition_index, timestamp=timestamp)
                for partition in described.partitions
                if partition.leader_id == leader
                and (timestamp := timestamps.get(partition.partition_index)) is not None
            ]
            if asked:
                request = ListOffsetsRequest(
                    replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)], timeout_ms=TIMEOUT_MS
                )
                (answer,) = (await self.request(request, leader)).topics
                for partition in answer.partitions:
                    check(partition.error_code)
                    found[partition.partition_index] = partition.offset
        return found


def version_for(connection: Connection, message: Any) -> int:
    """Return the version in which the commands send ``message`` on this connection."""
    highest = connection.highest_common_version(message)
    return min(highest, _NEWEST.get(ApiKey(message.API_KEY), highest))
