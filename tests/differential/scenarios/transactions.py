"""Transactions: producers of both protocols (KIP-98, KIP-890), and what readers of each isolation level get.

The partitions of a transaction get its markers after the response to EndTxn. A scenario waits for them before it reads.
"""

from __future__ import annotations

import base64
import itertools

import attrs

from kraft.messages.registry import ApiKey
from kraft.records.batch import iter_headers
from kraft.records.control import control_type
from kraft.records.record import read_records
from kraft.wire.errors import ErrorCode
from tests.differential.scenarios.groups import find
from tests.differential.scenarios.produce import (
    TIME_MS,
    UNKNOWN_ID,
    batch,
    find_transactions,
    made,
    produced,
)
from tests.differential.scenarios.read import fetched
from tests.differential.talk import Body, Talk
from tests.support.eventually import eventually

#: The transactions of a scenario stay open until it ends them: the default of transaction.max.timeout.ms.
TIMEOUT_MS = 900_000
#: The last versions of the first protocol. From the next ones on, Produce adds its partitions (KIP-890).
LAST_OF_FIRST = {ApiKey.ADD_PARTITIONS_TO_TXN: 3, ApiKey.PRODUCE: 11, ApiKey.END_TXN: 4}
RETRIABLE = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)
ISOLATION_LEVELS = (0, 1)
MAX_BYTES = 1 << 20
FIRST_TRANSACTIONAL = 3


@attrs.define
class Producer:
    """A transactional producer that writes to one partition of each topic.

    Attributes:
        talk: The requests of the set-up go there, and are not written down.
        sequence: The sequence number of the next record.
    """

    talk: Talk
    transactional_id: str
    producer_id: int
    epoch: int
    sequence: int = 0

    @classmethod
    def started(cls, talk: Talk, transactional_id: str) -> Producer:
        body = {"transactionalId": transactional_id, "transactionTimeoutMs": TIMEOUT_MS}
        answer = talk.prepare(ApiKey.INIT_PRODUCER_ID, body)
        assert not answer["errorCode"], answer
        return cls(talk, transactional_id, answer["producerId"], answer["producerEpoch"])

    def adding(self, topic: Body) -> Body:
        """An AddPartitionsToTxn of a client."""
        return {
            "v3AndBelowTransactionalId": self.transactional_id,
            "v3AndBelowProducerId": self.producer_id,
            "v3AndBelowProducerEpoch": self.epoch,
            "v3AndBelowTopics": [{"name": topic["name"], "partitions": [0]}],
        }

    def writing(self, topic: Body, count: int = 2) -> Body:
        """A Produce of the next records."""
        data = batch(
            count,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self.sequence,
            transactional=True,
        )
        self.sequence += count
        return produced(topic, data, transactionalId=self.transactional_id)

    def ending(self, committed: bool) -> Body:
        named = {"transactionalId": self.transactional_id, "producerId": self.producer_id}
        return {**named, "producerEpoch": self.epoch, "committed": committed}

    def write(self, topic: Body, count: int = 2) -> None:
        """Append records in the newest version, which adds the partition to the transaction."""
        body = self.writing(topic, count)

        def is_written() -> bool:
            answer = self.talk.prepare(ApiKey.PRODUCE, body)
            code = answer["responses"][0]["partitionResponses"][0]["errorCode"]
            assert code in (0, *RETRIABLE), answer
            return not code

        eventually(is_written)

    def end(self, committed: bool) -> None:
        """End the transaction, wait for its markers, and continue with the next epoch."""
        answer = self.talk.prepare(ApiKey.END_TXN, self.ending(committed))
        assert not answer["errorCode"], answer
        self.producer_id, self.epoch, self.sequence = answer["producerId"], answer["producerEpoch"], 0
        self.wait()

    def wait(self) -> None:
        """Until the transaction that ends has all its markers."""
        asked = {"transactionalIds": [self.transactional_id]}

        def has_ended() -> bool:
            (found,) = self.talk.prepare(ApiKey.DESCRIBE_TRANSACTIONS, asked)["transactionStates"]
            return not found["transactionState"].startswith("Prepare")

        eventually(has_ended)


def decoded(answer: Body) -> Body:
    """The response to Fetch or ShareFetch with the fields of its batches that both brokers write alike."""
    for topic in answer["responses"]:
        for partition in topic["partitions"]:
            if partition["records"]:
                partition["records"] = batches(base64.b64decode(partition["records"]))
    return answer


