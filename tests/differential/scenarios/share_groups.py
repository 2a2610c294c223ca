"""Share groups: members, descriptions, and the offsets that administrators read and set."""

from __future__ import annotations

from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.scenarios.groups import find, formed
from tests.differential.scenarios.produce import batch, made, produced
from tests.differential.scenarios.shares import on, wanted
from tests.differential.talk import Body, Talk
from tests.support.eventually import eventually

#: Apache tries again to initialize the states of partitions after 15 s, if their coordinator is still being loaded.
ASSIGNED_LIMIT_S = 60.0
#: For a response that does not come.
SHORT_S = 4.0
A, B = "A" * 21 + "Q", "A" * 21 + "g"
GROUP_RESOURCE = 32


def beat(group: str, member: str, epoch: int, *topics: str, **more: Any) -> Body:
    """A heartbeat. Without topics the subscription stays as it is."""
    body = {"groupId": group, "memberId": member, "memberEpoch": epoch, "rackId": None}
    return {**body, "subscribedTopicNames": list(topics) or None, **more}


def joined(talk: Talk, group: str, member: str, *topics: str) -> Body:
    """Let a member join, and wait until it has an assignment and the states of its partitions are initialized.

    Return the response that had the assignment.
    """
    find(talk, group)
    answer = talk.prepare(ApiKey.SHARE_GROUP_HEARTBEAT, beat(group, member, 0, *topics))
    assert answer["errorCode"] == 0, answer

    def is_assigned() -> bool:
        nonlocal answer
        if answer["assignment"] is not None and answer["assignment"]["topicPartitions"]:
            return True
        answer = talk.prepare(ApiKey.SHARE_GROUP_HEARTBEAT, beat(group, member, answer["memberEpoch"]))
        assert answer["errorCode"] == 0, answer
        return False

    eventually(is_assigned, ASSIGNED_LIMIT_S)
    return dict(answer)


def configured(talk: Talk, group: str, **configs: str) -> None:
    """Set the settings of a group, and wait until the broker has applied them: the controller answers before it does.

    Apache's broker shows a change before it has applied it, and applies one after another: when it shows a later one,
    it has applied this.
    """
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    _set_and_seen(talk, group, settings)
    _set_and_seen(talk, f"after {group} {settings}", {"consumer.session.timeout.ms": "45000"})


def _set_and_seen(talk: Talk, group: str, settings: dict[str, str]) -> None:
    changes = [{"name": name, "configOperation": 0, "value": value} for name, value in settings.items()]
    resource = {"resourceType": GROUP_RESOURCE, "resourceName": group, "configs": changes}
    answer = talk.prepare(ApiKey.INCREMENTAL_ALTER_CONFIGS, {"resources": [resource]})
    assert not answer["responses"][0]["errorCode"], answer
    asked = {"resourceType": GROUP_RESOURCE, "resourceName": group, "configurationKeys": [*settings]}

    def are_shown() -> bool:
        (found,) = talk.prepare(ApiKey.DESCRIBE_CONFIGS, {"resources": [asked]})["results"]
        return {each["name"]: each["value"] for each in found["configs"]} == settings

    eventually(are_shown)


