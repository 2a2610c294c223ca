"""Classic consumer groups: how members come, stay and go, and where their offsets are kept."""

from __future__ import annotations

import base64
from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.scenarios.produce import UNKNOWN_ID, find_transactions, made
from tests.differential.talk import Talk
from tests.support.eventually import eventually

SUBSCRIPTION = base64.b64encode(b"\0\0\0\0\0\1\0\1t\0\0\0\0").decode()
ASSIGNMENT = base64.b64encode(b"assigned").decode()
#: The fields that SyncGroup 5 must have.
NAMED = {"protocolType": "consumer", "protocolName": "range"}


def joining(group: str, member: str = "", **more: Any) -> dict[str, Any]:
    body = {"groupId": group, "sessionTimeoutMs": 600_000, "rebalanceTimeoutMs": 30_000, "memberId": member}
    protocols = [{"name": "range", "metadata": SUBSCRIPTION}, {"name": "roundrobin", "metadata": SUBSCRIPTION}]
    return {**body, "protocolType": "consumer", "protocols": protocols, **more}


def find(talk: Talk, group: str) -> None:
    """Until the coordinator has loaded its groups."""

    def is_there() -> bool:
        talk.prepare(ApiKey.FIND_COORDINATOR, {"keyType": 0, "coordinatorKeys": [group]})
        answer = talk.prepare(ApiKey.HEARTBEAT, {"groupId": group, "generationId": 1, "memberId": "nobody"})
        return answer["errorCode"] not in (0, 14, 15, 16)  # while it loads, Apache's answers 0 for any member

    eventually(is_there)


def formed(talk: Talk, group: str, **more: Any) -> tuple[str, int]:
    """A group with one member that has its assignment; the member and the generation."""
    find(talk, group)
    answer = talk.prepare(ApiKey.JOIN_GROUP, joining(group, **more))
    if answer["errorCode"] == 79:
        answer = talk.prepare(ApiKey.JOIN_GROUP, joining(group, answer["memberId"], **more))
    assert answer["errorCode"] == 0, answer
    member, generation = answer["memberId"], answer["generationId"]
    body = {
        "groupId": group,
        "generationId": generation,
        "memberId": member,
        "groupInstanceId": more.get("groupInstanceId"),
        **NAMED,
    }
    synced = talk.prepare(ApiKey.SYNC_GROUP, {**body, "assignments": [{"memberId": member, "assignment": ASSIGNMENT}]})
    assert synced["errorCode"] == 0, synced
    return member, generation


def find_coordinator(talk: Talk) -> None:
    find(talk, "found")
    find_transactions(talk, "found")
    for kind in (0, 1, 2, 3, -1):
        for key in ("found", ""):
            body = {"key": key, "keyType": kind, "coordinatorKeys": [key]}
            talk.sweep(f"{kind} {key!r}", ApiKey.FIND_COORDINATOR, body)
    body = {"keyType": 0, "key": "found", "coordinatorKeys": ["found", "other", "", "found"]}
    talk.sweep("many", ApiKey.FIND_COORDINATOR, body)
    talk.sweep("none", ApiKey.FIND_COORDINATOR, {"keyType": 0, "key": "found", "coordinatorKeys": []})


def join_group(talk: Talk) -> None:
    find(talk, "join")
    for version in talk.versions(ApiKey.JOIN_GROUP):
        group = f"join-{version}"

        def ask(case: str, body: dict[str, Any], version: int = version) -> Any:
            return talk.ask(case, ApiKey.JOIN_GROUP, version, body)

        ask("empty group", joining(""))
        ask("empty group, a member", joining("", "stranger"))
        for timeout in (0, -1, 5_999, 1_800_001):
            ask(f"session timeout {timeout}", joining(group, sessionTimeoutMs=timeout))
        ask("no protocols", joining(group, protocols=[]))
        ask("no protocol type", joining(group, protocolType=""))
        ask("unknown member", joining(group, "stranger"))
        ask("unknown member, empty group", joining(f"nobody-{version}", "stranger"))
        answer = ask("first", joining(group))
        member = answer["memberId"]
        if answer["errorCode"] == 79:
            ask("first, known", joining(group, member))
        _sync(talk, group, member, 1, version)
        ask("again, as it was", joining(group, member))
        ask("other protocol type", joining(group, protocolType="connect"))
        ask("other protocols", joining(group, protocols=[{"name": "sticky", "metadata": SUBSCRIPTION}]))
        ask("unknown beside it", joining(group, "stranger"))
        if version >= 5:
            ask("unknown instance", joining(group, "stranger", groupInstanceId="static"))
            ask("empty instance", joining(f"join-empty-{version}", groupInstanceId=""))
            ask("invalid instance", joining(f"join-invalid-{version}", groupInstanceId="a b"))
        talk.ask(
            "after", ApiKey.DESCRIBE_GROUPS, talk.latest[ApiKey.DESCRIBE_GROUPS] - 0, {"groups": [group]}
        ) if version == talk.versions(ApiKey.JOIN_GROUP)[-1] else None


