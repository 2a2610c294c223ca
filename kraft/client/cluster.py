"""Talk to any Kafka cluster over one connection per broker, opened at first use and reopened after it was lost.

The request of each API is sent in a version with names instead of topic ids and one group per request. Every broker
since Kafka 2.1 supports such a version.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import IntEnum
from typing import Any, TypeVar

import trio

from kraft.client.retry import ClusterUnreachable, passes, retried
from kraft.config.listeners import address, parse_host_port
from kraft.config.setting import invalid
from kraft.messages.describe_cluster_request import DescribeClusterRequest
from kraft.messages.describe_cluster_response import DescribeClusterResponse
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from kraft.messages.registry import ApiKey
from kraft.rpc.client import Connection, open_connection, reason
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.schema import Message
from kraft.world.dial import Dial, dial_by_tcp

T = TypeVar("T")

TIMEOUT_S = 30.0
"""``request.timeout.ms``. Metadata and coordinator operations are also retried for this long."""
TIMEOUT_MS = 30_000
CONNECT_TIMEOUT_S = 10.0
"""``socket.connection.setup.timeout.ms``"""
LOOKUP_TIMEOUT_S = 10.0
"""Not a Kafka setting. How long one broker may take for what every broker knows. Retries leave time for another one."""
METADATA_MAX_AGE_S = 300.0
"""``metadata.max.age.ms``. How often a producer and a consumer look for partitions that were added to their topic."""
EARLIEST_TIMESTAMP = -2
LATEST_TIMESTAMP = -1

_BROKERS, _CONTROLLERS = 1, 2  # endpoint types
_NO_BROKER = "this is a controller's listener: give the address of a broker"
_NO_CONTROLLER = "this is a broker's listener: give the address of a controller"

#: The newest version that the callers use, if later versions have another shape or, for transactions, another protocol
#: (KIP-890).
_NEWEST = {
    ApiKey.PRODUCE: 11,
    ApiKey.FETCH: 12,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_FETCH: 7,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.DELETE_TOPICS: 5,
    ApiKey.ADD_PARTITIONS_TO_TXN: 3,
    ApiKey.END_TXN: 4,
    ApiKey.TXN_OFFSET_COMMIT: 4,
}
_COORDINATOR_MOVED = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)

Address = tuple[str, int]


class CoordinatorType(IntEnum):
    """What FindCoordinator looks up: the coordinator of a group or of a transactional id."""

    GROUP = 0
    TRANSACTION = 1


def check(code: int, message: str | None = None) -> None:
    """Raise KafkaError if a response has an error code."""
    if code:
        raise KafkaError(ErrorCode(code), message)


@asynccontextmanager
async def open_cluster(
    bootstrap: str | Sequence[Address],
    client_id: str = "kraft",
    *,
    retry_timeout_s: float = 0.0,
    dial: Dial = dial_by_tcp,
) -> AsyncIterator[Cluster]:
    """Connect to the first server of ``bootstrap`` that responds. Close all connections at the end.

    ``bootstrap`` is ``host:port,…``, or a sequence of hosts and ports.

    If no server responds, try again for ``retry_timeout_s``.

    Raises:
        ConfigError: an address is not ``host:port``, or there is none.
        ClusterUnreachable: no server responded.
        GaveUp: the same, after ``retry_timeout_s``.
    """
    cluster = Cluster(_parsed(bootstrap) if isinstance(bootstrap, str) else bootstrap, client_id, dial)
    try:
        if retry_timeout_s:
            await retried(cluster.any_connection, "connection to the cluster", retry_timeout_s)
        else:
            await cluster.any_connection()
        yield cluster
    finally:
        cluster.close()


def _parsed(bootstrap: str) -> list[Address]:
    addresses = list(filter(None, map(str.strip, bootstrap.split(","))))
    if not addresses:
        invalid("bootstrap.servers", bootstrap, "Value must name a server, as host:port")
    return [parse_host_port("bootstrap.servers", text, "Value must be host:port") for text in addresses]


class Cluster:
    """The connections to a cluster's brokers. For use by one task; made by :func:`open_cluster`."""

    def __init__(self, bootstrap: Sequence[Address], client_id: str, dial: Dial) -> None:
        self._bootstrap = bootstrap
        self._client_id = client_id
        self._dial = dial
        self._connections: dict[Address, Connection] = {}
        self._addresses: dict[int, Address] = {}
        self._coordinators: dict[tuple[CoordinatorType, str], int] = {}
        self._server: Address | None = None
        """The server of the last lookup, which gets the next one too."""

    def close(self) -> None:
        """Close all connections at once."""
        for connection in self._connections.values():
            connection.close()

    async def request(self, message: Message, node_id: int | None = None) -> Any:
        """Send a request to a broker (to any, if ``node_id`` is None) and return the response.

        Raises:
            KafkaError: the broker is unknown or unreachable (BROKER_NOT_AVAILABLE), or too old (UNSUPPORTED_VERSION).
            UnsupportedVersionError: the broker's version of the request lacks a field of ``message``.
            ClusterUnreachable: any broker would do, and none is reachable.
            Disconnected: the connection was lost before the response came.
            trio.TooSlowError: no response came in time.
        """
        connection = await (self.any_connection() if node_id is None else self.connection(node_id))
        return await connection.request(message, version_for(connection, message))

    async def any_connection(self) -> Connection:
        """Return the connection to the server of the last call, or to the next known server that responds.

        Raises ClusterUnreachable if no server responds.
        """
        why = "no server given"
        for where in self._servers():
            try:
                connection = await self._connect(where)
            except (OSError, trio.TooSlowError, KafkaError) as error:
                why = reason(error)
            else:
                self._server = where
                return connection
        servers = ",".join(address(*where) for where in self._bootstrap)
        raise ClusterUnreachable(f"Cannot connect to {servers}: {why}")

    async def retried(
        self, attempt: Callable[[], Awaitable[T]], what: str, timeout_s: float, *, lets_finish: bool = False
    ) -> T:
        """Repeat an attempt as :func:`~kraft.client.retry.retried`, each time with another server for its lookups."""

        async def at_a_server() -> T:
            try:
                return await attempt()
            except Exception as error:
                if passes(error):
                    self.change_server()
                raise

        return await retried(at_a_server, what, timeout_s, lets_finish=lets_finish)

    def change_server(self) -> None:
        """Let another known server handle the next lookup: this one hangs, or has metadata from before a change.

        Kafka's clients ask the least loaded broker each time (``NetworkClient.leastLoadedNode``).
        """
        self._server = next(iter(self._servers()[1:]), None)

    def _servers(self) -> list[Address]:
        """Return all known servers, from that of the last lookup on."""
        known = list(dict.fromkeys((*self._bootstrap, *self._addresses.values())))
        at = known.index(self._server) if self._server in known else 0
        return known[at:] + known[:at]

    async def connection(self, node_id: int) -> Connection:
        """Return the connection to a broker of the latest metadata. Raises KafkaError (BROKER_NOT_AVAILABLE) if it has
        none.
        """
        where = self._addresses.get(node_id)
        if where is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not in the cluster's metadata")
        try:
            return await self._connect(where)
        except (OSError, trio.TooSlowError) as error:
            why = f"cannot connect to broker {node_id} at {address(*where)}: {reason(error)}"
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, why) from None

    async def _connect(self, where: Address) -> Connection:
        known = self._connections.get(where)
        if known is not None and not known.closed and known.is_abandoned:
            known.close()  # the broker closed it as idle (connections.max.idle.ms)
        if known is None or known.closed:
            with trio.fail_after(CONNECT_TIMEOUT_S):
                known = await open_connection(*where, self._client_id, TIMEOUT_S, dial=self._dial)
            self._connections[where] = known
        return known

    async def metadata(self, topics: Sequence[str] | None, *, create: bool = False) -> MetadataResponse:
        """Return the metadata of these topics, or of all if None, and store the brokers' addresses.

        With ``create`` the broker creates missing topics, if it is configured to. Raises as ``request``.
        """
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        connection = await self.any_connection()
        if request.API_KEY not in connection.versions:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, _NO_BROKER)
        response = await connection.request(request, version_for(connection, request), timeout_s=LOOKUP_TIMEOUT_S)
        assert isinstance(response, MetadataResponse)
        self._addresses |= {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
        return response

    async def controller_id(self) -> int:
        """Return the id of the controller, which handles changes of topics and configurations."""
        return (await self.metadata([])).controller_id

    async def describe(self, *, controllers: bool, include_fenced: bool = False) -> DescribeClusterResponse:
        """Describe the brokers or the controllers, and store their addresses. Only controllers describe controllers
        (KIP-919).
        """
        request = DescribeClusterRequest(
            endpoint_type=_CONTROLLERS if controllers else _BROKERS, include_fenced_brokers=include_fenced
        )
        response: DescribeClusterResponse = await self.request(request)
        if response.error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE:
            response.error_message = _NO_CONTROLLER if controllers else _NO_BROKER
        check(response.error_code, response.error_message)
        self._addresses |= {broker.broker_id: (broker.host, broker.port) for broker in response.brokers}
        return response

    async def brokers(self) -> list[int]:
        """Return the ids of all brokers."""
        return sorted(broker.node_id for broker in (await self.metadata([])).brokers)

    async def topic(self, name: str, *, create: bool = False) -> MetadataResponseTopic:
        """Return a topic, and wait for one that is being created. Some of its partitions may have no leader.

        Raises:
            KafkaError: the topic does not exist, or may not be created.
            GaveUp: the cluster did not return the topic in time.
        """

        async def attempt() -> MetadataResponseTopic:
            (found,) = (await self.metadata([name], create=create)).topics
            if create or found.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                check(found.error_code)
            return found

        topic = await self.retried(attempt, f"topic {name}", TIMEOUT_S)
        check(topic.error_code, f"topic {name} does not exist")
        return topic

    async def leaders(self, topic: str) -> dict[int, int]:
        """Return the leader of each partition that has one, from any broker's metadata. Raises as ``request``."""
        (found,) = (await self.metadata([topic])).topics
        check(found.error_code)
        return {each.partition_index: each.leader_id for each in found.partitions if each.leader_id >= 0}

    async def ask_coordinator(
        self,
        key: str,
        message: Message,
        code_of: Callable[[Any], int],
        kind: CoordinatorType = CoordinatorType.GROUP,
    ) -> Any:
        """Send a request to the coordinator of a group or of a transactional id. Retry while it is absent or loading.

        ``code_of`` returns the error code of a response. The caller checks codes that do not concern the coordinator.

        Raises:
            KafkaError: an error that cannot pass.
            GaveUp: no coordinator responded in time.
        """

        async def attempt() -> Any:
            if (kind, key) not in self._coordinators:
                connection, request = await self.any_connection(), FindCoordinatorRequest(key=key, key_type=kind)
                found: Any = await connection.request(
                    request, version_for(connection, request), timeout_s=LOOKUP_TIMEOUT_S
                )
                check(found.error_code)
                self._coordinators[kind, key] = found.node_id
                self._addresses[found.node_id] = (found.host, found.port)
            try:
                response = await self.request(message, self._coordinators[kind, key])
                if (code := code_of(response)) in _COORDINATOR_MOVED:
                    raise KafkaError(ErrorCode(code))
            except Exception:
                del self._coordinators[kind, key]
                raise
            return response

        what = "group" if kind is CoordinatorType.GROUP else "transactional id"
        return await self.retried(attempt, f"{what} {key}", TIMEOUT_S)

    def coordinator_of(self, key: str, kind: CoordinatorType) -> int:
        """Return the broker to which the last request of :meth:`ask_coordinator` for this key went."""
        return self._coordinators[kind, key]

    async def offsets(
        self, topic: str, timestamps: dict[int, int], *, isolation_level: int = 0, skip_leaderless: bool = False
    ) -> dict[int, int]:
        """Return the offset at a timestamp (EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, or ms) for each partition.

        It is -1 if no record has the timestamp or a later one. With isolation level 1 the latest offset is that of the
        first open transaction. Partitions that the topic does not have are left out, and with ``skip_leaderless`` also
        partitions without a leader. Without it the call waits for their leaders.

        Raises KafkaError for an error that cannot pass, else GaveUp.
        """
        existing = {partition.partition_index for partition in (await self.topic(topic)).partitions}
        wanted, found = timestamps.keys() & existing, dict[int, int]()

        async def attempt() -> dict[int, int]:
            leaders = await self.leaders(topic)
            missing = wanted - found.keys()
            if skip_leaderless:
                missing &= leaders.keys()
            if not missing <= leaders.keys():
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
            for leader in {leaders[partition] for partition in missing}:
                asked = {partition: timestamps[partition] for partition in missing if leaders[partition] == leader}
                found.update(await self.leader_offsets(leader, topic, asked, isolation_level=isolation_level))
            return found

        return await self.retried(attempt, f"offsets of {topic}", TIMEOUT_S)

    async def leader_offsets(
        self, leader: int, topic: str, timestamps: Mapping[int, int], *, isolation_level: int = 0
    ) -> dict[int, int]:
        """Ask the leader of these partitions once for the offsets of :meth:`offsets`.

        Raises as ``request``, and KafkaError for the error of a partition.
        """
        asked = [
            ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
            for partition, timestamp in sorted(timestamps.items())
        ]
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation_level,
            topics=[ListOffsetsTopic(name=topic, partitions=asked)],
            timeout_ms=TIMEOUT_MS,
        )
        (answer,) = (await self.request(request, leader)).topics
        for partition in answer.partitions:
            check(partition.error_code)
        return {partition.partition_index: partition.offset for partition in answer.partitions}


def version_for(connection: Connection, message: Message) -> int:
    """Return the newest version of ``message`` that the broker supports and the callers use."""
    highest = connection.highest_common_version(message)
    return min(highest, _NEWEST.get(ApiKey(message.API_KEY), highest))
