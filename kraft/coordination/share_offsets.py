"""The offsets of share groups: where each partition begins, from its share coordinator, and the lag behind its end.

The end of a partition is its high watermark, which its leader knows. Source:
``GroupCoordinatorService.computeShareGroupLagAndBuildResponse`` (KIP-1226).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import attrs
import trio

from kraft.config.broker import NodeConfig
from kraft.coordination.share_groups import AskShareCoordinator, for_each
from kraft.coordinator.share.core import ShareStateRequest
from kraft.coordinator.share.state import NO_START_OFFSET, NOT_COUNTED, SharePartitionKey
from kraft.messages import read_share_group_state_summary_request as summary_request
from kraft.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kraft.messages.list_offsets_response import ListOffsetsResponse
from kraft.metadata.image import Image
from kraft.replication.replicas import Replicas
from kraft.rpc.client import Connect
from kraft.wire.errors import ErrorCode, KafkaError

_LATEST = -1
NO_LAG = -1

SharePartition = tuple[UUID, int]


@attrs.frozen
class ShareOffset:
    """The offset of one partition. It is -1 if the share coordinator has no state, which is no error, as in Apache."""

    start_offset: int = NO_START_OFFSET
    leader_epoch: int = 0
    lag: int = NO_LAG
    code: ErrorCode = ErrorCode.NONE


@attrs.frozen(eq=False)
class ShareOffsets:
    """Reads the offsets of groups whose coordinator need not be this broker."""

    config: NodeConfig
    replicas: Replicas
    connect: Connect
    ask: AskShareCoordinator

    async def of(self, group_id: str, wanted: Iterable[SharePartition]) -> Mapping[SharePartition, ShareOffset]:
        """Return the offsets of partitions that exist."""
        found: dict[SharePartition, ShareOffset] = {}
        completed: dict[SharePartition, int] = {}

        async def summarize(partition: SharePartition) -> None:
            key = SharePartitionKey(group_id, *partition)
            try:
                summary = await self.ask(ShareStateRequest(key, summary_request.PartitionData(key.partition)))
            except KafkaError:
                found[partition] = ShareOffset()
                return
            found[partition] = ShareOffset(summary.start_offset, summary.leader_epoch)
            if summary.start_offset != NO_START_OFFSET and summary.delivery_complete_count != NOT_COUNTED:
                completed[partition] = summary.delivery_complete_count

        await for_each(summarize, wanted)
        ends = await self._ends(list(completed))
        for partition, count in completed.items():
            end = ends.get(partition, ErrorCode.UNKNOWN_SERVER_ERROR)
            if isinstance(end, ErrorCode):
                found[partition] = ShareOffset(0, 0, NO_LAG, end)
            else:
                lag = end - found[partition].start_offset - count
                found[partition] = attrs.evolve(found[partition], lag=lag)
        return found

    async def _ends(self, partitions: Sequence[SharePartition]) -> dict[SharePartition, int | ErrorCode]:
        """Return the high watermark of each partition, from its leader."""
        ends: dict[SharePartition, int | ErrorCode] = {}
        by_leader: dict[int, list[SharePartition]] = {}
        image = self.replicas.image
        for topic_id, index in partitions:
            topic = image.topics.get(topic_id)
            if topic is None:
                ends[topic_id, index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            leader, _ = self.replicas.known_leader(topic.name, index)
            if leader == self.config.node_id:
                try:
                    ends[topic_id, index] = self.replicas.leader_of(topic.name, index).high_watermark
                except KafkaError as error:
                    ends[topic_id, index] = error.code
            else:
                by_leader.setdefault(leader, []).append((topic_id, index))

        async def ask(leader: int, some: list[SharePartition]) -> None:
            ends.update(await self._ends_from(image, leader, some))

        async with trio.open_nursery() as nursery:
            for leader, some in by_leader.items():
                nursery.start_soon(ask, leader, some)
        return ends

    async def _ends_from(
        self, image: Image, leader: int, some: list[SharePartition]
    ) -> dict[SharePartition, int | ErrorCode]:
        """Error handling: a leader that does not respond gives NETWORK_EXCEPTION for its partitions."""
        endpoint = image.endpoint(leader, self.config.listeners.inter_broker or "")
        if endpoint is None:
            return dict.fromkeys(some, ErrorCode.LEADER_NOT_AVAILABLE)
        names = {topic_id: image.topics[topic_id].name for topic_id, _ in some}
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name, [ListOffsetsPartition(index, timestamp=_LATEST) for each, index in some if each == topic_id]
                )
                for topic_id, name in names.items()
            ],
        )
        timeout_s = self.config.network.request_timeout_ms / 1000
        client_id = f"broker-{self.config.node_id}-share-offsets"
        try:
            async with self.connect(endpoint.host, endpoint.port, client_id, timeout_s) as connection:
                response = await connection.request(request)
        except (OSError, trio.TooSlowError, KafkaError):
            return dict.fromkeys(some, ErrorCode.NETWORK_EXCEPTION)
        assert isinstance(response, ListOffsetsResponse)
        ids = {name: topic_id for topic_id, name in names.items()}
        return {
            (ids[topic.name], each.partition_index): ErrorCode(each.error_code) if each.error_code else each.offset
            for topic in response.topics
            for each in topic.partitions
            if topic.name in ids
        }