def _sync(talk: Talk, group: str, member: str, generation: int, version: int) -> None:
    body = {"groupId": group, "generationId": generation, "memberId": member, **NAMED}
    talk.prepare(ApiKey.SYNC_GROUP, {**body, "assignments": [{"memberId": member, "assignment": ASSIGNMENT}]})


def sync_group(talk: Talk) -> None:
    for version in talk.versions(ApiKey.SYNC_GROUP):
        group = f"sync-{version}"
        find(talk, group)
        first = talk.prepare(ApiKey.JOIN_GROUP, joining(group))
        member = first["memberId"]
        if first["errorCode"] == 79:
            first = talk.prepare(ApiKey.JOIN_GROUP, joining(group, member))
        generation = first["generationId"]

        known = {"groupId": group, "generationId": generation, "memberId": member, **NAMED}
        rows = [{"memberId": member, "assignment": ASSIGNMENT}]

        def ask(case: str, version: int = version, known: dict[str, Any] = known, rows: Any = rows, **more: Any) -> Any:
            return talk.ask(case, ApiKey.SYNC_GROUP, version, {**known, "assignments": rows, **more})

        ask("empty group", groupId="")
        ask("unknown group", groupId="sync-nowhere")
        ask("unknown member", memberId="stranger")
        ask("empty member", memberId="")
        ask("older generation", generationId=0)
        ask("newer generation", generationId=9)
        if version >= 3:
            ask("unknown instance", groupInstanceId="static")
        if version >= 5:
            ask("other type", protocolType="connect")
            ask("other protocol", protocolName="sticky")
            ask("null type", protocolType=None)
            ask("null protocol", protocolName=None)
        ask("good")
        ask("good again")
        ask("without assignments", assignments=[])


def heartbeat_and_leave(talk: Talk) -> None:
    for version in talk.versions(ApiKey.HEARTBEAT):
        group = f"beat-{version}"
        member, generation = formed(talk, group)
        body = {"groupId": group, "generationId": generation, "memberId": member}
        for case, more in {
            "good": {},
            "empty group": {"groupId": ""},
            "unknown group": {"groupId": "beat-nowhere"},
            "unknown member": {"memberId": "stranger"},
            "empty member": {"memberId": ""},
            "older generation": {"generationId": 0},
            "newer generation": {"generationId": 2},
            "negative generation": {"generationId": -1},
            "unknown instance": {"groupInstanceId": "static"} if version >= 3 else {},
        }.items():
            talk.ask(case, ApiKey.HEARTBEAT, version, {**body, **more})
    for version in talk.versions(ApiKey.LEAVE_GROUP):
        group = f"leave-{version}"
        member, generation = formed(talk, group)

        def leave(case: str, group: str, member: str, version: int = version, **more: Any) -> None:
            row = {"memberId": member, **more}
            body = {"groupId": group, "memberId": member, "members": [row]}
            talk.ask(case, ApiKey.LEAVE_GROUP, version, body)

        leave("empty group", "", member)
        leave("unknown group", "leave-nowhere", member)
        leave("unknown member", group, "stranger")
        leave("empty member", group, "")
        if version >= 3:
            leave("unknown instance", group, "", groupInstanceId="static")
            leave("known member, unknown instance", group, member, groupInstanceId="static")
            talk.ask("nobody", ApiKey.LEAVE_GROUP, version, {"groupId": group, "members": []})
        leave("good", group, member)
        leave("good again", group, member)
        body = {"groupId": group, "generationId": generation, "memberId": member}
        talk.ask(f"after leaving {version}", ApiKey.HEARTBEAT, talk.latest[ApiKey.HEARTBEAT], body)


