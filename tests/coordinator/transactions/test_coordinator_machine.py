"""Random requests to one transactional id, with every mixture of producer ids, epochs, versions and faults.

The model has Apache Kafka 4.3's decisions as tables. The coordinator must give the model's responses, and its log must
have the model's state.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from kraft.coordinator.transactions import requests
from kraft.coordinator.transactions.core import ExpireTransactionalIds, TransactionCoordinator
from kraft.coordinator.transactions.records import TransactionRecord
from kraft.coordinator.transactions.step import TransactionEntry, TransactionStep
from kraft.coordinator.transactions.transaction import Transaction, TransactionPartition, TransactionStatus
from kraft.metadata.steps import Steps, finished
from kraft.wire.errors import ErrorCode
from tests.coordinator.transactions.desk import (
    FIRST_PRODUCER_ID,
    ID,
    NO_PRODUCER,
    TIMEOUT,
    TransactionDesk,
    add_request,
    end_request,
    init_request,
)

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = list(TransactionStatus)[:6]
NONE, FENCED = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED
CONCURRENT, INVALID_STATE = ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE
UNKNOWN = ErrorCode.INVALID_PRODUCER_ID_MAPPING
LAST = 32766
WEEK_S = 7 * 24 * 3600
PARTITIONS = [("topic", 0), ("topic", 1), ("other", 0)]
UNCOMMITTED = ("topic", 9)

END = {
    EMPTY: (INVALID_STATE, INVALID_STATE),
    ONGOING: (None, None),
    COMPLETE_COMMIT: (NONE, INVALID_STATE),
    COMPLETE_ABORT: (INVALID_STATE, NONE),
}
"""EndTxn below version 5: the responses to a commit and to an abort. None means that the transaction ends."""
BUMPING_END = {
    EMPTY: (INVALID_STATE, None, FENCED, FENCED),
    ONGOING: (None, None, FENCED, FENCED),
    COMPLETE_COMMIT: (INVALID_STATE, None, NONE, INVALID_STATE),
    COMPLETE_ABORT: (INVALID_STATE, None, INVALID_STATE, NONE),
}
"""EndTxn from version 5 on: with the current epoch a commit and an abort, then with the epoch before."""
PREPARED = (PREPARE_COMMIT, PREPARE_ABORT)
"""Apache's ``prepareComplete`` makes the end pending as soon as one of these is committed, or loaded."""


@attrs.define
class Model:
    producer: tuple[int, int]
    last_epoch: int = -1
    previous_id: int = -1
    next_id: int = -1
    status: TransactionStatus = EMPTY
    partitions: set[TransactionPartition] = attrs.Factory(set)
    unwritten: set[TransactionPartition] = attrs.Factory(set)

    def become(self, status: TransactionStatus) -> None:
        self.previous_id = self.producer[0]
        self.status = status

    def bump(self, *, keeps_last: bool) -> None:
        producer_id, epoch = self.producer
        self.last_epoch = epoch if keeps_last else -1
        self.producer = (producer_id, epoch + 1)

    def complete(self) -> None:
        self.become(COMPLETE_COMMIT if self.status is PREPARE_COMMIT else COMPLETE_ABORT)
        self.partitions.clear()
        if self.next_id >= 0:
            self.producer, self.next_id = (self.next_id, 0), -1


