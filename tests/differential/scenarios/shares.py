"""Share groups: the state of share partitions, share sessions, and the records that members acquire."""

from __future__ import annotations

from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.scenarios.produce import UNKNOWN_ID, made
from tests.differential.talk import Talk
from tests.support.eventually import eventually

GROUP = "shares"
STATE_APIS = (
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey.DELETE_SHARE_GROUP_STATE,
)


def on(topic_id: str, *partitions: dict[str, Any], group: str = GROUP) -> dict[str, Any]:
    return {"groupId": group, "topics": [{"topicId": topic_id, "partitions": list(partitions)}]}


def wanted(api: int, partition: int, **more: Any) -> dict[str, Any]:
    """An element of a request of one of the state APIs."""
    fields: dict[int, dict[str, Any]] = {
        ApiKey.INITIALIZE_SHARE_GROUP_STATE: {"stateEpoch": 1, "startOffset": -1},
        ApiKey.READ_SHARE_GROUP_STATE: {"leaderEpoch": -1},
        ApiKey.WRITE_SHARE_GROUP_STATE: {
            "stateEpoch": 1,
            "leaderEpoch": 2,
            "startOffset": 0,
            "deliveryCompleteCount": 0,
            "stateBatches": [],
        },
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: {"leaderEpoch": -1},
    }
    return {"partition": partition, **fields.get(api, {}), **more}


def coordinated(talk: Talk, topic_id: str) -> None:
    """Wait for the share coordinator."""
    api = ApiKey.READ_SHARE_GROUP_STATE_SUMMARY

    def is_there() -> bool:
        talk.prepare(ApiKey.FIND_COORDINATOR, {"keyType": 2, "coordinatorKeys": ["shares:AAAAAAAAAAAAAAAAAAAAAQ:0"]})
        answer = talk.prepare(api, on(topic_id, wanted(api, 0)))
        return answer["results"][0]["partitions"][0]["errorCode"] not in (3, 14, 15, 16)

    eventually(is_there)


def share_states(talk: Talk) -> None:
    topic_id = made(talk, "share-states", 2)["topicId"]
    coordinated(talk, topic_id)
    for api in STATE_APIS:
        absent = {} if api is ApiKey.INITIALIZE_SHARE_GROUP_STATE else {"absent": on(topic_id, wanted(api, 0))}
        for case, body in {
            **absent,
            "unknown topic": on(UNKNOWN_ID, wanted(api, 0)),
            "unknown partition": on(topic_id, wanted(api, 7)),
            "negative partition": on(topic_id, wanted(api, -1)),
            "no group": on(topic_id, wanted(api, 0), group=""),
            "no topics": {"groupId": GROUP, "topics": []},
            "no partitions": on(topic_id),
        }.items():
            talk.sweep(case, api, body)


def share_state_epochs(talk: Talk) -> None:
    topic_id = made(talk, "share-epochs", 1)["topicId"]
    coordinated(talk, topic_id)
    initialize, read, write, summary, delete = STATE_APIS
    number = iter(range(100))

    def step(api: ApiKey, **more: Any) -> None:
        talk.ask(f"step {next(number)} {more}", api, talk.latest[api], on(topic_id, wanted(api, 0, **more)))

    def batch(first: int, last: int, state: int, count: int) -> dict[str, int]:
        return {"firstOffset": first, "lastOffset": last, "deliveryState": state, "deliveryCount": count}

    step(initialize, stateEpoch=3)
    step(read)
    step(summary)
    step(initialize, stateEpoch=2)
    step(read, leaderEpoch=5)
    step(read, leaderEpoch=4)
    step(write, leaderEpoch=4, stateEpoch=3)
    step(write, leaderEpoch=5, stateEpoch=2)
    step(write, leaderEpoch=5, stateEpoch=3, startOffset=4, stateBatches=[batch(2, 9, 2, 1), batch(6, 7, 0, 2)])
    step(read)
    step(write, leaderEpoch=-1, stateEpoch=-1, startOffset=-1, stateBatches=[batch(8, 12, 4, 3)])
    step(write, leaderEpoch=6, stateEpoch=4, startOffset=5, deliveryCompleteCount=6)
    step(read)
    step(summary)
    step(initialize, stateEpoch=4, startOffset=100)
    step(read)
    step(summary)
    step(delete)
    step(delete)
    step(read)
    step(summary)


def share_requests_without_the_feature(talk: Talk) -> None:
    for api in (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE):
        body = {"groupId": GROUP, "memberId": "m", "shareSessionEpoch": 0, "topics": []}
        talk.sweep("not enabled", api, body | ({"maxWaitMs": 0} if api == ApiKey.SHARE_FETCH else {}))
