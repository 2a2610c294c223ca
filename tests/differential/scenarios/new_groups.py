"""The consumer protocol of KIP-848, whose level is that of Kafka 4."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from functools import partial
from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.scenarios.groups import NAMED, find, formed, joining
from tests.differential.scenarios.produce import UNKNOWN_ID, made
from tests.differential.scenarios.share_groups import A, B, configured, consumer
from tests.differential.talk import Body, Talk
from tests.support.eventually import eventually

HEARTBEAT, DESCRIBE = ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE
C = "A" * 21 + "w"
INSTANCE = "instance"


def owned(topic: Body, *partitions: int) -> list[Body]:
    return [{"topicId": topic["topicId"], "partitions": list(partitions)}]


def consumer_heartbeats(talk: Talk) -> None:
    topic = made(talk, "beaten", 4)
    made(talk, "beaten-2", 1)
    find(talk, "cg")
    for case, body in {
        "no group id": consumer("", A, 0, "beaten"),
        "no member id": consumer("cg-0", "", 0, "beaten"),
        "no member id, epoch 1": consumer("cg-0", "", 1, "beaten"),
        "no topics": consumer("cg-0", A, 0),
        "empty topics": consumer("cg-0", A, 0, subscribedTopicNames=[]),
        "no time-out": consumer("cg-0", A, 0, "beaten", rebalanceTimeoutMs=-1),
        "null partitions": consumer("cg-0", A, 0, "beaten", topicPartitions=None),
        "owns partitions": consumer("cg-0", A, 0, "beaten", topicPartitions=owned(topic, 0)),
        "empty instance": consumer("cg-0", A, 0, "beaten", instanceId=""),
        "empty rack": consumer("cg-0", A, 0, "beaten", rackId=""),
        "unknown assignor": consumer("cg-0", A, 0, "beaten", serverAssignor="best"),
        "epoch -2 without instance": consumer("cg-0", A, -2),
        "epoch -3": consumer("cg-0", A, -3),
        "no group": consumer("cg-0", A, 5),
        "leaves no group": consumer("cg-0", A, -1),
    }.items():
        talk.sweep(case, HEARTBEAT, body)
    newest = talk.versions(HEARTBEAT)[-1]
    for case, regex, epoch in (("joins", "[", 0), ("unknown member", "[", 5), ("backreference", r"(a)\1", 0)):
        body = consumer("cg-regex", B, epoch, subscribedTopicRegex=regex)
        talk.ask(f"an invalid expression, {case}", HEARTBEAT, newest, body)
    for version in talk.versions(HEARTBEAT):
        group = f"cg-{version}-live"
        ask = partial(_ask, talk, version, group, iter(range(100)))
        describe = partial(_describe, talk, group)
        first = ask("joins", A, 0, "beaten")
        epoch = first["memberEpoch"]
        ask("joins again", A, 0, "beaten")
        ask("the same", A, epoch)
        ask("a full heartbeat", A, epoch, "beaten", rebalanceTimeoutMs=30_000, topicPartitions=owned(topic, 0, 1, 2, 3))
        ask("a later epoch", A, epoch + 1)
        ask("an unknown member", B, epoch)
        ask("an invalid expression", A, epoch, subscribedTopicRegex="[")
        ask("an invalid expression, a later epoch", A, epoch + 1, subscribedTopicRegex="[")
        describe("alone")
        second = ask("another joins", B, 0, "beaten", serverAssignor="range")
        ask("the first learns it", A, epoch, topicPartitions=owned(topic, 0, 1, 2, 3))
        describe("revokes")
        ask("the first gives up", A, epoch, topicPartitions=owned(topic, 0, 1))
        ask("the other gets them", B, second["memberEpoch"], topicPartitions=[])
        describe("stable")
        ask("an assignor", A, epoch + 1, serverAssignor="range")
        ask("an unknown topic", A, epoch + 1, "beaten", "beaten-nowhere")
        ask("an invalid topic", A, epoch + 2, "beaten", "a b")
        ask("an earlier epoch", A, epoch, topicPartitions=owned(topic, 0, 1))
        ask("a static member", C, 0, "beaten-2", instanceId=INSTANCE)
        ask("the same instance", "A" * 22, 0, "beaten-2", instanceId=INSTANCE)
        ask("an unknown instance", C, -2, instanceId="other")
        ask("a wrong instance", A, -1, instanceId=INSTANCE)
        ask("a static member without its instance", C, -1)
        ask("the second leaves", B, -1)
        ask("and again", B, -1)
        describe("static")
        ask("leaves", A, -1)
        describe("empty")
        epoch = ask("joins once more", A, 0, "beaten")["memberEpoch"]
        epoch = ask("another topic", A, epoch, "beaten", "beaten-2")["memberEpoch"]
        epoch = ask("one topic", A, epoch, "beaten")["memberEpoch"]
        ask("is fenced", A, epoch + 5)
        ask("joins after it was fenced", A, 0, "beaten", topicPartitions=[])
        ask("leaves at last", A, -1)


def _ask(talk: Talk, version: int, group: str, number: Iterator[int], case: str, *body: Any, **more: Any) -> Any:
    return talk.ask(f"{next(number)} {case}", HEARTBEAT, version, consumer(group, *body, **more))


def _describe(talk: Talk, group: str, case: str) -> None:
    for version in talk.versions(DESCRIBE):
        talk.ask(f"{group} {case}", DESCRIBE, version, {"groupIds": [group]})


def consumer_assignments(talk: Talk) -> None:
    """The epochs of a group whose next assignment waits, and of one whose expression is not resolved."""
    made(talk, "waits", 2)
    find(talk, "waits")
    configured(talk, "waits", consumer_assignment_interval_ms="15000")
    newest, describe = talk.versions(HEARTBEAT)[-1], partial(_describe, talk, "waits")
    number = iter(range(100))
    ask = partial(_ask, talk, newest, "waits", number)
    first = ask("joins", A, 0, "waits")
    ask("another joins, and waits", B, 0, "waits")
    ask("the first keeps its partitions", A, first["memberEpoch"])
    describe("waits")
    configured(talk, "waits", consumer_assignment_interval_ms="0")
    ask("the first learns of the next", A, first["memberEpoch"])
    describe("assigned")
    regex = partial(_ask, talk, newest, "waits-regex", number, subscribedTopicRegex="no-topic-.*")
    regex("joins with an expression", A, 0)
    _describe(talk, "waits-regex", "unresolved")


def consumer_offsets(talk: Talk) -> None:
    """OffsetCommit and OffsetFetch with member epochs, and of topics by id."""
    topic = made(talk, "epochs", 2)
    find(talk, "epochs")
    joined = talk.prepare(HEARTBEAT, consumer("epochs", A, 0, "epochs"))
    epoch = joined["memberEpoch"]
    row = {"partitionIndex": 0, "committedOffset": 3, "committedMetadata": "", "committedLeaderEpoch": -1}
    for case, member, at, where in (
        ("good", A, epoch, topic),
        ("earlier epoch", A, epoch - 1, topic),
        ("later epoch", A, epoch + 1, topic),
        ("unknown member", B, epoch, topic),
        ("no member", "", -1, topic),
        ("a negative epoch", A, -1, topic),
        ("unknown topic", A, epoch, {"name": "epochs-nowhere", "topicId": UNKNOWN_ID}),
        ("no topic id", A, epoch, {"name": "", "topicId": "A" * 22}),
    ):
        rows = [{**where, "partitions": [row], "partitionIndexes": [0, 7]}]
        commit = {"groupId": "epochs", "memberId": member, "generationIdOrMemberEpoch": at, "topics": rows}
        talk.sweep(case, ApiKey.OFFSET_COMMIT, commit)
        asked = {"groupId": "epochs", "memberId": member or None, "memberEpoch": at, "topics": rows}
        for version in talk.versions(ApiKey.OFFSET_FETCH):
            if version >= 8:
                talk.ask(case, ApiKey.OFFSET_FETCH, version, {"groups": [asked], "requireStable": True})
    nowhere = {"name": "epochs-nowhere", "topicId": UNKNOWN_ID}
    both = [{**each, "partitionIndexes": [0]} for each in (topic, nowhere)]
    talk.sweep(
        "two topics", ApiKey.OFFSET_FETCH, {"groups": [{"groupId": "epochs", "topics": both, "memberEpoch": -1}]}
    )
    member, generation = formed(talk, "epochs-classic")
    talk.ask("a consumer upgrades", HEARTBEAT, talk.latest[HEARTBEAT], consumer("epochs-classic", A, 0, "epochs"))
    beat = {"groupId": "epochs-classic", "generationId": generation, "memberId": member}
    talk.sweep("classic member", ApiKey.HEARTBEAT, beat)
    talk.sweep("in a consumer group", ApiKey.HEARTBEAT, beat | {"groupId": "epochs", "memberId": A})
    talk.sweep("other protocols", ApiKey.JOIN_GROUP, joining("epochs", protocolType="connect"))


def classic_members(talk: Talk) -> None:
    """Commits of a classic member in a consumer group, in its generation and in others."""
    topic = made(talk, "mixed", 2)
    find(talk, "mixed")
    member, generation = _classic_generation(talk, "mixed", "", topic, 0, 1)
    talk.prepare(HEARTBEAT, consumer("mixed", A, 0, "mixed"))
    _commits(talk, "mixed", member, generation, topic, "beside a consumer")
    beat = {"groupId": "mixed", "generationId": generation, "memberId": member}
    eventually(lambda: talk.prepare(ApiKey.HEARTBEAT, beat)["errorCode"])
    member, newer = _classic_generation(talk, "mixed", member, topic, 0, 1)
    talk.note("the generations", newer - generation)
    _commits(talk, "mixed", member, newer, topic, "after a rebalance")


def _classic_generation(talk: Talk, group: str, member: str, topic: Body, *partitions: int) -> tuple[str, int]:
    """Join as a classic member that owns ``partitions``, or as a new one that gives itself these."""
    name = topic["name"].encode()
    named = struct.pack(">ih", 1, len(name)) + name
    listed = named + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    subscription = struct.pack(">h", 1) + named + struct.pack(">i", 0) + (listed if member else struct.pack(">i", 0))
    protocols = [{"name": "range", "metadata": base64.b64encode(subscription).decode()}]
    answer = talk.prepare(ApiKey.JOIN_GROUP, joining(group, member, protocols=protocols))
    if answer["errorCode"] == 79:
        answer = talk.prepare(ApiKey.JOIN_GROUP, joining(group, answer["memberId"], protocols=protocols))
    assert answer["errorCode"] == 0, answer
    member, generation = answer["memberId"], answer["generationId"]
    assignment = base64.b64encode(struct.pack(">h", 0) + listed + struct.pack(">i", 0)).decode()
    rows = [{"memberId": member, "assignment": assignment}]
    body = {"groupId": group, "generationId": generation, "memberId": member, **NAMED, "assignments": rows}
    synced = talk.prepare(ApiKey.SYNC_GROUP, body)
    assert synced["errorCode"] == 0, synced
    return member, generation


def _commits(talk: Talk, group: str, member: str, generation: int, topic: Body, case: str) -> None:
    """Commit each partition alone. Which one a member keeps may differ, so the codes are sorted."""
    for at in sorted({-1, generation - 2, generation - 1, generation, generation + 1}):
        for version in talk.versions(ApiKey.OFFSET_COMMIT):
            codes = []
            for index in (0, 1):
                row = {"partitionIndex": index, "committedOffset": 3, "committedLeaderEpoch": -1}
                body = {"groupId": group, "memberId": member, "generationIdOrMemberEpoch": at}
                body["topics"] = [{**topic, "partitions": [{**row, "committedMetadata": ""}]}]
                answer = talk.prepare(ApiKey.OFFSET_COMMIT, body, version)
                codes += [each["errorCode"] for named in answer["topics"] for each in named["partitions"]]
            talk.note(f"{case}, {at - generation} generations, version {version}", sorted(codes))
