"""One partition that this broker holds: its log, its place in the metadata, and who waits for it to grow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from uuid import UUID

import attrs
import trio

from kraft.config.topic import LogConfig
from kraft.metadata.partitions import Partition
from kraft.records.batch import BatchHeader, iter_headers, parse_header
from kraft.records.produced import ProduceRules
from kraft.records.record import Record, read_records
from kraft.storage.log import AppendInfo, Log
from kraft.wire.errors import ErrorCode, KafkaError

_READ_BYTES = 1 << 20
_MAX_DECOMPRESSED_BYTES = 256 << 20


@attrs.define(eq=False)
class HostedPartition:
    """The log of one partition on this broker.

    ``high_watermark`` and ``last_stable_offset`` bound what consumers see: with this broker alone in the in-sync set,
    all that was appended.
    """

    topic: str
    topic_id: UUID
    index: int
    log: Log
    state: Partition
    is_leader: bool
    flushed_at_ms: int = 0
    """When the log was last made durable because of ``flush.ms``."""
    produce_rules: tuple[LogConfig, ProduceRules] | None = None
    """What a client may append, and the configuration that says so."""
    _waiting: set[trio.Event] = attrs.Factory(set)

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def high_watermark(self) -> int:
        return self.log.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        return self.log.log_end_offset

    def check_epoch(self, current_leader_epoch: int) -> None:
        """Compare the epoch that a client believes in with ours (KIP-320); a negative one means that it has no belief.

        Raises:
            KafkaError: FENCED_LEADER_EPOCH for an older one, UNKNOWN_LEADER_EPOCH for one from the future.
        """
        if current_leader_epoch < 0 or current_leader_epoch == self.state.leader_epoch:
            return
        older = current_leader_epoch < self.state.leader_epoch
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH)

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """Largest known epoch not above ``epoch``, and where it ends (KIP-320); -1 for both if ``epoch`` is unknown."""
        if epoch == self.state.leader_epoch:
            return epoch, self.log.log_end_offset  # the epoch of now may not have written anything yet
        return self.log.end_offset_for_epoch(epoch)

    def append(
        self, buffer: bytearray | memoryview, now_ms: int, headers: list[tuple[int, BatchHeader]] | None = None
    ) -> AppendInfo:
        """Append batches as the leader and wake those who wait for them."""
        if headers is None:
            headers = list(iter_headers(buffer))
        appended = self.log.append_as_leader(buffer, headers, self.state.leader_epoch, now_ms)
        if self._waiting:
            self.wake()
        return appended

    def wake(self) -> None:
        """Something changed that a waiting fetch may want to see."""
        for event in self._waiting:
            event.set()

    def watch(self, event: trio.Event) -> Callable[[], None]:
        """Set ``event`` when this partition changes; call what is returned to end that."""
        self._waiting.add(event)
        return lambda: self._waiting.discard(event)

    def records(self) -> Iterator[Record]:
        """Every record of the log that is not a control record, from its start to its end now."""
        offset = self.log.log_start_offset
        end = self.log.log_end_offset
        while offset < end:
            piece = self.log.read(offset, _READ_BYTES, end)
            if not piece.length:
                return  # compaction has emptied the end of the log
            data = os.pread(piece.file.fileno(), piece.length, piece.position)
            position = 0
            while position < len(data):
                header = parse_header(data, position)
                if position + header.size > len(data):
                    break
                if not header.is_control:
                    for record in read_records(data, position, header, max_bytes=_MAX_DECOMPRESSED_BYTES):
                        if record.offset >= offset:
                            yield record
                offset = header.next_offset
                position += header.size
