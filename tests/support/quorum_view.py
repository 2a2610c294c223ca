"""The state of a quorum as it reports it (DescribeQuorum, KIP-595), and the files on its disks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import attrs
from kafka.protocol.admin.cluster import DescribeQuorumRequest

from kraft.records.batch import parse_header
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.wire_client import wire_client

METADATA_TOPIC = "__cluster_metadata"
ASK_TIMEOUT_S = 2.0
LEADER_TIMEOUT_S = 30.0


@attrs.frozen
class QuorumView:
    """The quorum as its leader sees it."""

    leader_id: int
    epoch: int
    high_watermark: int
    voters: dict[int, int]
    """Log end offset by voter; -1 where the leader does not know it yet."""
    observers: dict[int, int]


def describe_quorum(address: str, timeout_s: float = ASK_TIMEOUT_S) -> QuorumView | None:
    """Return the response of the controller at ``address`` if it leads; None if it does not lead, or does not
    respond.
    """
    partition = DescribeQuorumRequest.TopicData.PartitionData(partition_index=0)
    topic = DescribeQuorumRequest.TopicData(topic_name=METADATA_TOPIC, partitions=[partition])
    try:
        with wire_client(address, timeout_s) as client:
            answer = client.call(DescribeQuorumRequest(topics=[topic]), 1)
    except (OSError, EOFError):
        return None
    if answer.error_code or not answer.topics:
        return None
    (told,) = answer.topics[0].partitions
    if told.error_code or told.leader_id < 0:
        return None
    return QuorumView(
        told.leader_id,
        told.leader_epoch,
        told.high_watermark,
        {replica.replica_id: replica.log_end_offset for replica in told.current_voters},
        {replica.replica_id: replica.log_end_offset for replica in told.observers},
    )


def newest_leader(cluster: Cluster, among: Iterable[int] | None = None) -> QuorumView | None:
    """Of the voters that answer and lead, the one with the highest epoch: a deposed one may not know it yet."""
    asked = [each for each in cluster.answering() if among is None or each in among]
    views = [describe_quorum(cluster.nodes[each].controller_address) for each in asked]
    return max((view for view in views if view is not None), key=lambda view: view.epoch, default=None)


def wait_for_leader(
    cluster: Cluster, *, above_epoch: int = -1, among: Iterable[int] | None = None, timeout_s: float = LEADER_TIMEOUT_S
) -> QuorumView:
    """Return the leader, once it is one of ``among``, has a higher epoch, and reports a high watermark.

    Raises:
        AssertionError: there was none within ``timeout_s``.
    """
    chosen = None if among is None else set(among)

    def ask() -> QuorumView | None:
        view = newest_leader(cluster, chosen)
        return view if view is not None and view.epoch > above_epoch and view.high_watermark > 0 else None

    view = eventually(ask, timeout_s)
    assert view is not None
    return view


def wait_for_return(cluster: Cluster, voter: int, timeout_s: float = LEADER_TIMEOUT_S) -> None:
    """Until the leader knows that this voter has all that is committed now.

    Raises:
        AssertionError: there was no leader, or the voter was behind, for ``timeout_s``.
    """
    committed = wait_for_leader(cluster, timeout_s=timeout_s).high_watermark

    def has_returned() -> bool:
        view = newest_leader(cluster)
        return view is not None and view.voters[voter] >= committed

    eventually(has_returned, timeout_s)


@attrs.frozen
class MetadataLogFiles:
    """The log of the metadata partition as it lies in the files of a node: the bytes of its batches by base offset."""

    batches: dict[int, bytes]
    end_offset: int

    @classmethod
    def read(cls, log_directory: Path) -> MetadataLogFiles:
        """Return the complete batches; the file's last batch may be in the middle of its write."""
        batches: dict[int, bytes] = {}
        end_offset = 0
        for path in sorted((log_directory / f"{METADATA_TOPIC}-0").glob("*.log")):
            data, position = path.read_bytes(), 0
            while len(data) - position >= 61:
                header = parse_header(data, position)
                if position + header.size > len(data):
                    break
                batches[header.base_offset] = data[position : position + header.size]
                end_offset = header.next_offset
                position += header.size
        return cls(batches, end_offset)

    @property
    def start_offset(self) -> int:
        return min(self.batches, default=self.end_offset)


@attrs.frozen
class _Committed:
    """Return the logs of all nodes, from the highest log start to the high watermark."""

    logs: dict[int, MetadataLogFiles]
    start: int
    limit: int

    @classmethod
    def read(cls, cluster: Cluster) -> _Committed | None:
        """None if a node lacks something, or if nothing was committed since the youngest log began at a snapshot."""
        view = newest_leader(cluster)
        if view is None:
            return None
        try:
            logs = {each: MetadataLogFiles.read(node.log_directory) for each, node in cluster.nodes.items()}
        except FileNotFoundError:  # a segment that was listed is gone: its node installs a snapshot
            return None
        start, limit = max(log.start_offset for log in logs.values()), view.high_watermark
        return cls(logs, start, limit) if start < limit <= min(log.end_offset for log in logs.values()) else None


def assert_equal_logs(cluster: Cluster, timeout_s: float = 30.0) -> tuple[int, int]:
    """Wait until every node has the committed records, and assert that their bytes are equal.

    All voters and brokers must run. The comparison begins at the highest log start: a log may have been trimmed to its
    snapshot, or begin with a snapshot of all records. In that case it waits for further commits, which
    ``metadata.max.idle.interval.ms`` guarantees. Returns the first and the last compared offset.
    """
    committed = eventually(lambda: _Committed.read(cluster), timeout_s)
    assert committed is not None
    start, limit = committed.start, committed.limit
    texts = {
        each: b"".join(data for offset, data in log.batches.items() if start <= offset < limit)
        for each, log in committed.logs.items()
    }
    (first, expected), *others = texts.items()
    assert expected
    for each, text in others:
        same = next((at for at, pair in enumerate(zip(text, expected, strict=False)) if pair[0] != pair[1]), None)
        assert text == expected, f"the logs of {first} and {each} differ from byte {same} after offset {start}"
    return start, limit