def static_members(talk: Talk) -> None:
    for version in [each for each in talk.versions(ApiKey.JOIN_GROUP) if each >= 5]:
        group = f"static-{version}"
        member, generation = formed(talk, group, groupInstanceId="one")

        def ask(case: str, api: int, body: dict[str, Any], at: int | None = None, group: str = group) -> Any:
            return talk.ask(f"{case} {group}", api, at or talk.latest[api], body)

        base = {"groupId": group, "generationId": generation, "memberId": member, "groupInstanceId": "one", **NAMED}
        ask("good", ApiKey.HEARTBEAT, base)
        ask("without instance", ApiKey.HEARTBEAT, {**base, "groupInstanceId": None})
        ask("wrong member", ApiKey.HEARTBEAT, {**base, "memberId": "stranger"})
        ask("rejoin with wrong member", ApiKey.JOIN_GROUP, joining(group, "stranger", groupInstanceId="one"), version)
        ask("describe", ApiKey.DESCRIBE_GROUPS, {"groups": [group]})
        again = ask("come back", ApiKey.JOIN_GROUP, joining(group, groupInstanceId="one"), version)
        ask("old member", ApiKey.HEARTBEAT, base)
        ask("old member syncs", ApiKey.SYNC_GROUP, {**base, "assignments": []})
        commit = {
            "groupId": group,
            "generationIdOrMemberEpoch": generation,
            "memberId": member,
            "groupInstanceId": "one",
        }
        ask("old member commits", ApiKey.OFFSET_COMMIT, {**commit, "topics": []})
        new = {**base, "memberId": again["memberId"], "generationId": again["generationId"]}
        ask("new member", ApiKey.HEARTBEAT, new)
        ask("new member syncs", ApiKey.SYNC_GROUP, {**new, "assignments": []})
        members = [{"memberId": "", "groupInstanceId": "one"}, {"memberId": "", "groupInstanceId": "two"}]
        ask("leave", ApiKey.LEAVE_GROUP, {"groupId": group, "members": members})
        ask("described empty", ApiKey.DESCRIBE_GROUPS, {"groups": [group]})


def rebalance(talk: Talk) -> None:
    """A second member joins. The first learns it from its heartbeat and joins again, and both get the leader's
    assignment.
    """
    group = "rebalance"
    api, version = ApiKey.JOIN_GROUP, talk.latest[ApiKey.JOIN_GROUP]
    if not talk.versions(api):
        return
    first, generation = formed(talk, group)
    with talk.line() as other:
        other.send(api, version, joining(group))
        pending = other.receive(api, version)
        talk.note("second, first step", pending)
        assert not isinstance(pending, str)
        second = pending["memberId"]
        other.send(api, version, joining(group, second))
        body = {"groupId": group, "generationId": generation, "memberId": first, **NAMED}
        _until_rebalancing(talk, body)
        talk.ask("beat while rebalancing", ApiKey.HEARTBEAT, talk.latest[ApiKey.HEARTBEAT], body)
        talk.ask(
            "sync while rebalancing", ApiKey.SYNC_GROUP, talk.latest[ApiKey.SYNC_GROUP], {**body, "assignments": []}
        )
        commit = {"groupId": group, "generationIdOrMemberEpoch": generation, "memberId": first, "topics": []}
        talk.ask("commit while rebalancing", ApiKey.OFFSET_COMMIT, talk.latest[ApiKey.OFFSET_COMMIT], commit)
        talk.ask(
            "described while rebalancing",
            ApiKey.DESCRIBE_GROUPS,
            talk.latest[ApiKey.DESCRIBE_GROUPS],
            {"groups": [group]},
        )
        talk.ask("first joins", api, version, joining(group, first))
        talk.note("second joined", other.receive(api, version))
        talk.ask(
            "described, completing", ApiKey.DESCRIBE_GROUPS, talk.latest[ApiKey.DESCRIBE_GROUPS], {"groups": [group]}
        )
        new = {"groupId": group, "generationId": generation + 1, **NAMED}
        sync = talk.latest[ApiKey.SYNC_GROUP]
        other.send(ApiKey.SYNC_GROUP, sync, {**new, "memberId": second, "assignments": []})
        rows = [{"memberId": first, "assignment": ASSIGNMENT}]
        talk.ask("leader syncs", ApiKey.SYNC_GROUP, sync, {**new, "memberId": first, "assignments": rows})
        talk.note("second synced", other.receive(ApiKey.SYNC_GROUP, sync))
        talk.ask("old generation", ApiKey.HEARTBEAT, talk.latest[ApiKey.HEARTBEAT], body)
        talk.ask("described, stable", ApiKey.DESCRIBE_GROUPS, talk.latest[ApiKey.DESCRIBE_GROUPS], {"groups": [group]})
        members = {"groupId": group, "members": [{"memberId": second}, {"memberId": "stranger"}]}
        talk.ask("second leaves", ApiKey.LEAVE_GROUP, talk.latest[ApiKey.LEAVE_GROUP], members)