def batches(data: bytes) -> list[Body]:
    found = []
    for position, header in iter_headers(data):
        records = list(read_records(data, position, header, max_bytes=MAX_BYTES))
        types = [control_type(each) for each in records] if header.is_control else []
        found.append(
            {
                "baseOffset": header.base_offset,
                "lastOffset": header.last_offset,
                "attributes": header.attributes,
                "producerEpoch": header.producer_epoch,
                "baseSequence": header.base_sequence,
                "hasProducer": header.producer_id >= 0,
                "records": [str(each) for each in types] or [str(each.value) for each in records],
            }
        )
    return found


def observed(talk: Talk, case: str, producer: Producer, topic: Body) -> None:
    """Everything that readers and administrators learn about the transaction."""
    read_by_each(talk, case, topic)
    described = {"transactionalIds": [producer.transactional_id]}
    for version in talk.versions(ApiKey.DESCRIBE_TRANSACTIONS):
        talk.ask(case, ApiKey.DESCRIBE_TRANSACTIONS, version, described, relevant=without_start)
    listed = {"producerIdFilters": [producer.producer_id], "durationFilter": -1}
    talk.sweep(case, ApiKey.LIST_TRANSACTIONS, listed)


def read_by_each(talk: Talk, case: str, topic: Body) -> None:
    """The records and the end of the log for each isolation level, and the state of the log's producers."""
    for isolation in ISOLATION_LEVELS:
        body = fetched(topic, {}, isolationLevel=isolation)
        talk.ask(f"{case}, isolation {isolation}", ApiKey.FETCH, talk.latest[ApiKey.FETCH], body, relevant=decoded)
        at = talk.latest[ApiKey.LIST_OFFSETS]
        talk.ask(f"{case}, isolation {isolation}", ApiKey.LIST_OFFSETS, at, asked(topic, -1, isolation))
    producers = {"topics": [{"name": topic["name"], "partitionIndexes": [0]}]}
    talk.sweep(case, ApiKey.DESCRIBE_PRODUCERS, producers)


def without_start(answer: Body) -> Body:
    """The response to DescribeTransactions; whether a transaction has begun, and not when."""
    for each in answer["transactionStates"]:
        each["transactionStartTimeMs"] = min(each["transactionStartTimeMs"], 1)
    return answer


def asked(topic: Body, time_ms: int, isolation: int) -> Body:
    rows = [{"partitionIndex": 0, "timestamp": time_ms}]
    return {"replicaId": -1, "isolationLevel": isolation, "topics": [{"name": topic["name"], "partitions": rows}]}


def without_marker_time(answer: Body) -> Body:
    """The response to ListOffsets; a marker has the time at which it was written."""
    for each in answer["topics"][0]["partitions"]:
        each["timestamp"] = min(each["timestamp"], TIME_MS + 1_000_000)
    return answer


def transaction_outcomes(talk: Talk) -> None:
    """A transaction of each protocol from its first record to the requests that come after its end."""
    find_transactions(talk, "outcomes")
    Producer.started(talk, "outcomes").write(made(talk, "outcomes"))  # the first Produce connects to the coordinator
    for version in talk.versions(ApiKey.END_TXN):
        is_first = version <= LAST_OF_FIRST[ApiKey.END_TXN]
        at = LAST_OF_FIRST[ApiKey.PRODUCE] if is_first else talk.latest[ApiKey.PRODUCE]
        for committed in (True, False):
            case = f"outcome-{version}-{committed}"
            topic = made(talk, case)
            producer = Producer.started(talk, case)
            observed(talk, f"{case}, before it", producer, topic)
            if is_first:
                not_added = Producer(talk, case, producer.producer_id, producer.epoch)
                talk.ask(f"{case}, writes too early", ApiKey.PRODUCE, at, not_added.writing(topic))
                for adds in talk.versions(ApiKey.ADD_PARTITIONS_TO_TXN):
                    if adds <= LAST_OF_FIRST[ApiKey.ADD_PARTITIONS_TO_TXN]:
                        talk.ask(f"{case}, adds", ApiKey.ADD_PARTITIONS_TO_TXN, adds, producer.adding(topic))
                observed(talk, f"{case}, added", producer, topic)
            talk.ask(f"{case}, writes", ApiKey.PRODUCE, at, producer.writing(topic, 3))
            talk.prepare(ApiKey.PRODUCE, produced(topic, batch()))
            talk.ask(f"{case}, writes more", ApiKey.PRODUCE, at, producer.writing(topic))
            observed(talk, f"{case}, open", producer, topic)
            for step, outcome in (("ends", committed), ("ends again", committed), ("ends otherwise", not committed)):
                talk.ask(f"{case}, {step}", ApiKey.END_TXN, version, producer.ending(outcome))
                producer.wait()
                observed(talk, f"{case}, {step}", producer, topic)
            talk.ask(f"{case}, writes after it", ApiKey.PRODUCE, at, producer.writing(topic))
            observed(talk, f"{case}, after it", producer, topic)
            # It has no transaction now, and gets another epoch.
            restarted = {"transactionalId": case, "transactionTimeoutMs": TIMEOUT_MS}
            talk.ask(f"{case}, starts again", ApiKey.INIT_PRODUCER_ID, talk.latest[ApiKey.INIT_PRODUCER_ID], restarted)
            observed(talk, f"{case}, starts again", producer, topic)