def share_heartbeats(talk: Talk) -> None:
    api = ApiKey.SHARE_GROUP_HEARTBEAT
    made(talk, "share-beats", 1)  # of two partitions Apache assigns first that which a hash of the topic id chooses
    made(talk, "share-beats-2", 1)
    formed(talk, "share-beats-classic")
    find(talk, "beats")
    for case, body in {
        "no member id": beat("beats", "", 0, "share-beats"),
        "no group id": beat("", A, 0, "share-beats"),
        "empty rack": beat("beats", A, 0, "share-beats", rackId=""),
        "no topics": beat("beats", A, 0),
        "empty topics": beat("beats", A, 0, subscribedTopicNames=[]),
        "epoch -2": beat("beats", A, -2, "share-beats"),
        "epoch 1, no group": beat("beats", A, 1, "share-beats"),
        "leaves no group": beat("beats", A, -1),
        "a classic group": beat("share-beats-classic", A, 0, "share-beats"),
        "a classic group, epoch 1": beat("share-beats-classic", A, 1),
        "leaves a classic group": beat("share-beats-classic", A, -1),
        "a long member id": beat("beats", "m" * 40, 0, "share-beats"),
    }.items():
        talk.sweep(case, api, body)
    for version in talk.versions(api):
        group = f"beats-{version}"

        def ask(case: str, body: Body, version: int = version) -> Any:
            return talk.ask(case, api, version, body)

        first = joined(talk, group, A, "share-beats")
        talk.note(f"assigned {version}", first)
        epoch = first["memberEpoch"]
        ask("same epoch", beat(group, A, epoch))
        ask("same topics", beat(group, A, epoch, "share-beats"))
        ask("previous epoch", beat(group, A, epoch - 1))
        ask("epoch 0 again", beat(group, A, 0, "share-beats"))
        ask("epoch 0 again, no topics", beat(group, A, 0))
        ask("later epoch", beat(group, A, epoch + 1))
        ask("earlier epoch", beat(group, A, epoch + 7))
        ask("unknown member", beat(group, B, epoch))
        ask("unknown member leaves", beat(group, B, -1))
        ask("a rack", beat(group, A, epoch, rackId="r"))
        epoch = ask("a topic that is not there", beat(group, A, epoch, "share-beats", "share-nowhere"))["memberEpoch"]
        epoch = ask("an invalid topic", beat(group, A, epoch, "share-beats", "a b"))["memberEpoch"]
        epoch = ask("a topic twice", beat(group, A, epoch, "share-beats", "share-beats"))["memberEpoch"]
        second = ask("second member", beat(group, B, 0, "share-beats"))
        ask("first member after it", beat(group, A, epoch))
        ask("second member again", beat(group, B, second["memberEpoch"]))
        ask("second member reads other topics", beat(group, B, second["memberEpoch"], "share-beats-2"))
        ask("second member leaves", beat(group, B, -1))
        ask("second member leaves again", beat(group, B, -1))
        ask("second member is late", beat(group, B, second["memberEpoch"]))
        ask("first member alone", beat(group, A, epoch))
        ask("leaves with topics", beat(group, A, -1, "share-beats"))
        ask("after it", beat(group, A, epoch))


