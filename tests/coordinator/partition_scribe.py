"""A partition that writes down its appends and its reads: transcripts and the picture of docs/transactions.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import trio

from kraft.broker.producer_state import ProducerStates
from kraft.client.fetching import IsolationLevel, PartitionFetcher
from kraft.coordinator.transactions.effects import TransactionMarkers
from kraft.messages import fetch_response
from kraft.records.batch import NO_PRODUCER_ID, BatchHeader, parse_header, stamp
from kraft.records.control import EndTransactionMarker
from kraft.records.record import Record, encode_batch
from kraft.storage.transaction_index import AbortedTransaction
from kraft.wire.errors import ErrorCode, KafkaError
from tests.client.talk import TOPIC, FakeCluster

ORDERS = ("orders", 0)
NO_PRODUCER = (NO_PRODUCER_ID, -1)
_STYLES = {
    "visible": "fill:#c8e6c9,stroke:#2e7d32,color:#000",
    "aborted": "fill:#eee,stroke:#9e9e9e,color:#757575,stroke-dasharray:4",
    "marker": "fill:#bbdefb,stroke:#1565c0,color:#000",
    "waiting": "fill:#fff9c4,stroke:#f9a825,color:#000",
}


class PartitionScribe:
    """The leader of ``orders-0``, one record in each batch. ``texts`` are the values, or the kinds of markers.

    An append is replicated at once, or never while ``is_followed`` is false. ``aborted`` has the entries of the
    ``.txnindex`` file.
    """

    def __init__(self, lines: list[str] | None = None) -> None:
        self.lines = [] if lines is None else lines
        self.producers = ProducerStates()
        self.batches: list[bytes] = []
        self.headers: list[BatchHeader] = []
        self.texts: list[str] = []
        self.aborted: list[AbortedTransaction] = []
        self.is_followed = True
        self.high_watermark = 0
        self._sequences: Counter[tuple[int, int]] = Counter()

    @property
    def last_stable_offset(self) -> int:
        return self.producers.last_stable_offset(self.high_watermark)

    def produce(
        self,
        who: str,
        text: str,
        producer: tuple[int, int] = NO_PRODUCER,
        verify: Callable[[], ErrorCode] = lambda: ErrorCode.NONE,
    ) -> None:
        """Append a record, transactional if it has a producer. ``verify`` asks the coordinator whether a producer
        without an open transaction here may begin one (KIP-890).
        """
        has_producer = producer != NO_PRODUCER
        self.lines.append(f'{who}: Produce orders-0{f", epoch {producer[1]}" if has_producer else ""}: "{text}"')
        data = encode_batch(
            [Record(len(self.batches), 0, None, text.encode())],
            base_offset=len(self.batches),
            producer_id=producer[0],
            producer_epoch=producer[1],
            base_sequence=self._sequences[producer] if has_producer else -1,
            transactional=has_producer,
        )
        header = parse_header(data)
        try:
            assert self.producers.check(header) is None, "a transcript repeats no batch"
            if not self.producers.is_in_transaction(*producer) and (refused := verify()):
                raise KafkaError(refused)
        except KafkaError as error:
            self.lines.append(f"    to {who}: {error.code.name}")
            return
        self.producers.append(header, 0)
        self._sequences[producer] += 1
        self._appended(data, header, text)
        self.lines.append(f"    to {who}: offset {header.base_offset}")

    def append_marker(self, markers: TransactionMarkers) -> None:
        """Append a marker of a coordinator, or of an administrator. Raises KafkaError if it is refused."""
        marker = EndTransactionMarker(markers.committed, markers.coordinator_epoch, markers.version)
        self.producers.check_marker(markers.producer_id, markers.epoch, marker)
        data = marker.batch(markers.producer_id, markers.epoch, 0)
        stamp(data, 0, len(self.batches), 0)
        header = parse_header(data)
        ended = self.producers.append_marker(header, marker, 0)
        if ended is not None and ended.aborted:
            entry = AbortedTransaction(
                ended.producer_id, ended.first_offset, ended.last_offset, ended.last_stable_offset
            )
            self.aborted.append(entry)
        self._appended(bytes(data), header, "commit" if markers.committed else "abort")

    def _appended(self, data: bytes, header: BatchHeader, text: str) -> None:
        self.batches.append(data)
        self.headers.append(header)
        self.texts.append(text)
        if self.is_followed:
            self.high_watermark = len(self.batches)
            self.producers.high_watermark_advanced(self.high_watermark)
        self.lines.append(
            f"    orders-0 ends at {len(self.batches)}, its last stable offset is {self.last_stable_offset}"
        )

    def visible(self) -> list[int]:
        """Return the offsets that a consumer of :mod:`kraft.client` reads with read_committed."""
        end = self.last_stable_offset
        aborted = [
            fetch_response.AbortedTransaction(each.producer_id, each.first_offset)
            for each in self.aborted
            if each.first_offset < end
        ]
        answer = fetch_response.PartitionData(records=b"".join(self.batches[:end]), aborted_transactions=aborted)
        level = IsolationLevel.READ_COMMITTED
        reader = PartitionFetcher(FakeCluster({0: answer}), TOPIC, 0, 0, isolation_level=level, retry_timeout_s=1.0)
        return [header.base_offset for _, header in trio.run(reader.next, 0.0).batches]

    def read(self, who: str) -> None:
        self.lines.append(f"{who}: Fetch orders-0 from offset 0, read_committed")
        seen = ", ".join(f'"{self.texts[offset]}"' for offset in self.visible())
        self.lines.append(f"    to {who}: {seen or 'nothing'}")

    def describe_producers(self, who: str) -> None:
        self.lines.append(f"{who}: DescribeProducers orders-0")
        for each in self.producers.entries():
            first = each.transaction_first_offset
            is_open = "no open transaction" if first is None else f"a transaction is open since offset {first}"
            self.lines.append(f"    to {who}: producer {each.producer_id}, epoch {each.epoch}, {is_open}")

    def picture(self, names: dict[int, str]) -> list[str]:
        """Draw the log as Mermaid's block diagram; ``names`` are those of the producers."""
        end, visible = len(self.batches), self.visible()
        cells = [
            f'{header.base_offset}["{header.base_offset}<br/>{names.get(header.producer_id, "-")}<br/>{text}"]'
            for header, text in zip(self.headers, self.texts, strict=True)
        ]
        classes: dict[str, list[str]] = {kind: [] for kind in _STYLES}
        for header in self.headers:
            classes[self._kind(header, visible)].append(f"o{header.base_offset}")
        stable, watermark = self.last_stable_offset, self.high_watermark
        return [
            "block-beta",
            f"    columns {end}",
            *(f"    o{cell}" for cell in cells),
            f'    committed["read_committed stops at the last stable offset, {stable}"]:{stable}',
            f'    open["waits for a marker"]:{end - stable}',
            f'    uncommitted["read_uncommitted stops at the high watermark, {watermark}"]:{watermark}',
            f'    behind["not replicated"]:{end - watermark}',
            *(f"    classDef {kind} {style}" for kind, style in _STYLES.items()),
            *(f"    class {','.join(cells)} {kind}" for kind, cells in classes.items()),
        ]

    def _kind(self, header: BatchHeader, visible: list[int]) -> str:
        if header.is_control:
            return "marker"
        if header.base_offset >= self.last_stable_offset:
            return "waiting"
        return "visible" if header.base_offset in visible else "aborted"
