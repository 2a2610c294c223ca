"""Producer state: retries, gaps and fenced producers, then a state machine test against a naive model."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kraft.broker.producer_snapshot import decode_snapshot, encode_snapshot
from kraft.broker.producer_state import (
    MAX_UNVERIFIED,
    RETAINED_BATCHES,
    CompletedTransaction,
    DuplicateSequence,
    ProducerStates,
)
from kraft.records.batch import CONTROL_BIT, SEQUENCE_MASK, TRANSACTIONAL_BIT, BatchHeader
from kraft.records.control import EndTransactionMarker
from kraft.wire.errors import ErrorCode, KafkaError

PRODUCER = 7
EXPIRATION_MS = 1000


def batch(
    sequence: int = 0,
    count: int = 1,
    *,
    base_offset: int = 0,
    epoch: int = 0,
    producer_id: int = PRODUCER,
    timestamp: int = 0,
    transactional: bool = False,
    control: bool = False,
) -> BatchHeader:
    attributes = (TRANSACTIONAL_BIT if transactional else 0) | (CONTROL_BIT if control else 0)
    return BatchHeader(
        base_offset, 49, 0, 2, 0, attributes, count - 1, timestamp, timestamp, producer_id, epoch, sequence, count
    )


def marker_batch(base_offset: int, *, epoch: int = 0, producer_id: int = PRODUCER) -> BatchHeader:
    return batch(-1, base_offset=base_offset, epoch=epoch, producer_id=producer_id, transactional=True, control=True)


def refused(states: ProducerStates, header: BatchHeader) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        states.check(header)
    return caught.value.code


def states_after(*headers: BatchHeader) -> ProducerStates:
    states = ProducerStates()
    for header in headers:
        assert states.check(header) is None
        states.append(header, now_ms=0)
    return states


def test_batches_without_producer_id_leave_no_trace() -> None:
    assert len(states_after(batch(-1, producer_id=-1), batch(-1, producer_id=-1))) == 0


@pytest.mark.parametrize("sequence", [0, 5, 2**31 - 1])
def test_an_unknown_producer_may_begin_anywhere(sequence: int) -> None:
    """KIP-360: a broker that has lost the producer's state accepts its next batch instead of UNKNOWN_PRODUCER_ID."""
    assert states_after().check(batch(sequence)) is None