def share_groups_by_other_apis(talk: Talk) -> None:
    """The requests of other kinds of groups to a share group, and the other way round."""
    topic = made(talk, "share-others", 1)
    joined(talk, "others-share", A, "share-others")
    formed(talk, "others-classic")
    find(talk, "others-empty")
    talk.prepare(ApiKey.CONSUMER_GROUP_HEARTBEAT, consumer("others-consumer", A, 0, "share-others"))
    talk.prepare(ApiKey.SHARE_GROUP_HEARTBEAT, beat("others-empty", A, 0, "share-others"))
    talk.prepare(ApiKey.SHARE_GROUP_HEARTBEAT, beat("others-empty", A, -1))
    names = ["others-share", "others-empty", "others-classic", "others-consumer", "others-nowhere", ""]
    for operations in (False, True):
        body: Body = {"groupIds": names, "includeAuthorizedOperations": operations}
        talk.sweep(f"{operations}", ApiKey.SHARE_GROUP_DESCRIBE, body)
        talk.sweep(f"{operations}", ApiKey.CONSUMER_GROUP_DESCRIBE, body)
    talk.sweep("none", ApiKey.SHARE_GROUP_DESCRIBE, {"groupIds": []})
    talk.sweep("twice", ApiKey.SHARE_GROUP_DESCRIBE, {"groupIds": ["others-share", "others-share"]})
    talk.sweep("share groups", ApiKey.DESCRIBE_GROUPS, {"groups": names})
    for case, filters in {
        "all": {},
        "share": {"typesFilter": ["share"]},
        "Share": {"typesFilter": ["Share"]},
        "empty": {"statesFilter": ["Empty"]},
        "stable": {"statesFilter": ["stable"], "typesFilter": ["share"]},
    }.items():
        for version in talk.versions(ApiKey.LIST_GROUPS):
            if version >= 5:
                answer = talk.prepare(ApiKey.LIST_GROUPS, filters, version)
                answer["groups"] = [each for each in answer["groups"] if each["groupId"].startswith("others-")]
                talk.note(f"LIST_GROUPS {version}: {case}", answer)
    row = {"partitionIndex": 0, "committedOffset": 3, "committedMetadata": "", "committedLeaderEpoch": -1}
    rows = [{**topic, "partitions": [row], "partitionIndexes": [0]}]
    for group in ("others-share", "others-empty", "others-consumer"):
        talk.sweep(f"to {group}", ApiKey.HEARTBEAT, {"groupId": group, "generationId": 1, "memberId": A})
        talk.sweep(f"of {group}", ApiKey.OFFSET_DELETE, {"groupId": group, "topics": rows})
        talk.sweep(f"of {group}", ApiKey.LEAVE_GROUP, {"groupId": group, "memberId": A, "members": [{"memberId": A}]})
        commit = {"groupId": group, "topics": rows}
        talk.sweep(f"to {group}", ApiKey.OFFSET_COMMIT, {**commit, "memberId": "", "generationIdOrMemberEpoch": -1})
        talk.sweep(
            f"to {group}, member", ApiKey.OFFSET_COMMIT, {**commit, "memberId": A, "generationIdOrMemberEpoch": 1}
        )
        fetch = {"groupId": group, "topics": rows, "groups": [{"groupId": group, "topics": rows, "memberEpoch": -1}]}
        talk.sweep(f"of {group}", ApiKey.OFFSET_FETCH, fetch)
        mine = [{"groupId": group, "topics": rows, "memberId": A, "memberEpoch": 1}]
        talk.sweep(f"of {group}, member", ApiKey.OFFSET_FETCH, {"groupId": group, "topics": rows, "groups": mine})
    joining = {"groupId": "others-share", "sessionTimeoutMs": 30_000, "rebalanceTimeoutMs": 30_000, "memberId": ""}
    protocols = {"protocolType": "consumer", "protocols": [{"name": "range", "metadata": "AAA="}]}
    talk.sweep("to a share group", ApiKey.JOIN_GROUP, {**joining, **protocols})
    named = {"protocolType": "consumer", "protocolName": "range", "memberId": A, "assignments": []}
    talk.sweep("to a share group", ApiKey.SYNC_GROUP, {"groupId": "others-share", "generationId": 1, **named})
    heartbeat = consumer("others-share", A, 0, "share-others")
    talk.sweep("to a share group", ApiKey.CONSUMER_GROUP_HEARTBEAT, heartbeat)
    talk.sweep("to an empty one", ApiKey.CONSUMER_GROUP_HEARTBEAT, heartbeat | {"groupId": "others-empty"})
    talk.sweep("to a consumer group", ApiKey.SHARE_GROUP_HEARTBEAT, beat("others-consumer", A, 0, "share-others"))
    talk.sweep("not empty", ApiKey.DELETE_GROUPS, {"groupsNames": ["others-share", "others-consumer"]})
    talk.ask("empty", ApiKey.DELETE_GROUPS, talk.latest[ApiKey.DELETE_GROUPS], {"groupsNames": ["others-empty"]})
    talk.ask("again", ApiKey.DELETE_GROUPS, talk.latest[ApiKey.DELETE_GROUPS], {"groupsNames": ["others-empty"]})


def consumer(group: str, member: str, epoch: int, *topics: str, **more: Any) -> Body:
    """A heartbeat of the consumer protocol. It owns nothing while it joins."""
    body = {"groupId": group, "memberId": member, "memberEpoch": epoch, "instanceId": None, "rackId": None}
    whole = {"rebalanceTimeoutMs": 30_000, "topicPartitions": []} if epoch == 0 else {}
    rest = {"rebalanceTimeoutMs": -1, "topicPartitions": None, "serverAssignor": None, "subscribedTopicRegex": None}
    return {**body, **rest, **whole, "subscribedTopicNames": list(topics) or None, **more}