def refused_batches(talk: Talk) -> None:
    """Batches of transactions that the coordinator or the log refuses, in every version of Produce."""
    find_transactions(talk, "refused")
    topic = made(talk, "refused-batches")
    Producer.started(talk, "refused").write(topic)
    fenced = Producer.started(talk, "refused-fenced")
    fenced.write(topic)
    fenced.end(committed=True)
    newer = Producer.started(talk, "refused-fenced")
    other = Producer.started(talk, "refused-other")
    producers = {
        "of a fenced producer": fenced,
        "of an epoch to come": attrs.evolve(newer, epoch=newer.epoch + 5),
        "of an unknown transactional id": Producer(talk, "refused-nobody", 123_456, 0),
        "of another producer id": attrs.evolve(other, producer_id=123_457),
        "of another's producer id": attrs.evolve(other, producer_id=newer.producer_id, epoch=newer.epoch),
    }
    for version in talk.versions(ApiKey.PRODUCE):
        if version < FIRST_TRANSACTIONAL:
            continue
        for case, producer in producers.items():
            for acks in (-1, 1):
                body = {**attrs.evolve(producer, sequence=0).writing(topic), "acks": acks}
                talk.ask(f"{case}, acks {acks}", ApiKey.PRODUCE, version, body)
        if version <= LAST_OF_FIRST[ApiKey.PRODUCE]:
            talk.ask("that was not added", ApiKey.PRODUCE, version, attrs.evolve(newer, sequence=0).writing(topic))
        nameless = {**attrs.evolve(newer, sequence=0).writing(topic), "transactionalId": None}
        talk.ask("without a transactional id", ApiKey.PRODUCE, version, nameless)
        unknown = {"name": "refused-nowhere", "topicId": UNKNOWN_ID}
        talk.ask("to an unknown topic", ApiKey.PRODUCE, version, attrs.evolve(newer, sequence=0).writing(unknown))


def isolation_levels(talk: Talk) -> None:
    """Transactions that interleave in a partition: committed, aborted, and one that stays open."""
    topic = made(talk, "isolation-levels")
    find_transactions(talk, "isolation")
    first, second, third = (Producer.started(talk, f"isolation-{number}") for number in range(3))
    first.write(topic)
    second.write(topic)
    talk.prepare(ApiKey.PRODUCE, produced(topic, batch()))
    first.end(committed=False)
    second.end(committed=True)
    first.write(topic)
    second.write(topic)
    second.end(committed=False)
    first.end(committed=False)
    talk.prepare(ApiKey.PRODUCE, produced(topic, batch()))
    third.write(topic)
    talk.prepare(ApiKey.PRODUCE, produced(topic, batch()))
    first.write(topic, 1)
    first.end(committed=True)
    read_between(talk, "one open", topic)
    for isolation in ISOLATION_LEVELS:
        case = f"each version, isolation {isolation}"
        for version in talk.versions(ApiKey.FETCH):
            for offset in (0, 8, 14):
                body = fetched(topic, {"fetchOffset": offset}, isolationLevel=isolation)
                talk.ask(f"{case}, offset {offset}", ApiKey.FETCH, version, body, relevant=decoded)
        for time_ms in (-1, -2, TIME_MS):
            talk.sweep(f"{case}, time {time_ms}", ApiKey.LIST_OFFSETS, asked(topic, time_ms, isolation))
    third.end(committed=False)
    read_between(talk, "none open", topic)
    deleted = {"name": topic["name"], "partitions": [{"partitionIndex": 0, "offset": 8}]}
    talk.prepare(ApiKey.DELETE_RECORDS, {"timeoutMs": 5000, "topics": [deleted]})
    read_between(talk, "deleted below 8", topic)


