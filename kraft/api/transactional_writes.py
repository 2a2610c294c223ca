"""The partitions of a transactional Produce that its coordinator must confirm before the append (KIP-890)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import attrs
import trio

from kraft.api.context import BrokerContext
from kraft.broker.producer_state import IN_TRANSACTION
from kraft.coordination.verification import Verdicts
from kraft.messages.produce_request import PartitionProduceData
from kraft.records.batch import BatchHeader, CorruptBatch, parse_header
from kraft.records.produced import is_transactional
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.slices import Slices

ABORTABLE_VERSION = 11
ADDING_VERSION = 12
"""The first versions of Produce whose clients know TRANSACTION_ABORTABLE, and leave it to brokers to add partitions."""
_SLICE_PARTITIONS = 200
#: Clients retry the translation at once, without new metadata.
_RETRIED = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


_LED_SINCE = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)


class Unconfirmed(KafkaError):
    """The coordinator did not confirm that a partition is in the transaction. Its client gets the message, too."""

    def anew(self) -> Unconfirmed:
        return Unconfirmed(self.code, self.message)


@attrs.define
class Unverified:
    """The partitions of one request in which its producer has no open transaction yet.

    ``producers`` are the producers of its transactional batches, each as id and epoch. ``log_ends`` has the end of each
    partition's log. ``verdicts`` has the error of each partition that is refused before the append, and None for each
    other one that was found.
    """

    producers: set[tuple[int, int]] = attrs.Factory(set)
    log_ends: dict[tuple[str, int], int] = attrs.Factory(dict)
    verdicts: dict[tuple[str, int], KafkaError | None] = attrs.Factory(dict)

    def check(self, name: str, index: int) -> int:
        """Return the end of the log at which the partition was verified, IN_TRANSACTION if it needed no verification.

        Raises KafkaError with the coordinator's verdict, or NOT_LEADER_OR_FOLLOWER if this broker leads the partition
        only since the others were verified.
        """
        verdict = self.verdicts.get((name, index), _LED_SINCE)
        if verdict is not None:
            raise verdict.anew()
        return self.log_ends.get((name, index), IN_TRANSACTION)


async def unverified(broker: BrokerContext, partitions: Iterable[tuple[str, PartitionProduceData]]) -> Unverified:
    """Find the partitions to verify. A partition or batch that the append will refuse is not among them."""
    found = Unverified()
    slices = Slices(_SLICE_PARTITIONS)
    for name, data in partitions:
        await slices.spend()
        where, header = (name, data.index), _transactional_header(data)
        found.verdicts[where] = None
        if header is None:
            continue
        found.producers.add((header.producer_id, header.producer_epoch))
        try:
            log = broker.replicas.leader_of(*where).log
            log.producers.check_epoch(header.producer_id, header.producer_epoch)
        except KafkaError as refused:
            found.verdicts[where] = refused.anew()
            continue
        if not log.producers.is_in_transaction(header.producer_id, header.producer_epoch):
            found.log_ends[where] = log.log_end_offset
            log.producers.verification_began(header, broker.clock.now_ms())
    return found


async def verify(broker: BrokerContext, version: int, transactional_id: str, wanted: Unverified) -> None:
    """Ask the coordinator, and set ``wanted.verdicts``. ``version`` is that of the Produce request.

    The last transaction of a fast producer may not be complete when the next one begins. A broker that adds partitions
    waits for it, because the producer would wait for longer and send its records again.
    """
    settings = broker.config.transactions
    adds = version >= ADDING_VERSION
    given_up_at = trio.current_time() + settings.add_partitions_to_txn_retry_backoff_max_ms / 1000
    found = await _verdicts(broker, transactional_id, wanted, adds=adds)
    while adds and ErrorCode.CONCURRENT_TRANSACTIONS in found.values() and trio.current_time() < given_up_at:
        await trio.sleep(settings.add_partitions_to_txn_retry_backoff_ms / 1000)
        await _begin_again(broker, wanted)
        found = await _verdicts(broker, transactional_id, wanted, adds=adds)
    for where in wanted.log_ends:
        wanted.verdicts[where] = _for_client(found.get(where, ErrorCode.COORDINATOR_NOT_AVAILABLE), version)


async def _begin_again(broker: BrokerContext, wanted: Unverified) -> None:
    """Take the ends of the logs again. A marker that was appended meanwhile ended the last transaction."""
    slices = Slices(_SLICE_PARTITIONS)
    for name, index in wanted.log_ends:
        await slices.spend()
        with suppress(KafkaError):  # the append refuses a partition that another broker leads now
            wanted.log_ends[name, index] = broker.replicas.leader_of(name, index).log.log_end_offset


async def _verdicts(broker: BrokerContext, transactional_id: str, wanted: Unverified, *, adds: bool) -> Verdicts:
    topics: dict[str, list[int]] = {}
    for name, index in wanted.log_ends:
        topics.setdefault(name, []).append(index)
    (producer,) = wanted.producers
    try:
        return await broker.coordinators.verification.verify(transactional_id, producer, topics, add=adds)
    except KafkaError as refused:
        return dict.fromkeys(wanted.log_ends, refused.code)


def _transactional_header(data: PartitionProduceData) -> BatchHeader | None:
    if not is_transactional(data.records):
        return None
    try:
        assert isinstance(data.records, bytes | bytearray | memoryview), "what was received is in memory"
        return parse_header(data.records)
    except CorruptBatch:
        return None


def _for_client(code: ErrorCode, version: int) -> KafkaError | None:
    """Translate an error of the coordinator as Apache's ``ReplicaManager.handleProduceAppend``."""
    if code is ErrorCode.NONE:
        return None
    if code in _RETRIED or (code is ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDING_VERSION):
        return Unconfirmed(ErrorCode.NOT_ENOUGH_REPLICAS, f"The coordinator of the transaction answered {code.name}.")
    if code is ErrorCode.PRODUCER_FENCED:
        return KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_VERSION:
        code = ErrorCode.INVALID_TXN_STATE
    if code is ErrorCode.INVALID_TXN_STATE:
        return Unconfirmed(code, "The partition is not in the transaction.")
    return KafkaError(code)