def share_offsets(talk: Talk) -> None:
    """DescribeShareGroupOffsets, AlterShareGroupOffsets and DeleteShareGroupOffsets."""
    describe, alter, delete = (
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    )
    topic = made(talk, "share-offsets", 2)
    made(talk, "share-offsets-2", 1)
    talk.prepare(ApiKey.PRODUCE, produced(topic, batch(10)))
    find(talk, "so")
    formed(talk, "so-classic")
    number = iter(range(1000))

    def described(case: str, *groups: str) -> None:
        for names in (
            None,
            [],
            [{"topicName": "share-offsets", "partitions": [0, 1]}],
            [{"topicName": "share-nowhere", "partitions": [0]}],
        ):
            asked = [{"groupId": group, "topics": names} for group in groups]
            label = "all" if names is None else " ".join(f"{each['topicName']} {each['partitions']}" for each in names)
            talk.sweep(f"{next(number)} {case}: {label}", describe, {"groups": asked})

    def altered(case: str, group: str, *rows: tuple[str, int, int]) -> None:
        topics: dict[str, list[Body]] = {}
        for name, index, offset in rows:
            topics.setdefault(name, []).append({"partitionIndex": index, "startOffset": offset})
        asked = [{"topicName": name, "partitions": some} for name, some in topics.items()]
        talk.ask(f"{next(number)} {case}", alter, talk.latest[alter], {"groupId": group, "topics": asked})

    def deleted(case: str, group: str, *names: str) -> None:
        topics = [{"topicName": name} for name in names]
        talk.ask(f"{next(number)} {case}", delete, talk.latest[delete], {"groupId": group, "topics": topics})

    unknown = [{"groupId": "so-nowhere", "topics": [{"topicName": "share-offsets", "partitions": [7]}]}]
    with talk.line(SHORT_S) as line:
        talk.ask("an unknown partition", describe, talk.latest[describe], {"groups": unknown}, line)
    described("unknown group", "so-nowhere")
    described("no group", "")
    described("classic group", "so-classic")
    talk.sweep("no groups", describe, {"groups": []})
    deleted("unknown group", "so-nowhere", "share-offsets")
    deleted("no group", "", "share-offsets")
    deleted("classic group", "so-classic", "share-offsets")
    altered("classic group", "so-classic", ("share-offsets", 0, 1))
    altered("no group", "", ("share-offsets", 0, 1))
    altered("no topics", "so-none")
    altered("unknown topic alone", "so-unknown", ("share-nowhere", 0, 1))
    described("after them", "so-none", "so-unknown")
    altered("new group", "so", ("share-offsets", 0, 4), ("share-offsets", 7, 1), ("share-nowhere", 0, 2))
    described("after it", "so")
    altered("again", "so", ("share-offsets", 0, 6), ("share-offsets", 1, 0), ("share-offsets-2", 0, 0))
    described("after it", "so", "so-nowhere", "so")
    altered("negative", "so", ("share-offsets", 0, -1))
    altered("very negative", "so", ("share-offsets", 0, -2))
    described("after it", "so")
    altered("beyond the end", "so", ("share-offsets", 0, 99))
    described("after it", "so")
    altered("negative partition", "so-negative", ("share-offsets", -1, 1))
    deleted("unknown topic", "so", "share-nowhere")
    deleted("no topics", "so")
    deleted("one topic", "so", "share-offsets", "share-nowhere")
    described("after it", "so")
    deleted("one topic again", "so", "share-offsets")
    deleted("a topic twice", "so", "share-offsets-2", "share-offsets-2")
    described("after it", "so")
    joined(talk, "so-live", A, "share-offsets")
    described("group with a member", "so-live")
    altered("group with a member", "so-live", ("share-offsets", 0, 1))
    deleted("group with a member", "so-live", "share-offsets")
    talk.prepare(ApiKey.SHARE_GROUP_HEARTBEAT, beat("so-live", A, -1))
    altered("its member left", "so-live", ("share-offsets", 0, 3))
    described("its member left", "so-live")
    summary = ApiKey.READ_SHARE_GROUP_STATE_SUMMARY
    talk.sweep("of the group", summary, on(topic["topicId"], wanted(summary, 0), group="so-live"))
    for version in talk.versions(ApiKey.DELETE_GROUPS):
        talk.ask("of share groups", ApiKey.DELETE_GROUPS, version, {"groupsNames": ["so-live", "so", "so-nowhere"]})
    described("deleted", "so-live", "so")
    talk.sweep("of the deleted group", summary, on(topic["topicId"], wanted(summary, 0), group="so-live"))