def read_between(talk: Talk, state: str, topic: Body) -> None:
    """Reads in the newest versions that begin inside transactions, between them, and beyond the last stable offset."""
    for isolation in ISOLATION_LEVELS:
        case, at = f"{state}, isolation {isolation}", talk.latest[ApiKey.FETCH]
        for offset in (0, 1, 3, 6, 8, 11, 13, 14, 16, 19, 20, 21):
            body = fetched(topic, {"fetchOffset": offset}, isolationLevel=isolation)
            talk.ask(f"{case}, offset {offset}", ApiKey.FETCH, at, body, relevant=decoded)
            one = fetched(topic, {"fetchOffset": offset, "partitionMaxBytes": 1}, isolationLevel=isolation)
            talk.ask(f"{case}, one batch at {offset}", ApiKey.FETCH, at, one, relevant=decoded)
        at = talk.latest[ApiKey.LIST_OFFSETS]
        for time_ms in (-1, -2, -3, TIME_MS, TIME_MS + 1, TIME_MS + 500):
            body = asked(topic, time_ms, isolation)
            talk.ask(f"{case}, time {time_ms}", ApiKey.LIST_OFFSETS, at, body, relevant=without_marker_time)


def write_txn_markers(talk: Talk) -> None:
    """Markers from a client, as those with which ``kafka-transactions abort`` ends a hanging transaction (KIP-664)."""
    find_transactions(talk, "markers")
    find(talk, "markers")  # creates __consumer_offsets
    for version in talk.versions(ApiKey.WRITE_TXN_MARKERS):
        name = f"markers-{version}"
        topic = made(talk, name, 2)
        producer = Producer.started(talk, name)
        talk.prepare(ApiKey.ADD_PARTITIONS_TO_TXN, producer.adding(topic), LAST_OF_FIRST[ApiKey.ADD_PARTITIONS_TO_TXN])
        producer.write(topic)
        marker = {
            "producerId": producer.producer_id,
            "producerEpoch": producer.epoch,
            "coordinatorEpoch": 0,
            "transactionResult": False,
            "transactionVersion": 0,
            "topics": placed(name, 0),
        }
        numbers = itertools.count()
        for case, more in MARKERS.items():
            placing = {"topics": placed(*more["at"])} if "at" in more else {}
            one = {**marker, **more, **placing, "producerEpoch": producer.epoch + more.get("later", 0)}
            step = f"{name}, {next(numbers)} {case}"
            talk.ask(step, ApiKey.WRITE_TXN_MARKERS, version, {"markers": [one]})
            read_by_each(talk, step, topic)
        last = {**marker, "producerEpoch": producer.epoch + 3, "coordinatorEpoch": 5}
        for case, markers in {
            "no markers": [],
            "two markers": [{**last, "producerId": 7777}, {**last, "topics": placed(name, 0, 1)}],
        }.items():
            talk.ask(f"{name}, {case}", ApiKey.WRITE_TXN_MARKERS, version, {"markers": markers})
            read_by_each(talk, f"{name}, {case}", topic)
        twice = {"markers": [{**last, "topics": placed(name, 0, 0)}]}
        with talk.line(timeout_s=4) as line:
            talk.ask(f"{name}, a partition twice", ApiKey.WRITE_TXN_MARKERS, version, twice, line)


def placed(name: str, *partitions: int) -> list[Body]:
    return [{"name": name, "partitionIndexes": list(partitions)}]