class Transactions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.desk = TransactionDesk()
        self.model: Model | None = None
        self.next_id = FIRST_PRODUCER_ID
        self.is_stalled = False

    @initialize(version=st.sampled_from([0, 2, 2]), epoch=st.sampled_from([0, LAST - 2, LAST - 1, LAST]))
    def start(self, version: int, epoch: int) -> None:
        self.desk.transaction_version = version
        self.desk.init()
        self.model = Model((self.new_id(), 0), previous_id=FIRST_PRODUCER_ID)
        if epoch:
            entry = self.desk.core.entries[ID]
            entry.transaction = attrs.evolve(entry.transaction, epoch=epoch)
            self.model.producer = (FIRST_PRODUCER_ID, epoch)
            self.desk.init()  # the changed epoch is in no record
            self.init_model(NO_PRODUCER)

    def new_id(self) -> int:
        self.next_id += 1
        return self.next_id - 1

    def producers(self, choice: int) -> tuple[int, int]:
        """The current producer, one of those before, or one that never was."""
        if self.model is None:
            return (77, 0)
        producer_id, epoch = self.model.producer
        near = [
            (producer_id, epoch),
            (producer_id, epoch - 1),
            (self.model.previous_id, LAST),
            (producer_id, epoch + 1),
            (self.model.next_id, 0),
        ]
        chosen = [near[0], near[0], *near, (77, epoch)][choice]
        return chosen if min(chosen) >= 0 else (producer_id, epoch)

    choices = st.integers(0, 7)

    @property
    def is_changing(self) -> bool:
        """Apache's ``pendingTransitionInProgress``."""
        return self.is_stalled or (self.model is not None and self.model.status in PREPARED)

    @rule(choice=st.just(-1) | choices)
    def init(self, choice: int) -> None:
        producer = NO_PRODUCER if choice < 0 else self.producers(choice)
        expected = CONCURRENT if self.is_changing else self.init_model(producer)
        response = self.desk.ask(init_request(producer), 4)
        if isinstance(expected, ErrorCode):
            assert (response.error_code, response.producer_id, response.producer_epoch) == (expected, -1, -1)
        else:
            assert (response.error_code, response.producer_id, response.producer_epoch) == (NONE, *expected)

    def init_model(self, producer: tuple[int, int]) -> ErrorCode | tuple[int, int]:
        if self.model is None:
            self.model = Model((self.new_id(), 0))
            self.model.previous_id = self.model.producer[0]
            return self.model.producer
        model, expects = self.model, producer != NO_PRODUCER
        if expects and producer[0] != model.producer[0] and (producer[0] != model.previous_id or producer[1] < LAST):
            return FENCED
        if model.status is ONGOING:
            self.fence_model()
            return CONCURRENT
        if expects and producer[1] != model.producer[1]:
            if producer[1] != model.last_epoch:
                return FENCED
            model.become(EMPTY)
        elif model.producer[1] >= LAST:
            model.become(EMPTY)
            model.last_epoch = model.producer[1] if expects else -1
            model.producer = (self.new_id(), 0)
        else:
            model.become(EMPTY)
            model.bump(keeps_last=expects)
        return model.producer

    def fence_model(self) -> None:
        assert self.model is not None
        if self.desk.transaction_version:
            self.end_model(committed=False, bumps=True)
        else:
            self.model.bump(keeps_last=False)
            self.end_model(committed=False, bumps=False)

    @rule(choice=choices, partitions=st.sets(st.sampled_from(PARTITIONS)), verifies=st.booleans())
    def add(self, choice: int, partitions: set[TransactionPartition], verifies: bool) -> None:
        producer, model = self.producers(choice), self.model
        answers = self.desk.add(producer, *sorted(partitions), verify_only=verifies, version=5 if verifies else 3)
        expected = NONE
        if self.is_changing and not verifies and model is not None:
            expected = CONCURRENT
        elif model is None or producer[0] != model.producer[0]:
            expected = UNKNOWN
        elif producer != model.producer or producer[1] > LAST:
            expected = FENCED
        elif model.status in PREPARED:
            expected = CONCURRENT
        elif not verifies:
            if model.status is not ONGOING or not partitions <= model.partitions:
                model.become(ONGOING)
            model.partitions |= partitions
        elif partitions:
            absent = ErrorCode.TRANSACTION_ABORTABLE
            assert answers == {each: NONE if each in model.partitions else absent for each in partitions}
            return
        assert answers == dict.fromkeys(partitions, expected)

    @rule(choice=choices, committed=st.booleans(), bumps=st.booleans())
    def end(self, choice: int, committed: bool, bumps: bool) -> None:
        bumps = bumps and self.desk.transaction_version > 0
        producer = self.producers(choice)
        response = self.desk.ask(end_request(producer, committed=committed), 5 if bumps else 3)
        code, following = self.end_code(producer, committed, bumps)
        assert response.error_code == code
        assert (response.producer_id, response.producer_epoch) == (following if bumps and code is NONE else NO_PRODUCER)

    @precondition(lambda self: self.model is not None and not self.desk.markers[8:])
    @rule(partitions=st.sets(st.sampled_from(PARTITIONS), min_size=1), committed=st.booleans(), bumps=st.booleans())
    def transaction(self, partitions: set[TransactionPartition], committed: bool, bumps: bool) -> None:
        """The current producer adds partitions and ends its transaction, without the markers."""
        self.add(0, partitions, verifies=False)
        self.end(0, committed, bumps)

    @precondition(lambda self: self.model is not None and self.model.status in PREPARED)
    @rule()
    def write_all_markers(self) -> None:
        self.write_markers(set(PARTITIONS) | {UNCOMMITTED}, stale=False)

    def end_code(self, producer: tuple[int, int], committed: bool, bumps: bool) -> tuple[ErrorCode, tuple[int, int]]:
        model = self.model
        if model is None:
            return UNKNOWN, NO_PRODUCER
        if bumps and self.is_changing:
            return CONCURRENT, NO_PRODUCER
        rotated = bumps and producer == (model.previous_id, LAST) and model.producer[1] == 0
        if producer[0] != model.producer[0] and not rotated:
            return UNKNOWN, NO_PRODUCER
        is_before = rotated or producer[1] + 1 == model.producer[1]
        if producer != model.producer and not (bumps and is_before):
            return FENCED, NO_PRODUCER
        if self.is_changing:
            return CONCURRENT, NO_PRODUCER
        if bumps and not is_before and producer[1] > LAST:
            return FENCED, NO_PRODUCER
        column = (0 if committed else 1) + (2 if bumps and is_before else 0)
        code = (BUMPING_END if bumps else END)[model.status][column]
        if code is not None:
            return code, model.producer
        self.end_model(committed=committed, bumps=bumps)
        return NONE, (model.next_id, 0) if model.next_id >= 0 else model.producer

    def end_model(self, *, committed: bool, bumps: bool) -> None:
        assert self.model is not None
        self.model.become(PREPARE_COMMIT if committed else PREPARE_ABORT)
        if bumps:
            if self.model.producer[1] >= LAST:
                self.model.next_id = self.new_id()
            self.model.bump(keeps_last=True)
        self.model.unwritten = set(self.model.partitions)
        if not self.model.partitions:
            self.model.complete()

    @precondition(lambda self: self.desk.markers and not self.is_stalled)
    @rule(written=st.sets(st.sampled_from(PARTITIONS)), stale=st.booleans())
    def write_markers(self, written: set[TransactionPartition], stale: bool) -> None:
        """Report markers of the newest outcome, or of one before, which has no effect."""
        markers = self.desk.markers
        self.desk.markers = markers[:1] if stale else markers[-1:]
        if written:
            self.desk.write_markers(*sorted(written))
        is_current = not stale or len(markers) == 1
        self.desk.markers = markers
        if is_current and self.model is not None and self.model.status in PREPARED:
            self.model.unwritten -= written
            if not self.model.unwritten:
                self.model.complete()

    @precondition(lambda self: not self.is_stalled and self.model is not None)
    @rule(committed=st.booleans())
    def records_are_not_committed(self, committed: bool) -> None:
        """Leave a request without its commit, which then comes, or is lost with the coordinator."""
        assert self.model is not None
        before = attrs.evolve(self.model, partitions=set(self.model.partitions))
        self.desk.is_followed = False
        token = self.desk.send(add_request(self.model.producer, UNCOMMITTED), 3)
        if token in self.desk.answers:
            self.desk.is_followed = True
            return
        self.is_stalled = True
        self.add(0, {PARTITIONS[0]}, verifies=False)
        self.end(0, committed=True, bumps=False)
        self.init(-1)
        self.is_stalled = False
        self.desk.is_followed = True
        if committed:
            self.desk.commit_all()
            assert self.desk.answers[token].topic_results[0].results_by_partition[0].partition_error_code == NONE
            self.model.become(ONGOING)
            self.model.partitions.add(UNCOMMITTED)
        else:
            self.model = before
            self.reload()
            assert token not in self.desk.answers

    @rule()
    def reload(self) -> None:
        """Another coordinator loads the log, which has no last epoch, and below version 1 no other producer ids."""
        self.desk.reload()
        if self.model is not None:
            self.model.last_epoch = -1
            self.model.unwritten = set(self.model.partitions)
            if not self.desk.transaction_version:
                self.model.previous_id = self.model.next_id = -1

    @rule(seconds=st.sampled_from([0.0, 1.0, TIMEOUT / 1000 + 10]))
    def pass_time(self, seconds: float) -> None:
        model = self.model
        if model is not None and model.status is ONGOING:
            started_s = self.desk.state().started_ms / 1000
            if math.ceil((started_s + TIMEOUT / 1000) / 10) * 10 <= self.desk.now + seconds:
                self.fence_model()
        self.desk.pass_time(seconds)

    @rule()
    def expire(self) -> None:
        model = self.model
        if model is None or model.status in (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT):
            self.desk.now += WEEK_S
            self.model = None
        self.desk.step(ExpireTransactionalIds())

    @invariant()
    def the_state_is_the_models(self) -> None:
        entry, model = self.desk.core.entries.get(ID), self.model
        assert (entry is None) is (model is None)
        if entry is None or model is None:
            return
        state = entry.transaction
        assert ((state.producer_id, state.epoch), state.status) == (model.producer, model.status)
        assert (state.last_epoch, state.next_producer_id) == (model.last_epoch, model.next_id)
        assert state.partitions == model.partitions
        if model.status in PREPARED:
            assert entry.unwritten == model.unwritten

    @invariant()
    def the_log_has_it_all(self) -> None:
        """A coordinator that loads the log now has the same state, except for the last epoch."""
        heir = TransactionCoordinator(self.desk.core.world)
        finished(heir.load(self.desk.written))
        has_tags = self.desk.transaction_version > 0
        for transactional_id, entry in self.desk.core.entries.items():
            state = attrs.evolve(entry.transaction, last_epoch=-1)
            if not has_tags:
                state = attrs.evolve(state, previous_producer_id=-1, next_producer_id=-1, client_version=0)
            assert heir.entries[transactional_id].transaction == state
        assert heir.entries.keys() == self.desk.core.entries.keys()