def test_the_last_five_batches_are_recognised() -> None:
    """``max.in.flight.requests.per.connection`` is at most five with idempotence. A retry gets the offsets of the first
    append.
    """
    states = states_after(*(batch(3 * index, 3, base_offset=100 + 3 * index) for index in range(6)))
    assert refused(states, batch(0, 3)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    for index in range(1, 6):
        duplicate = states.check(batch(3 * index, 3))
        assert duplicate is not None
        assert (duplicate.batch.first_offset, duplicate.batch.last_offset) == (100 + 3 * index, 102 + 3 * index)
    assert refused(states, batch(3, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_after_the_largest_int() -> None:
    """KIP-98: the sequence is an INT32 and continues at 0 after 2^31 - 1."""
    states = states_after(batch(2**31 - 2, 4, base_offset=10))
    duplicate = states.check(batch(2**31 - 2, 4))
    assert duplicate is not None
    assert duplicate.batch.first_offset == 10
    assert refused(states, batch(1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(batch(2)) is None
    assert states_after(batch(2**31 - 1)).check(batch(0)) is None


def test_a_new_epoch_begins_at_zero_and_ends_the_old_one() -> None:
    """KIP-98: the epoch fences zombies. KIP-360: an epoch bump resets the sequence to 0."""
    states = states_after(batch(0, 3), batch(3, base_offset=3))
    assert refused(states, batch(4, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(batch(0, 3, epoch=1)) is None
    states.append(batch(0, 3, epoch=1, base_offset=4), now_ms=0)
    assert refused(states, batch(4, epoch=0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(states, batch(3, epoch=0)) is ErrorCode.INVALID_PRODUCER_EPOCH
    duplicate = states.check(batch(0, 3, epoch=1))
    assert duplicate is not None
    assert duplicate.batch.first_offset == 4


def test_producers_expire_after_silence_but_not_in_a_transaction() -> None:
    """``producer.id.expiration.ms``: a producer id does not expire during its transaction."""
    states = states_after(batch(0), batch(0, producer_id=8, base_offset=1, transactional=True))
    assert states.expire(EXPIRATION_MS - 1, EXPIRATION_MS) == 0
    assert states.expire(EXPIRATION_MS, EXPIRATION_MS) == 1
    assert [entry.producer_id for entry in states.entries()] == [8]
    assert states.check(batch(17)) is None


def test_an_unknown_producer_begins_with_the_lowest_sequence_of_its_verifications() -> None:
    """``VerificationStateEntry.maybeUpdateLowestSequenceAndEpoch``: "a lower sequence for the same epoch", or "a higher
    epoch".
    """
    states = ProducerStates()
    for sequence, epoch in ((5, 1), (4, 1), (6, 1), (3, 0)):
        states.verification_began(batch(sequence, epoch=epoch), now_ms=0)
    assert states.check(batch(4, epoch=1)) is None
    assert refused(states, batch(5, epoch=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    states.verification_began(batch(7, epoch=2), now_ms=0)
    assert states.check(batch(7, epoch=2)) is None
    assert refused(states, batch(8, epoch=2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_lowest_sequences_are_bounded() -> None:
    """A client may send batches of any number of producer ids, which no coordinator confirms."""
    states = ProducerStates()
    for producer_id in range(MAX_UNVERIFIED + 1):
        states.verification_began(batch(3, producer_id=producer_id), now_ms=0)
    assert states.check(batch(17, producer_id=0)) is None
    assert refused(states, batch(17, producer_id=1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(states, batch(17, producer_id=MAX_UNVERIFIED)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_lowest_sequence_is_forgotten() -> None:
    """``VerificationStateEntry``: it is removed "whenever we write data to the transaction or write an end marker", and
    "via the producer state entry cleanup mechanism".
    """
    states = ProducerStates()
    states.verification_began(batch(3), now_ms=1)
    states.append(batch(3), now_ms=0)
    states.verification_began(batch(4), now_ms=1)
    states.verification_began(batch(3, producer_id=8), now_ms=1)
    states.append_marker(marker_batch(1, producer_id=8), EndTransactionMarker(True, 0), now_ms=0)
    assert states.expire(EXPIRATION_MS, EXPIRATION_MS) == 2
    assert states.check(batch(17)) is None
    assert states.check(batch(17, producer_id=8)) is None
    states.verification_began(batch(3), now_ms=0)
    assert states.expire(EXPIRATION_MS - 1, EXPIRATION_MS) == 0
    assert refused(states, batch(17)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.expire(EXPIRATION_MS, EXPIRATION_MS) == 0
    assert states.check(batch(17)) is None


def test_the_last_stable_offset_waits_for_outcome_and_replication() -> None:
    """KIP-98: the LSO is below every open transaction, and below every ended one whose marker is not replicated."""
    states = states_after(
        batch(0, 5, base_offset=10, transactional=True),
        batch(0, 1, base_offset=15, transactional=True, producer_id=8),
        batch(5, 1, base_offset=16, transactional=True),
    )
    assert states.last_stable_offset(17) == 10
    assert states.last_stable_offset(4) == 4
    committed = states.append_marker(marker_batch(17), EndTransactionMarker(True, 0), now_ms=0)
    assert committed == CompletedTransaction(PRODUCER, 10, 17, aborted=False, last_stable_offset=15)
    states.high_watermark_advanced(17)
    assert states.last_stable_offset(17) == 10
    states.high_watermark_advanced(18)
    assert states.last_stable_offset(18) == 15
    aborted = states.append_marker(marker_batch(18, producer_id=8), EndTransactionMarker(False, 0), now_ms=0)
    assert aborted == CompletedTransaction(8, 15, 18, aborted=True, last_stable_offset=19)
    states.high_watermark_advanced(19)
    assert states.first_unstable_offset is None
    assert states.last_stable_offset(19) == 19


def test_a_marker_without_transaction_completes_nothing() -> None:
    states = ProducerStates()
    states.check_marker(PRODUCER, 0, EndTransactionMarker(True, 3))
    assert states.append_marker(marker_batch(0, epoch=2), EndTransactionMarker(True, 3), now_ms=0) is None
    assert refused(states, batch(0, epoch=1)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(states, batch(1, epoch=2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert states.check(batch(0, epoch=2)) is None


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "code"),
    [(0, 3, ErrorCode.INVALID_PRODUCER_EPOCH), (1, 2, ErrorCode.TRANSACTION_COORDINATOR_FENCED)],
)
def test_markers_of_the_deposed_are_refused(epoch: int, coordinator_epoch: int, code: ErrorCode) -> None:
    states = ProducerStates()
    states.append_marker(marker_batch(0, epoch=1), EndTransactionMarker(True, 3), now_ms=0)
    with pytest.raises(KafkaError) as caught:
        states.check_marker(PRODUCER, epoch, EndTransactionMarker(True, coordinator_epoch))
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("epoch", "transaction_version", "is_open", "is_refused"),
    [
        (1, 2, True, True),
        (1, 1, True, False),
        (1, 2, False, False),
        (2, 2, True, False),
        (32767, 2, True, False),
    ],
)
def test_a_late_marker_does_not_end_the_next_transaction(
    epoch: int, transaction_version: int, is_open: bool, is_refused: bool
) -> None:
    """KIP-1228: a marker has the epoch after that of its transaction, which is the epoch of the next one. A repeated
    marker changes nothing. The highest epoch cannot rise.
    """
    states = states_after(batch(0, epoch=min(epoch, 1) if epoch < 3 else epoch, transactional=is_open))
    marker = EndTransactionMarker(True, 3, transaction_version)
    if is_refused:
        with pytest.raises(KafkaError) as caught:
            states.check_marker(PRODUCER, epoch, marker)
        assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    else:
        states.check_marker(PRODUCER, epoch, marker)


def test_a_plain_batch_inside_a_transaction_is_refused() -> None:
    states = states_after(batch(0, transactional=True))
    assert refused(states, batch(1)) is ErrorCode.INVALID_TXN_STATE


def test_replay_takes_the_log_as_it_is() -> None:
    """The leader validated the log. Compaction may have left gaps and empty control batches."""
    states = ProducerStates()
    assert states.replay(batch(5, producer_id=-1), now_ms=9) is None
    states.replay(batch(5, 2, timestamp=4), now_ms=9)
    states.replay(batch(50, 2, base_offset=10, timestamp=40), now_ms=9)
    states.replay(marker_batch(12), now_ms=9)
    (entry,) = states.entries()
    assert [appended.last_sequence for appended in entry.batches] == [6, 51]
    assert (entry.last_timestamp_ms, entry.seen_ms) == (40, 9), "a timestamp in the future keeps no producer for ever"
    states.replay(batch(52, base_offset=13, timestamp=9, transactional=True), now_ms=9)
    completed = states.replay(marker_batch(14), now_ms=9, marker=EndTransactionMarker(False, 1))
    assert completed is not None
    assert completed.first_offset == 13


def test_old_records_keep_their_producer() -> None:
    """A snapshot has the timestamp of the records, as in Kafka (``ProducerStateEntry``). Kafka expires the producer by
    it, and so forgets which batches it has just acknowledged.
    """
    states = ProducerStates()
    states.append(batch(0, timestamp=5), now_ms=1000)
    states.append(batch(0, timestamp=2000, producer_id=8), now_ms=1000)
    states.replay(marker_batch(1, producer_id=9), 1000, EndTransactionMarker(True, 0))
    assert [entry.last_timestamp_ms for entry in states.entries()] == [5, 2000, 0]
    started = ProducerStates(decode_snapshot(encode_snapshot(states.entries())))
    started.recovered(now_ms=1001)
    assert [entry.last_timestamp_ms for entry in started.entries()] == [5, 2000, 0]
    assert [entry.seen_ms for entry in started.entries()] == [5, 1001, 0]
    assert states.expire(999 + EXPIRATION_MS, EXPIRATION_MS) == 1  # the marker
    assert started.expire(1000 + EXPIRATION_MS, EXPIRATION_MS) == 2
    assert (states.expire(1000 + EXPIRATION_MS, EXPIRATION_MS), len(states)) == (2, 0)


def test_a_batch_without_a_timestamp_keeps_its_producer_from_now_on() -> None:
    """``_seen_ms``: earlier versions of the cleaner wrote no timestamp into an emptied batch."""
    states = ProducerStates()
    states.replay(batch(0, timestamp=-1), now_ms=1000)
    started = ProducerStates(decode_snapshot(encode_snapshot(states.entries())))
    started.recovered(now_ms=2000)
    for each, seen_ms in ((states, 1000), (started, 2000)):
        assert [entry.last_timestamp_ms for entry in each.entries()] == [-1]
        assert each.expire(seen_ms + EXPIRATION_MS - 1, EXPIRATION_MS) == 0
        assert each.expire(seen_ms + EXPIRATION_MS, EXPIRATION_MS) == 1


@attrs.define
class Sent:
    """A batch in the model."""

    header: BatchHeader
    now_ms: int


class ProducerMachine(RuleBasedStateMachine):
    """Two producers, and a model that keeps every appended batch and validates against all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.states = ProducerStates()
        self.log: list[Sent] = []  # batches of producers that have not expired
        self.end_offset = 0
        self.high_watermark = 0
        self.now_ms = 0
        self.markers: list[tuple[int, int]] = []  # (marker offset, first offset) of ended transactions
        self.open: dict[int, int] = {}  # producer id: first offset
        self.epochs: dict[int, int] = {}

    @initialize(sequence=st.sampled_from([0, 17, 2**31 - 3, 2**31 - 2]))
    def first_batch(self, sequence: int) -> None:
        self.send(batch(sequence, 2))

    def known(self, producer_id: int) -> list[Sent]:
        """The batches of the producer's current epoch."""
        return [
            sent
            for sent in self.log
            if sent.header.producer_id == producer_id and sent.header.producer_epoch == self.epochs.get(producer_id)
        ]

    def expected_verdict(self, header: BatchHeader) -> ErrorCode | tuple[int, int] | None:
        epoch = self.epochs.get(header.producer_id)
        if epoch is None:
            return None
        known = self.known(header.producer_id)
        if header.producer_epoch == epoch:
            for sent in known[-RETAINED_BATCHES:]:
                if (sent.header.base_sequence, sent.header.count) == (header.base_sequence, header.count):
                    return sent.header.base_offset, sent.header.last_offset
        if header.producer_epoch < epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        follows = 0
        if header.producer_epoch == epoch and known:
            last = known[-1].header
            follows = (last.base_sequence + last.count) % 2**31
        if header.base_sequence != follows:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if header.producer_id in self.open and not header.is_transactional:
            return ErrorCode.INVALID_TXN_STATE
        return None

    def send(self, header: BatchHeader) -> None:
        verdict: ErrorCode | tuple[int, int] | None
        try:
            duplicate = self.states.check(header)
        except KafkaError as error:
            verdict = error.code
        else:
            verdict = None
            if isinstance(duplicate, DuplicateSequence):
                verdict = (duplicate.batch.first_offset, duplicate.batch.last_offset)
        assert verdict == self.expected_verdict(header)
        if verdict is not None:
            return
        stamped = header._replace(base_offset=self.end_offset, max_timestamp=self.now_ms)
        self.states.append(stamped, self.now_ms)
        self.end_offset = stamped.next_offset
        self.epochs[header.producer_id] = header.producer_epoch
        self.log.append(Sent(stamped, self.now_ms))
        if header.is_transactional:
            self.open.setdefault(header.producer_id, stamped.base_offset)

    producers = st.sampled_from([PRODUCER, PRODUCER + 1])

    @rule(
        producer_id=producers, count=st.integers(1, 3), transactional=st.booleans(), skip=st.sampled_from([0, 0, 0, 1])
    )
    def send_next(self, producer_id: int, count: int, transactional: bool, skip: int) -> None:
        known = self.known(producer_id)
        sequence = (known[-1].header.last_sequence + 1 + skip) & SEQUENCE_MASK if known else skip
        epoch = self.epochs.get(producer_id, 0)
        self.send(batch(sequence, count, epoch=epoch, producer_id=producer_id, transactional=transactional))

    @precondition(lambda self: self.log)
    @rule(data=st.data(), longer=st.sampled_from([0, 0, 1]))
    def retry(self, data: st.DataObject, longer: int) -> None:
        header = data.draw(st.sampled_from(self.log[-8:])).header
        self.send(
            header._replace(base_offset=0, last_offset_delta=header.count - 1 + longer, count=header.count + longer)
        )

    @rule(producer_id=producers, change=st.sampled_from([-1, 1, 2]), sequence=st.sampled_from([0, 0, 1]))
    def send_with_another_epoch(self, producer_id: int, change: int, sequence: int) -> None:
        epoch = max(0, self.epochs.get(producer_id, 0) + change)
        self.send(batch(sequence, 1, epoch=epoch, producer_id=producer_id, transactional=producer_id in self.open))

    @rule(producer_id=producers, committed=st.booleans(), bump=st.booleans())
    def end_transaction(self, producer_id: int, committed: bool, bump: bool) -> None:
        if producer_id not in self.epochs:
            return
        epoch = self.epochs[producer_id] + bump
        header = marker_batch(self.end_offset, epoch=epoch, producer_id=producer_id)
        header = header._replace(max_timestamp=self.now_ms)
        marker = EndTransactionMarker(committed, 0)
        self.states.check_marker(producer_id, epoch, marker)
        completed = self.states.append_marker(header, marker, self.now_ms)
        self.end_offset += 1
        self.epochs[producer_id] = epoch
        self.log.append(Sent(header._replace(producer_epoch=-1), self.now_ms))  # only restarts the expiration
        first_offset = self.open.pop(producer_id, None)
        if first_offset is None:
            assert completed is None
            return
        lso = min(self.open.values(), default=header.next_offset)
        assert completed == CompletedTransaction(producer_id, first_offset, header.base_offset, not committed, lso)
        self.markers.append((header.base_offset, first_offset))

    @rule(elapsed_ms=st.sampled_from([1, 400, EXPIRATION_MS]))
    def expire(self, elapsed_ms: int) -> None:
        self.now_ms += elapsed_ms
        last_sign = {sent.header.producer_id: sent.now_ms for sent in self.log}
        dead = {
            producer_id
            for producer_id, sign_ms in last_sign.items()
            if producer_id not in self.open and self.now_ms - sign_ms >= EXPIRATION_MS
        }
        assert self.states.expire(self.now_ms, EXPIRATION_MS) == len(dead)
        self.log = [sent for sent in self.log if sent.header.producer_id not in dead]
        for producer_id in dead:
            del self.epochs[producer_id]

    @rule(lag=st.integers(0, 3))
    def replicate(self, lag: int) -> None:
        self.high_watermark = max(self.high_watermark, self.end_offset - lag)
        self.states.high_watermark_advanced(self.high_watermark)

    @rule()
    def restart(self) -> None:
        """Restart from a snapshot, which keeps each producer's last batch. All records of the log are replicated."""
        before = {entry.producer_id: entry for entry in self.states.entries()}
        self.states = ProducerStates(decode_snapshot(encode_snapshot(self.states.entries())))
        for entry in self.states.entries():
            old = before[entry.producer_id]
            kept = [attrs.evolve(appended, timestamp_ms=old.last_timestamp_ms) for appended in old.batches]
            assert list(entry.batches) == kept[-1:]
            assert attrs.evolve(entry, batches=old.batches, last_marker_offset=old.last_marker_offset) == old
        for producer_id in self.epochs:
            forgotten = self.known(producer_id)[:-1]
            self.log = [sent for sent in self.log if sent not in forgotten]
        self.high_watermark = self.end_offset

    @invariant()
    def transactions_hold_back_readers(self) -> None:
        unreplicated = [first for marker_offset, first in self.markers if marker_offset >= self.high_watermark]
        first_unstable = min([*self.open.values(), *unreplicated], default=None)
        assert self.states.first_unstable_offset == first_unstable
        expected = self.high_watermark if first_unstable is None else min(first_unstable, self.high_watermark)
        assert self.states.last_stable_offset(self.high_watermark) == expected

    @invariant()
    def no_more_than_five_batches_are_kept(self) -> None:
        assert all(len(entry.batches) <= RETAINED_BATCHES for entry in self.states.entries())
        assert len(self.states) == len(self.epochs)


ProducerMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestProducerMachine = pytest.mark.no_cover(ProducerMachine.TestCase)