def _until_rebalancing(talk: Talk, body: dict[str, Any]) -> None:
    eventually(lambda: talk.prepare(ApiKey.HEARTBEAT, body)["errorCode"] == 27)


def offsets(talk: Talk) -> None:
    topic = made(talk, "offsets", 2)
    find(talk, "offsets")

    def row(offset: int, metadata: str | None = "note", index: int = 0, epoch: int = 0) -> dict[str, Any]:
        named = {"partitionIndex": index, "committedOffset": offset, "committedLeaderEpoch": epoch}
        return {**named, "committedMetadata": metadata, "commitTimestamp": -1}

    def committed(group: str, *rows: dict[str, Any], name: str = "offsets", **more: Any) -> dict[str, Any]:
        named = {
            "name": name,
            "topicId": topic["topicId"] if name == "offsets" else UNKNOWN_ID,
            "partitions": list(rows),
        }
        base = {"groupId": group, "generationIdOrMemberEpoch": -1, "memberId": "", "retentionTimeMs": -1}
        return {**base, "topics": [named], **more}

    for version in talk.versions(ApiKey.OFFSET_COMMIT):
        group = f"offsets-{version}"
        member, generation = formed(talk, f"offsets-member-{version}")
        mine = {"memberId": member, "generationIdOrMemberEpoch": generation}
        live = f"offsets-member-{version}"
        for case, body in {
            "good": committed(group, row(5)),
            "two": committed(group, row(5), row(6, index=1)),
            "no note": committed(group, row(5, None)),
            "negative": committed(group, row(-1)),
            "very negative": committed(group, row(-5)),
            "note of 4096": committed(group, row(5, "x" * 4096)),
            "note of 4097": committed(group, row(5, "x" * 4097)),
            "unknown topic": committed(group, row(5), name="offsets-unknown"),
            "invalid topic": committed(group, row(5), name="a b"),
            "unknown partition": committed(group, row(5, index=9)),
            "negative partition": committed(group, row(5, index=-1)),
            "good and unknown": committed(group, row(7), row(8, index=9)),
            "empty group": committed("", row(5)),
            "no topics": committed(group, topics=[]),
            "no partitions": committed(group),
            "member of an empty group": committed(group, row(5), memberId="stranger", generationIdOrMemberEpoch=1),
            "member of an unknown group": committed(
                f"never-{version}", row(5), memberId="a", generationIdOrMemberEpoch=1
            ),
            "generation alone": committed(f"never-{version}", row(5), generationIdOrMemberEpoch=1),
            "outsider": committed(live, row(5)),
            "mine": committed(live, row(5), **mine),
            "mine, unknown topic": committed(live, row(5), name="offsets-unknown", **mine),
            "stranger": committed(live, row(5), memberId="stranger", generationIdOrMemberEpoch=generation),
            "older": committed(live, row(5), memberId=member, generationIdOrMemberEpoch=0),
            "newer": committed(live, row(5), memberId=member, generationIdOrMemberEpoch=generation + 1),
        }.items():
            talk.ask(case, ApiKey.OFFSET_COMMIT, version, body)
        if version >= 7:
            body = committed(live, row(5), groupInstanceId="static", **mine)
            talk.ask("unknown instance", ApiKey.OFFSET_COMMIT, version, body)
    if not talk.versions(ApiKey.OFFSET_FETCH):
        return
    talk.prepare(ApiKey.OFFSET_COMMIT, committed("kept", row(11), row(12, None, index=1, epoch=-1)))
    for case, names in {
        "both": [{"name": "offsets", "partitionIndexes": [0, 1]}],
        "unknown partition": [{"name": "offsets", "partitionIndexes": [0, 9]}],
        "unknown topic": [{"name": "offsets-unknown", "partitionIndexes": [0]}],
        "no partitions": [{"name": "offsets", "partitionIndexes": []}],
        "none": [],
        "all": None,
    }.items():
        for group in ("kept", "unknown", ""):
            body = {"groupId": group, "topics": names, "groups": [{"groupId": group, "topics": names}]}
            for version in talk.versions(ApiKey.OFFSET_FETCH):
                if names is None and version < 2:
                    continue
                talk.ask(f"{case} of {group!r}", ApiKey.OFFSET_FETCH, version, body)
    for version in [each for each in talk.versions(ApiKey.OFFSET_FETCH) if each >= 7]:
        body = {
            "groupId": "kept",
            "requireStable": True,
            "groups": [{"groupId": "kept", "topics": None}],
            "topics": None,
        }
        talk.ask("stable", ApiKey.OFFSET_FETCH, version, body)
        several = [{"groupId": name, "topics": None} for name in ("kept", "unknown", "", "kept")]
        talk.ask("several", ApiKey.OFFSET_FETCH, version, {**body, "groups": several})
        claimed = [{"groupId": "kept", "topics": None, "memberId": "stranger", "memberEpoch": 1}]
        talk.ask("claimed", ApiKey.OFFSET_FETCH, version, {**body, "groups": claimed})