TestTransactions = pytest.mark.no_cover(Transactions.TestCase)
TestTransactions.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, report_multiple_bugs=False
)
UNSHRUNK = settings(TestTransactions.settings, max_examples=500, phases=[Phase.generate])


@pytest.mark.no_cover
class TestPlantedBugs:
    """The test notices wrong epochs, wrong codes and records that lack something."""

    def notices(self) -> None:
        with pytest.raises((AssertionError, ExceptionGroup)):
            run_state_machine_as_test(Transactions, settings=UNSHRUNK)

    def test_a_retry_that_bumps_the_epoch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        initialized = requests._initialized

        def bumped(step: TransactionStep, current: Transaction, message: Any) -> Transaction:
            if message.producer_epoch == current.last_epoch:
                message.producer_epoch = current.epoch
            return initialized(step, current, message)

        monkeypatch.setattr(requests, "_initialized", bumped)
        self.notices()

    def test_a_new_producer_that_leaves_the_last_epoch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        initialized = Transaction.initialized

        def left(self: Transaction, *arguments: Any, **changes: Any) -> Transaction:
            return initialized(self, *arguments, **{**changes, "last_epoch": self.epoch})

        monkeypatch.setattr(Transaction, "initialized", left)
        self.notices()

    def test_a_fence_that_leaves_the_epoch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fence(self: TransactionStep, entry: TransactionEntry) -> Steps[None]:
            yield from self.end(entry, committed=False, client_version=0)

        monkeypatch.setattr(TransactionStep, "fence", fence)
        self.notices()

    def test_an_epoch_beyond_the_last_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Transaction, "is_exhausted", property(lambda self: self.epoch > LAST + 1))
        self.notices()

    def test_an_end_that_no_longer_changes_once_it_is_prepared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(TransactionEntry, "is_changing", property(lambda self: self.pending is not None))
        self.notices()

    def test_a_commit_of_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        is_ended = requests._is_ended_with_bump

        def ended(entry: TransactionEntry, message: Any) -> bool:
            return entry.transaction.status is not EMPTY and is_ended(entry, message)

        monkeypatch.setattr(requests, "_is_ended_with_bump", ended)
        self.notices()

    def test_a_report_of_another_transaction(self, monkeypatch: pytest.MonkeyPatch) -> None:
        written = TransactionCoordinator._markers_written

        def any_written(self: TransactionCoordinator, step: TransactionStep, event: Any) -> Steps[None]:
            entry = self.entries.get(event.markers.transactional_id)
            if entry is not None and entry.markers is not None:
                event = attrs.evolve(event, markers=entry.markers)
            yield from written(self, step, event)

        monkeypatch.setattr(TransactionCoordinator, "_markers_written", any_written)
        self.notices()

    def test_a_record_without_the_next_producer_id(self, monkeypatch: pytest.MonkeyPatch) -> None:
        records = TransactionStep._records

        def without(self: TransactionStep, entry: Any, states: tuple[Transaction, ...]) -> Steps[Any]:
            made: list[TransactionRecord] = yield from records(
                self, entry, tuple(attrs.evolve(state, next_producer_id=-1) for state in states)
            )
            return [attrs.evolve(each, transaction=state) for each, state in zip(made, states, strict=True)]

        monkeypatch.setattr(TransactionStep, "_records", without)
        self.notices()

    def test_an_open_transaction_that_expires(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def buries(self: TransactionCoordinator, step: TransactionStep) -> Steps[None]:
            for entry in list(self.entries.values()):
                step.append_tombstone(entry)
                yield 1

        monkeypatch.setattr(TransactionCoordinator, "_expire", buries)
        self.notices()