#: In this order, of a producer with an open transaction. ``at``: a topic and its partitions. ``later``: by how much the
#: epoch of the marker exceeds the producer's.
MARKERS: dict[str, Body] = {
    "unknown topic": {"at": ("markers-unknown", 0)},
    "invalid topic": {"at": ("a b", 0)},
    "empty topic": {"at": ("", 0)},
    "no topic": {"topics": []},
    "no partition": {"at": ("markers-unknown",)},
    "offsets of nobody": {"at": ("__consumer_offsets", 0, 7), "producerId": 7777},
    "negative epoch": {"later": -1},
    "the same epoch, second protocol": {"transactionVersion": 2},
    "aborts": {},
    "aborts again": {},
    "commits after it": {"transactionResult": True},
    "later epoch": {"later": 3},
    "earlier epoch": {"later": 2},
    "same epoch": {"later": 3},
    "later coordinator": {"later": 3, "coordinatorEpoch": 5},
    "earlier coordinator": {"later": 3, "coordinatorEpoch": 4},
    "negative coordinator": {"later": 3, "coordinatorEpoch": -1},
    "unknown producer": {"producerId": 7777},
    "negative producer": {"producerId": -1},
    "unknown level": {"later": 4, "coordinatorEpoch": 5, "transactionVersion": 9},
    "negative level": {"later": 5, "coordinatorEpoch": 5, "transactionVersion": -1},
}


def transactions(talk: Talk) -> None:
    """The errors of a transaction's requests, and of those that describe transactions."""
    topic = made(talk, "txn")
    find_transactions(talk, "txn")
    find(talk, "txn-group")
    number = iter(range(1000))
    init = {"transactionalId": "txn", "transactionTimeoutMs": 60_000}
    for case, more in {
        "null id": {"transactionalId": None},
        "empty id": {"transactionalId": ""},
        "no time": {"transactionTimeoutMs": 0},
        "too long": {"transactionTimeoutMs": 900_001},
        "id without epoch": {"producerId": 7},
        "epoch without id": {"producerEpoch": 7},
        "unknown producer": {"producerId": 7777, "producerEpoch": 3, "transactionalId": "txn-unknown"},
    }.items():
        talk.sweep(case, ApiKey.INIT_PRODUCER_ID, {**init, **more})
    started = talk.prepare(ApiKey.INIT_PRODUCER_ID, init)
    producer = {"producerId": started["producerId"], "producerEpoch": started["producerEpoch"]}
    partitions = [{"name": topic["name"], "partitions": [0]}]
    offsets = {"partitionIndex": 0, "committedOffset": 3, "committedMetadata": "", "committedLeaderEpoch": -1}
    rows = [{"name": topic["name"], "partitions": [offsets]}]
    cases: dict[str, Body] = {
        "unknown id": {"transactionalId": "txn-nobody"},
        "empty id": {"transactionalId": ""},
        "other producer": {"producerId": 7777},
        "earlier epoch": {"producerEpoch": producer["producerEpoch"] - 1},
        "later epoch": {"producerEpoch": producer["producerEpoch"] + 1},
        "negative epoch": {"producerEpoch": -1},
    }

    def add(case: str, body: Body, names: list[Body], newest: int = talk.latest[ApiKey.ADD_PARTITIONS_TO_TXN]) -> None:
        old = {
            "v3AndBelowTransactionalId": body["transactionalId"],
            "v3AndBelowProducerId": body["producerId"],
            "v3AndBelowProducerEpoch": body["producerEpoch"],
            "v3AndBelowTopics": names,
        }
        for verify in (False, True):
            one = {**body, "verifyOnly": verify, "topics": names}
            for version in talk.versions(ApiKey.ADD_PARTITIONS_TO_TXN):
                if version <= newest and (version >= 4 or not verify):
                    label = f"{next(number)} {case} {verify}"
                    talk.ask(label, ApiKey.ADD_PARTITIONS_TO_TXN, version, {**old, "transactions": [one]})

    for case, more in cases.items():
        body = {"transactionalId": "txn", **producer, **more}
        add(case, body, partitions)
        talk.sweep(case, ApiKey.ADD_OFFSETS_TO_TXN, {**body, "groupId": "txn-group"})
        talk.sweep(case, ApiKey.TXN_OFFSET_COMMIT, {**body, "groupId": "txn-group", "topics": rows})
        for committed in (True, False):
            talk.sweep(f"{case} {committed}", ApiKey.END_TXN, {**body, "committed": committed})
        talk.sweep(f"{case}, known", ApiKey.INIT_PRODUCER_ID, {**init, **producer, **more})
    good = {"transactionalId": "txn", **producer}
    for case, names in {
        "unknown topic": [{"name": "txn-nowhere", "partitions": [0]}],
        "unknown partition": [{"name": topic["name"], "partitions": [9]}],
        "good and unknown": [*partitions, {"name": "txn-nowhere", "partitions": [0]}],
        "nothing": [],
    }.items():
        add(case, good, names)
    internal = {"name": "__transaction_state", "partitions": [0]}
    for case, names in {
        "internal topic": [internal],
        "internal topic that does not exist": [{"name": "__share_group_state", "partitions": [0]}],
        "good, unknown and internal": [*partitions, {"name": "txn-nowhere", "partitions": [0]}, internal],
    }.items():
        add(case, good, names, LAST_OF_FIRST[ApiKey.ADD_PARTITIONS_TO_TXN])
    for case, more in {
        "unknown member": {"memberId": "nobody", "generationId": 1},
        "generation alone": {"generationId": 1},
        "unknown instance": {"memberId": "nobody", "generationId": 1, "groupInstanceId": "i"},
        "no group": {"groupId": ""},
        "unknown topic": {"topics": [{"name": "txn-nowhere", "partitions": [offsets]}]},
        "no topics": {"topics": []},
    }.items():
        body = {**good, "groupId": "txn-group", "topics": rows, **more}
        talk.sweep(case, ApiKey.TXN_OFFSET_COMMIT, body)
    talk.sweep("no group", ApiKey.ADD_OFFSETS_TO_TXN, {**good, "groupId": ""})