def inspected(talk: Talk) -> None:
    """Describe, list, delete groups and delete offsets, in each state."""
    made(talk, "inspected")
    formed(talk, "inspected-stable")
    pending = talk.prepare(ApiKey.JOIN_GROUP, joining("inspected-joining"))
    if pending["errorCode"] == 79:
        talk.prepare(ApiKey.JOIN_GROUP, joining("inspected-joining", pending["memberId"]))
    topics = [
        {"name": "inspected", "partitions": [{"partitionIndex": 0, "committedOffset": 3, "committedMetadata": ""}]}
    ]
    commit = {"generationIdOrMemberEpoch": -1, "memberId": "", "topics": topics}
    names = ["inspected-stable", "inspected-joining", "inspected-empty", "inspected-dead", ""]
    for version in talk.versions(ApiKey.DESCRIBE_GROUPS):
        talk.prepare(
            ApiKey.OFFSET_COMMIT, {**commit, "groupId": "inspected-empty"}, min(9, talk.latest[ApiKey.OFFSET_COMMIT])
        )
        for operations in (False, True):
            body = {"groups": names, "includeAuthorizedOperations": operations}
            talk.ask(f"all {operations}", ApiKey.DESCRIBE_GROUPS, version, body)
        talk.ask("twice", ApiKey.DESCRIBE_GROUPS, version, {"groups": ["inspected-stable", "inspected-stable"]})
        talk.ask("none", ApiKey.DESCRIBE_GROUPS, version, {"groups": []})
    for case, body in {
        "all": {},
        "stable": {"statesFilter": ["Stable"]},
        "lower case": {"statesFilter": ["stable"]},
        "two states": {"statesFilter": ["Empty", "CompletingRebalance"]},
        "unknown state": {"statesFilter": ["Asleep"]},
        "dead": {"statesFilter": ["Dead"]},
        "consumer": {"typesFilter": ["consumer"]},
        "classic": {"typesFilter": ["classic"]},
        "Classic": {"typesFilter": ["Classic"]},
        "unknown type": {"typesFilter": ["modern"]},
        "both": {"statesFilter": ["Stable"], "typesFilter": ["classic"]},
    }.items():
        for version in talk.versions(ApiKey.LIST_GROUPS):
            needs = 5 if "typesFilter" in body else 4 if body else 0
            if version >= needs:
                answer = talk.prepare(ApiKey.LIST_GROUPS, body, version)
                answer["groups"] = [each for each in answer["groups"] if each["groupId"].startswith("inspected")]
                talk.note(f"LIST_GROUPS {version}: {case}", answer)
    offsets_of = {"topics": [{"name": "inspected", "partitions": [{"partitionIndex": 0}, {"partitionIndex": 9}]}]}
    for group in names:
        talk.sweep(f"offsets of {group!r}", ApiKey.OFFSET_DELETE, {"groupId": group, **offsets_of})
    unknown = {"topics": [{"name": "inspected-unknown", "partitions": [{"partitionIndex": 0}]}]}
    talk.sweep("offsets of an unknown topic", ApiKey.OFFSET_DELETE, {"groupId": "inspected-empty", **unknown})
    talk.sweep("no offsets", ApiKey.OFFSET_DELETE, {"groupId": "inspected-empty", "topics": []})
    for version in talk.versions(ApiKey.DELETE_GROUPS):
        talk.prepare(
            ApiKey.OFFSET_COMMIT, {**commit, "groupId": "inspected-empty"}, min(9, talk.latest[ApiKey.OFFSET_COMMIT])
        )
        talk.ask("delete", ApiKey.DELETE_GROUPS, version, {"groupsNames": names})
        talk.ask("delete again", ApiKey.DELETE_GROUPS, version, {"groupsNames": ["inspected-empty", "inspected-empty"]})
        talk.ask("delete none", ApiKey.DELETE_GROUPS, version, {"groupsNames": []})
