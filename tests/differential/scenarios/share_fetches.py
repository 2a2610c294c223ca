"""Share sessions, and the records that members of share groups acquire and acknowledge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kraft.messages.registry import ApiKey
from kraft.records.compression import Compression
from tests.differential.scenarios.produce import UNKNOWN_ID, batch, find_transactions, made, produced
from tests.differential.scenarios.share_groups import GROUP_RESOURCE, A, B, configured, joined
from tests.differential.scenarios.shares import on, wanted
from tests.differential.scenarios.transactions import Producer, decoded
from tests.differential.talk import Body, Talk
from tests.support.eventually import eventually

FETCH, ACKNOWLEDGE = ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
RECORD_LIMIT = 1
WAIT_MS = 3000
#: The first offset, the last offset, and the types of an acknowledgement.
Batch = tuple[int, int, Sequence[int]]


def rows(topic_id: str, *acknowledged: Batch, index: int = 0) -> Body:
    batches = [
        {"firstOffset": first, "lastOffset": last, "acknowledgeTypes": list(types)}
        for first, last, types in acknowledged
    ]
    return {"topicId": topic_id, "partitions": [{"partitionIndex": index, "acknowledgementBatches": batches}]}


def fetch(group: str, epoch: int, *topics: Body, member: str = A, **more: Any) -> Body:
    """A ShareFetch that waits for one byte, as long as that may take. Only a partition that is loaded needs no time."""
    body = {"groupId": group, "memberId": member, "shareSessionEpoch": epoch, "topics": list(topics)}
    limits = {"maxWaitMs": WAIT_MS, "minBytes": 1, "maxBytes": 1 << 20, "maxRecords": 500, "batchSize": 500}
    return {**body, **limits, "shareAcquireMode": 0, "isRenewAck": False, "forgottenTopicsData": [], **more}


def acknowledge(group: str, epoch: int, *topics: Body, member: str = A, **more: Any) -> Body:
    body = {"groupId": group, "memberId": member, "shareSessionEpoch": epoch, "topics": list(topics)}
    return {**body, "isRenewAck": False, **more}


def written(talk: Talk, name: str, batches: int = 3, partitions: int = 1) -> str:
    """A topic whose first partition has batches of four records. Return its id."""
    topic = made(talk, name, partitions)
    for _ in range(batches):
        talk.prepare(ApiKey.PRODUCE, produced(topic, batch(4)))
    return str(topic["topicId"])


def read(talk: Talk, group: str, topic: str, *members: str) -> None:
    """Let members join a group that reads a topic from its beginning."""
    configured(talk, group, share_auto_offset_reset="earliest")
    for member in members or (A,):
        joined(talk, group, member, topic)


class Steps:
    """Requests in one version, each with a number, so that a case may occur again."""

    def __init__(
        self,
        talk: Talk,
        version: int,
        group: str,
        topic_id: str,
        relevant: Callable[[Body], Body] = lambda answer: answer,
    ) -> None:
        self.talk, self.version, self.group, self.topic_id, self.relevant = talk, version, group, topic_id, relevant
        self.number = 0

    def ask(self, case: str, api: ApiKey, body: Body, version: int | None = None) -> Any:
        self.number += 1
        at = self.version if version is None else version
        return self.talk.ask(f"{self.group} {self.number} {case}", api, at, body, relevant=self.relevant)

    def fetch(self, case: str, epoch: int, *topics: Body, **more: Any) -> Any:
        return self.ask(case, FETCH, fetch(self.group, epoch, *topics, **more))

    def acknowledge(self, case: str, epoch: int, *batches: Batch, **more: Any) -> Any:
        return self.ask(case, ACKNOWLEDGE, acknowledge(self.group, epoch, rows(self.topic_id, *batches), **more))

    def state(self, case: str, awaited: int | None = None) -> None:
        """Note what the share coordinator has, once it has the offset ``awaited``.

        The end of a session is answered before the records that it frees are written.
        """
        api = ApiKey.READ_SHARE_GROUP_STATE
        body = on(self.topic_id, wanted(api, 0), group=self.group)

        def is_written() -> bool:
            partition = self.talk.prepare(api, body)["results"][0]["partitions"][0]
            return any(each["firstOffset"] <= awaited <= each["lastOffset"] for each in partition["stateBatches"])

        if awaited is not None:
            eventually(is_written)
        self.ask(case, api, body, self.talk.latest[api])


def share_sessions(talk: Talk) -> None:
    topic_id = written(talk, "share-sessions", partitions=2)
    other_id = written(talk, "share-sessions-2", 1)
    for version in talk.versions(FETCH):
        group = f"sessions-{version}"
        read(talk, group, "share-sessions")
        steps = Steps(talk, version, group, topic_id)
        one, two = rows(topic_id), rows(topic_id, index=1)
        accepted = rows(topic_id, (0, 3, [ACCEPT]))
        for case, more in {
            "no group": {"groupId": None},
            "empty group": {"groupId": ""},
            "no member": {"memberId": None},
            "empty member": {"memberId": ""},
            "long member": {"memberId": "m" * 37},
            "other member": {"memberId": "not-an-id"},
        }.items():
            steps.fetch(case, 5, one, **more)
            steps.acknowledge(case, 5, (0, 3, [ACCEPT]), **more)
        steps.fetch("epoch 1, no session", 1, one)
        steps.fetch("epoch -1, no session", -1, one)
        steps.fetch("epoch -2", -2, one)
        steps.fetch("epoch 0, acknowledges", 0, accepted)
        for epoch in (0, 1, -1, -2):
            steps.acknowledge(f"epoch {epoch}, no session", epoch, (0, 3, [ACCEPT]))
        steps.fetch("epoch 0, nothing", 0, maxWaitMs=0)
        steps.fetch("epoch 0", 0, one)
        steps.fetch("epoch 0 again", 0, one, maxWaitMs=10)
        steps.fetch("epoch 2", 2, one, maxWaitMs=0)
        steps.fetch("epoch 1", 1, maxWaitMs=10)
        steps.fetch("epoch 1 again", 1, maxWaitMs=10)
        steps.acknowledge("epoch 1", 1, (0, 3, [ACCEPT]))
        steps.acknowledge("epoch 0", 0, (0, 3, [ACCEPT]))
        steps.acknowledge("epoch 2", 2, (0, 3, [ACCEPT]))
        steps.fetch("acknowledges and fetches", 3, rows(topic_id, (4, 7, [ACCEPT])), maxWaitMs=10)
        steps.fetch("an empty partition", 4, two)
        steps.fetch("an unknown partition", 5, rows(topic_id, index=9), maxWaitMs=10)
        steps.fetch("forgotten", 6, forgottenTopicsData=[{"topicId": topic_id, "partitions": [9]}], maxWaitMs=10)
        steps.fetch("an unknown topic", 7, rows(UNKNOWN_ID), maxWaitMs=10)
        gone = [{"topicId": UNKNOWN_ID, "partitions": [0]}]
        steps.fetch("forgotten", 8, forgottenTopicsData=gone, maxWaitMs=10)
        steps.fetch("forgets what it never had", 9, forgottenTopicsData=gone, maxWaitMs=10)
        steps.fetch("a partition with states of nobody", 10, rows(other_id))
        more_gone = [{"topicId": other_id, "partitions": [0]}]
        steps.fetch("forgotten", 11, forgottenTopicsData=more_gone, maxWaitMs=10)
        steps.fetch("a stranger fetches", 0, one, member=B, maxWaitMs=10)
        steps.fetch("a stranger leaves", -1, member=B)
        for case, limits in {
            "no wait": {"maxWaitMs": 0},
            "no bytes": {"maxBytes": 0},
            "no records": {"maxRecords": 0, "maxWaitMs": 10},
            "negative records": {"maxRecords": -1, "maxWaitMs": 10},
            "negative wait": {"maxWaitMs": -1},
        }.items():
            steps.fetch(case, 0, one, **limits)
        steps.fetch("last", -1, accepted)
        steps.fetch("last again", -1)
        steps.acknowledge("after it", 13, (0, 3, [ACCEPT]))
        steps.state("after it", awaited=11)


def share_acquisition(talk: Talk) -> None:
    """How many records one request gets, in which batches, and when again."""
    for version in talk.versions(FETCH):
        topic = f"share-acquired-{version}"
        topic_id = written(talk, topic, 4)
        for case, limits in {
            "records 1": {"maxRecords": 1},
            "records 5": {"maxRecords": 5},
            "records 5, batches of 1": {"maxRecords": 5, "batchSize": 1},
            "batches of 4": {"batchSize": 4},
            "batches of 6": {"batchSize": 6},
            "batches of 0": {"batchSize": 0},
            "bytes 1": {"maxBytes": 1},
            "bytes 200": {"maxBytes": 200},
            "strict 1": {"maxRecords": 1, "shareAcquireMode": RECORD_LIMIT},
            "strict 6": {"maxRecords": 6, "shareAcquireMode": RECORD_LIMIT},
            "strict 6, batches of 1": {"maxRecords": 6, "batchSize": 1, "shareAcquireMode": RECORD_LIMIT},
            "mode 7": {"maxRecords": 6, "shareAcquireMode": 7},
        }.items():
            group = f"acquired {version} {case}"
            read(talk, group, topic)
            steps = Steps(talk, version, group, topic_id)
            steps.fetch("first", 0, rows(topic_id), **limits)
            steps.fetch("next", 1, **limits, maxWaitMs=10)
            steps.fetch("with others", 2, rows(topic_id, (0, 0, [ACCEPT])), **limits, maxWaitMs=10)
            steps.fetch("another member", 0, rows(topic_id), member=B, **limits, maxWaitMs=10)


OUTCOMES: dict[str, list[Batch]] = {
    "all": [(0, 11, [ACCEPT])],
    "one batch": [(0, 3, [ACCEPT])],
    "the second batch": [(4, 7, [REJECT])],
    "batches": [(0, 3, [ACCEPT]), (4, 7, [RELEASE]), (8, 11, [REJECT])],
    "across batches": [(2, 9, [ACCEPT])],
    "one by one": [(0, 3, [ACCEPT, RELEASE, REJECT, GAP])],
    "gaps alone": [(0, 3, [GAP])],
    "one by one, two batches": [(4, 7, [ACCEPT, ACCEPT, RELEASE, RELEASE]), (8, 11, [REJECT] * 4)],
    "one record": [(5, 5, [ACCEPT])],
    "too few types": [(0, 3, [ACCEPT, ACCEPT])],
    "too many types": [(0, 3, [ACCEPT] * 5)],
    "no types": [(0, 3, [])],
    "unknown type": [(0, 3, [5])],
    "negative type": [(0, 3, [-1])],
    "renews": [(0, 3, [RENEW])],
    "backwards": [(3, 0, [ACCEPT])],
    "out of order": [(4, 7, [ACCEPT]), (0, 3, [ACCEPT])],
    "overlap": [(0, 5, [ACCEPT]), (4, 7, [ACCEPT])],
    "touch": [(0, 4, [ACCEPT]), (4, 7, [ACCEPT])],
    "negative": [(-4, -1, [ACCEPT])],
    "from below 0": [(-2, 1, [ACCEPT])],
    "beyond the end": [(8, 12, [ACCEPT])],
    "far beyond the end": [(50, 60, [ACCEPT])],
    "good and beyond": [(0, 3, [ACCEPT]), (50, 60, [ACCEPT])],
    "none": [],
}


def share_outcomes(talk: Talk) -> None:
    """Twelve acquired records, their outcomes, and what is written of them."""
    topic_id = written(talk, "share-outcomes")
    for version in talk.versions(ACKNOWLEDGE):
        for case, batches in OUTCOMES.items():
            group = f"outcomes {version} {case}"
            read(talk, group, "share-outcomes")
            steps = Steps(talk, version, group, topic_id)
            steps.fetch("acquires", 0, rows(topic_id))
            steps.acknowledge("acknowledges", 1, *batches)
            steps.state("after it")
            steps.acknowledge("again", 2, *batches)
            # The fetch of the same request may have what it releases, or not.
            steps.fetch("with a fetch of nothing", 3, rows(topic_id, *batches), maxRecords=0)
            steps.acknowledge("leaves", -1, (11, 11, [ACCEPT]))


def share_acknowledgements(talk: Talk) -> None:
    """Records that others hold, topics that are not in the session, releases until the last delivery."""
    topic_id = written(talk, "share-acks", partitions=2)
    for version in talk.versions(ACKNOWLEDGE):
        group = f"acks {version}"
        read(talk, group, "share-acks", A, B)
        steps = Steps(talk, version, group, topic_id)
        accepted = (0, 3, [ACCEPT])
        steps.fetch("acquires", 0, rows(topic_id))
        steps.fetch("another acquires nothing", 0, rows(topic_id), member=B, maxWaitMs=10)
        steps.acknowledge("not its own", 1, accepted, member=B)
        unknown = rows(UNKNOWN_ID, accepted)
        steps.ask("unknown topic", ACKNOWLEDGE, acknowledge(group, 1, unknown))
        steps.ask("unknown partition", ACKNOWLEDGE, acknowledge(group, 2, rows(topic_id, accepted, index=7)))
        steps.ask("not acquired", ACKNOWLEDGE, acknowledge(group, 3, rows(topic_id, accepted, index=1)))
        steps.ask("nothing", ACKNOWLEDGE, acknowledge(group, 4))
        steps.ask("a topic twice", ACKNOWLEDGE, acknowledge(group, 5, *[rows(topic_id, accepted)] * 2))
        steps.acknowledge("renews", 6, (4, 7, [RENEW]), isRenewAck=True)
        steps.acknowledge("renews without a sign", 7, (4, 7, [RENEW]))
        steps.acknowledge("renews one, accepts others", 8, (4, 7, [RENEW, ACCEPT, ACCEPT, ACCEPT]), isRenewAck=True)
        steps.acknowledge("says that it renews, accepts", 9, (4, 4, [ACCEPT]), isRenewAck=True)
        renewed = rows(topic_id, (8, 11, [RENEW]))
        steps.fetch("renews and fetches", 10, renewed, isRenewAck=True, maxWaitMs=10)
        nothing = {"isRenewAck": True, "maxWaitMs": 0, "minBytes": 0, "maxBytes": 0, "maxRecords": 0}
        steps.fetch("renews with a fetch of nothing", 11, renewed, **nothing)
        steps.fetch("renews with a fetch of nothing, again", 10, renewed, **nothing)
        epoch = 12
        for delivery in range(1, 7):
            epoch += 1
            steps.acknowledge(f"releases {delivery}", epoch, (8, 11, [RELEASE]))
            steps.state(f"released {delivery}")
            epoch += 1
            steps.fetch(f"acquires {delivery}", epoch, maxWaitMs=10)
        configured(talk, group, share_renew_acknowledge_enable="false")
        steps.fetch("another acquires what is left", 0, rows(topic_id), member=B, maxWaitMs=10)
        steps.acknowledge("renews, which is disabled", 1, (8, 11, [RENEW]), member=B, isRenewAck=True)
        steps.state("at the end")
        more = f"{group}, more"
        read(talk, more, "share-acks", A, B)
        talk.prepare(FETCH, fetch(more, 0, rows(topic_id)), version)
        talk.prepare(ACKNOWLEDGE, acknowledge(more, -1), version)
        steps.ask("another acquires what the first had", FETCH, fetch(more, 0, rows(topic_id), member=B))


def share_beginnings(talk: Talk) -> None:
    """Where a group begins to read: the values of ``share.auto.offset.reset``. The records are years old."""
    topic_id = written(talk, "share-beginnings", 2)
    for value in ("earliest", "latest", "by_duration:P36500D", "by_duration:PT0S", "by_duration:PT1H"):
        group = f"begins {value}"
        configured(talk, group, share_auto_offset_reset=value)
        joined(talk, group, A, "share-beginnings")
        steps = Steps(talk, talk.versions(FETCH)[-1], group, topic_id)
        steps.fetch("begins", 0, rows(topic_id))
    for name, values in GROUP_CONFIGS.items():
        for value in values:
            change = {"name": name, "configOperation": 0, "value": value}
            resource = {"resourceType": GROUP_RESOURCE, "resourceName": "group-configs", "configs": [change]}
            body = {"resources": [resource], "validateOnly": True}
            talk.sweep(f"{name} {value!r}", ApiKey.INCREMENTAL_ALTER_CONFIGS, body)


GROUP_CONFIGS = {
    "share.auto.offset.reset": (
        *(
            "earliest",
            "Latest",
            "none",
            "",
            "by_duration",
            "by_duration:",
            "by_duration:PT0S",
            "by_duration:P1DT2H3M4.5S",
        ),
        *(
            "by_duration:pt1h",
            "by_duration:-PT1S",
            "by_duration:PT-1S",
            "by_duration:P",
            "by_duration:PT",
            "by_duration:1",
        ),
        *("by_duration:P1Y", "by_duration:P1H", "by_duration: PT1S", "By_Duration:PT1S"),
    ),
    "share.isolation.level": ("read_committed", "read_uncommitted", "READ_COMMITTED", ""),
    "share.record.lock.duration.ms": ("999", "14999", "15000", "60000", "60001", "x", ""),
    "share.delivery.count.limit": ("1", "2", "10", "11"),
    "share.partition.max.record.locks": ("99", "100", "4000", "4001"),
    "share.session.timeout.ms": ("44999", "45000", "60000", "60001", "5000"),
    "share.heartbeat.interval.ms": ("4999", "5000", "15000", "15001"),
    "share.renew.acknowledge.enable": ("true", "FALSE", "yes"),
    "share.assignment.interval.ms": ("-1", "0", "15000", "15001"),
    "consumer.session.timeout.ms": ("44999", "45000", "60001"),
    "consumer.heartbeat.interval.ms": ("4999", "5000", "15001"),
    "consumer.assignment.interval.ms": ("-1", "0", "15000", "15001"),
    "share.nothing": ("1",),
}


def share_isolation(talk: Talk) -> None:
    """Batches of aborted and open transactions, for both levels of isolation, and compressed batches."""
    topic = made(talk, "share-isolation")
    topic_id = str(topic["topicId"])
    find_transactions(talk, "share-isolation")
    aborts, commits, stays_open = (Producer.started(talk, f"share-isolation-{number}") for number in range(3))
    talk.prepare(ApiKey.PRODUCE, produced(topic, batch(3)))
    talk.prepare(ApiKey.PRODUCE, produced(topic, batch(4, compression=Compression.GZIP)))
    aborts.write(topic)
    commits.write(topic)
    aborts.end(committed=False)
    commits.end(committed=True)
    talk.prepare(ApiKey.PRODUCE, produced(topic, batch()))
    stays_open.write(topic)
    talk.prepare(ApiKey.PRODUCE, produced(topic, batch()))
    groups = []
    for level in ("read_committed", "read_uncommitted"):
        group = f"isolation {level}"
        configured(talk, group, share_isolation_level=level)
        read(talk, group, "share-isolation")
        steps = Steps(talk, talk.versions(FETCH)[-1], group, topic_id, relevant=decoded)
        steps.fetch("acquires", 0, rows(topic_id))
        steps.fetch("acquires what follows", 1)
        steps.fetch("nothing more", 2, maxWaitMs=10)
        groups.append(steps)
    stays_open.end(committed=False)
    for steps in groups:
        steps.fetch("after the end of the last transaction", 3)