def listed_transactions(talk: Talk) -> None:
    topic = made(talk, "listed-txn")
    find_transactions(talk, "listed")
    for name in ("listed-a", "listed-b"):
        started = talk.prepare(ApiKey.INIT_PRODUCER_ID, {"transactionalId": name, "transactionTimeoutMs": 60_000})
    add = {
        "v3AndBelowTransactionalId": "listed-b",
        "v3AndBelowProducerId": started["producerId"],
        "v3AndBelowProducerEpoch": started["producerEpoch"],
        "v3AndBelowTopics": [{"name": topic["name"], "partitions": [0]}],
    }
    added = talk.prepare(ApiKey.ADD_PARTITIONS_TO_TXN, add, 3)
    assert not added["resultsByTopicV3AndBelow"][0]["resultsByPartition"][0]["partitionErrorCode"], added
    for case, filters in {
        "all": {},
        "ongoing": {"stateFilters": ["Ongoing"]},
        "lower case": {"stateFilters": ["ongoing"]},
        "unknown state": {"stateFilters": ["Asleep", "Empty"]},
        "a producer": {"producerIdFilters": [started["producerId"]]},
        "nobody": {"producerIdFilters": [7777]},
        "old": {"durationFilter": 3_600_000},
        "young": {"durationFilter": 0},
        "negative": {"durationFilter": -5},
        "a pattern": {"transactionalIdPattern": "listed-.*"},
        "a part": {"transactionalIdPattern": "sted-b"},
        "empty pattern": {"transactionalIdPattern": ""},
        "invalid pattern": {"transactionalIdPattern": "["},
        "two filters": {"transactionalIdPattern": ".*-b", "stateFilters": ["Empty"]},
    }.items():
        for version in talk.versions(ApiKey.LIST_TRANSACTIONS):
            if version >= (2 if "transactionalIdPattern" in filters else 1 if "durationFilter" in filters else 0):
                answer = talk.prepare(ApiKey.LIST_TRANSACTIONS, {"durationFilter": -1, **filters}, version)
                known = [each for each in answer["transactionStates"] if each["transactionalId"].startswith("listed-")]
                talk.note(f"LIST_TRANSACTIONS {version}: {case}", {**answer, "transactionStates": known})
    for version in talk.versions(ApiKey.DESCRIBE_TRANSACTIONS):
        answer = talk.prepare(
            ApiKey.DESCRIBE_TRANSACTIONS, {"transactionalIds": ["listed-a", "listed-b", "listed-c", ""]}, version
        )
        for each in answer["transactionStates"]:
            each["transactionStartTimeMs"] = min(each["transactionStartTimeMs"], 1)
        talk.note(f"DESCRIBE_TRANSACTIONS {version}", answer)
