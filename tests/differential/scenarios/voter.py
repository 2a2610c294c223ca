"""One voter of three, in each of its states; the scenario plays the other two.

Each scenario has epochs of its own, a thousand above those of the previous one, so both sides start without state. The
transcript has quorum-state with every response.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from kraft.messages.registry import ApiKey
from tests.differential.scenarios.controllers import registration, sealed
from tests.differential.scenarios.quorum import (
    NODE_ID,
    OTHER_ID,
    OTHER_VOTER,
    STRANGER,
    TOPIC,
    begin,
    end,
    fetch,
    fetch_snapshot,
    misaddressed,
    vote,
    without_times,
)
from tests.differential.talk import Body, Talk, label, request_header
from tests.differential.voter import FakeVoter
from tests.support.eventually import eventually

THIRD_VOTER = 3
FIRST_PRE_VOTE = 2
OWN_DIRECTORY = "its own directory"


def say(talk: Talk, case: str, api: int, version: int, body: Body) -> Any:
    """Send a request, and record quorum-state at the time of its response."""
    answer = talk.ask(case, api, version, body, relevant=_without_bytes)
    talk.note(f"{label(case, api, version)}: quorum-state", talk.side.quorum_state())
    return answer


def _without_bytes(answer: Body) -> Body:
    """The records that open an epoch have times, and the names of those that were quick to vote."""
    for topic in answer.get("responses", ()):
        for partition in topic["partitions"]:
            partition["records"] = f"{len(partition['records'] or '')} characters"
    return answer


def say_in_each(talk: Talk, case: str, api: int, body: Body) -> None:
    for version in talk.versions(api):
        say(talk, case, api, version, body)


def say_newest(talk: Talk, case: str, api: int, body: Body) -> None:
    say(talk, case, api, talk.versions(api)[-1], body)


def say_pre_vote(talk: Talk, case: str, epoch: int, *last: int, **more: Any) -> None:
    """In the versions that have pre-votes, which those of Kafka 3.9 do not."""
    for version in talk.versions(ApiKey.VOTE):
        if version >= FIRST_PRE_VOTE:
            say(talk, case, ApiKey.VOTE, version, vote(epoch, *last, preVote=True, **more))


def leaderless(talk: Talk, epoch: int) -> None:
    """Let the voter see a new epoch: a candidate whose log is too short does not get its vote."""
    talk.prepare(ApiKey.VOTE, vote(epoch, candidate=THIRD_VOTER, voterId=NODE_ID))


def asked_what_only_leaders_know(talk: Talk, state: str, epoch: int) -> None:
    for case, asked in (("stale", epoch - 1), ("present", epoch), ("unknown", epoch + 1)):
        say_in_each(talk, f"{state}, epoch {case}", ApiKey.FETCH, fetch(asked))
        say_in_each(talk, f"{state}, epoch {case}", ApiKey.FETCH_SNAPSHOT, fetch_snapshot(asked, 5, 0))
    good = {"topicName": TOPIC, "partitions": [{"partitionIndex": 0}]}
    for version in talk.versions(ApiKey.DESCRIBE_QUORUM):
        talk.ask(state, ApiKey.DESCRIBE_QUORUM, version, {"topics": [good]}, relevant=without_times)


def before_any_leader(talk: Talk) -> None:
    """After its start: in epoch 0, which has no leader."""
    asked_what_only_leaders_know(talk, "epoch 0", 0)
    for epoch in (0, -1):
        say_newest(talk, f"of epoch {epoch}", ApiKey.VOTE, vote(epoch))
        say_pre_vote(talk, f"of epoch {epoch}, pre-vote", epoch)
    say_in_each(talk, "of epoch -1", ApiKey.BEGIN_QUORUM_EPOCH, begin(-1))
    say_in_each(talk, "of epoch -1", ApiKey.END_QUORUM_EPOCH, end(-1))


def votes(talk: Talk) -> None:
    api = ApiKey.VOTE
    for version in talk.versions(api):
        epoch = 1000 + 100 * version
        directory = talk.side.directory_id
        for case, body in {
            "first": vote(epoch),
            "again": vote(epoch),
            "again, shorter log": vote(epoch),
            "the other voter": vote(epoch, candidate=THIRD_VOTER),
            "stale": vote(epoch - 1),
            "stranger": vote(epoch, candidate=STRANGER),
            "stranger, new epoch": vote(epoch + 1, candidate=STRANGER),
            "voter after the stranger": vote(epoch + 1),
            "candidate -1": vote(epoch + 3, candidate=-1),
            "offset -1": vote(epoch + 4, -1, 0),
            "last epoch -1": vote(epoch + 5, 0, -1),
            "last epoch its own": vote(epoch + 6, 5, epoch + 6),
            "last epoch newer": vote(epoch + 7, 5, epoch + 8),
            "last epoch one older": vote(epoch + 8, 5, epoch + 7),
            "offset without epoch": vote(epoch + 9, 5, 0),
            "to another voter": vote(epoch + 10, voterId=OTHER_VOTER),
            "to this voter after": vote(epoch + 10),
            "to nobody": vote(epoch + 11, voterId=-1),
            "to another directory": vote(epoch + 12, voterDirectoryId=OTHER_ID),
            "to its directory": vote(epoch + 13, voterDirectoryId=directory),
            "to its directory, as another voter": vote(epoch + 14, voterDirectoryId=directory, voterId=OTHER_VOTER),
            "from a directory": vote(epoch + 15, replicaDirectoryId=OTHER_ID),
            "from another directory": vote(epoch + 15, replicaDirectoryId=directory),
            "from no directory": vote(epoch + 15),
            "stale, to another voter": vote(epoch, voterId=OTHER_VOTER),
            "stale, offset -1": vote(epoch, -1, 0),
            "stale, last epoch newer": vote(epoch, 0, epoch + 1),
            "stale, stranger": vote(epoch, candidate=STRANGER),
            "stale, candidate -1": vote(epoch, candidate=-1),
            "negative epoch": vote(-5),
            **{f"{case}, new epoch": body for case, body in misaddressed(vote(epoch + 16)).items()},
        }.items():
            say(talk, case, api, version, body)


def pre_votes(talk: Talk) -> None:
    """Granted or not, they change nothing (KIP-996)."""
    epoch = 2000
    leaderless(talk, epoch)
    for case, more in {
        "present": {},
        "the other voter": {"candidate": THIRD_VOTER},
        "stranger": {"candidate": STRANGER},
        "itself": {"candidate": NODE_ID},
        "offset -1": {"last_offset": -1},
        "last epoch its own": {"last_offset": 9, "last_epoch": epoch},
        "last epoch newer": {"last_offset": 9, "last_epoch": epoch + 1},
        "to another voter": {"voterId": OTHER_VOTER},
        "to another directory": {"voterDirectoryId": OTHER_ID},
    }.items():
        say_pre_vote(talk, case, epoch, **more)
    say_pre_vote(talk, "stale", epoch - 1)
    say_pre_vote(talk, "new epoch", epoch + 1)
    say_pre_vote(talk, "new epoch, stranger", epoch + 2, candidate=STRANGER)
    say_pre_vote(talk, "new epoch, to another voter", epoch + 3, voterId=OTHER_VOTER)
    say_newest(talk, "vote after", ApiKey.VOTE, vote(epoch + 3))
    say_pre_vote(talk, "after a vote", epoch + 3)
    say_pre_vote(talk, "after a vote, the other voter", epoch + 3, candidate=THIRD_VOTER)


def following(talk: Talk) -> None:
    """A leader that sent BeginQuorumEpoch, and to which the voter has no connection yet."""
    api = ApiKey.BEGIN_QUORUM_EPOCH
    directory = talk.side.directory_id
    for version in talk.versions(api):
        epoch = 3000 + 100 * version
        for case, body in {
            "first": begin(epoch),
            "again": begin(epoch),
            "stale": begin(epoch - 1),
            "stale, the other voter": begin(epoch - 1, THIRD_VOTER),
            "new epoch, the other voter": begin(epoch + 1, THIRD_VOTER),
            "to another voter": begin(epoch + 2, voterId=OTHER_VOTER),
            "to nobody": begin(epoch + 3, voterId=-1),
            "to another directory": begin(epoch + 4, voterDirectoryId=OTHER_ID),
            "to its directory": begin(epoch + 5, voterDirectoryId=directory),
            "leader -1": begin(epoch + 6, -1),
            "stale, leader -1": begin(epoch, -1),
            "stale, to another voter": begin(epoch, voterId=OTHER_VOTER),
            "negative epoch": begin(-5),
            **{f"{case}, new epoch": body for case, body in misaddressed(begin(epoch + 7)).items()},
            "last": begin(epoch + 8),
        }.items():
            say(talk, case, api, version, body)
        voted = epoch + 20
        say(talk, f"vote before {version}", ApiKey.VOTE, 1, vote(voted))
        say(talk, "of whom it voted for", api, version, begin(voted))
        say(talk, f"vote before {version} again", ApiKey.VOTE, 1, vote(voted + 1))
        say(talk, "not of whom it voted for", api, version, begin(voted + 1, THIRD_VOTER))
    epoch = 3500
    talk.prepare(api, begin(epoch))
    asked_what_only_leaders_know(talk, "following", epoch)
    for candidate in (OTHER_VOTER, THIRD_VOTER, STRANGER):
        say_in_each(talk, f"following, {candidate}", ApiKey.VOTE, vote(epoch, candidate=candidate))
        say_pre_vote(talk, f"pre-vote, {candidate}", epoch, candidate=candidate)
    say_pre_vote(talk, "pre-vote, new epoch", epoch + 1, candidate=THIRD_VOTER)


def other_leaders(talk: Talk) -> None:
    """Of one epoch, and such as are no voters."""
    api = ApiKey.BEGIN_QUORUM_EPOCH
    for version in talk.versions(api):
        epoch = 4000 + 100 * version
        elsewhere = [{"name": "CONTROLLER", "host": "127.0.0.1", "port": 9}]
        say(talk, "first", api, version, begin(epoch))
        say(talk, "stale, stranger", api, version, begin(epoch - 1, STRANGER))
        say(talk, "new address", api, version, begin(epoch, leaderEndpoints=elsewhere))
        say(talk, "new epoch, new address", api, version, begin(epoch + 1, leaderEndpoints=elsewhere))


def resigning(talk: Talk) -> None:
    """Leaders that go; who should succeed them is the third voter."""
    api = ApiKey.END_QUORUM_EPOCH
    for version in talk.versions(api):
        epoch = 5000 + 100 * version
        talk.prepare(ApiKey.BEGIN_QUORUM_EPOCH, begin(epoch))
        successors = (THIRD_VOTER,)
        for case, body in {
            "stale": end(epoch - 1, successors=successors),
            "negative epoch": end(-5),
            "leader -1": end(epoch, -1),
            "stale, leader -1": end(epoch - 1, -1),
            "good": end(epoch, successors=successors),
            "again": end(epoch, successors=successors),
            **{
                f"{case}, new epoch": body for case, body in misaddressed(end(epoch + 1, successors=successors)).items()
            },
            "new epoch": end(epoch + 2, successors=successors),
            "new epoch, the other voter": end(epoch + 3, THIRD_VOTER, (OTHER_VOTER,)),
        }.items():
            say(talk, case, api, version, body)
        for candidate in (OTHER_VOTER, THIRD_VOTER):
            case = f"{candidate}, after the end {version}"
            say_pre_vote(talk, f"{case}, pre-vote", epoch + 3, candidate=candidate)
            say_newest(talk, case, ApiKey.VOTE, vote(epoch + 3, candidate=candidate))
        for other in talk.side.voters.values():
            other.script(epoch + 4)
        talk.ask("without successors", api, version, end(epoch + 4))
        note_asked(talk, f"after an end {version} without successors", ApiKey.VOTE)


def seek_votes(talk: Talk, epoch: int, *, pre_vote: bool | None = None, vote: bool | None = None) -> None:
    """Have the leader of ``epoch`` resign in favour of the voter. The others send scripted responses.

    Return after the voter's last request to them: for pre-votes, for votes in the next epoch, or BeginQuorumEpoch.
    """
    others = talk.side.voters.values()
    for other in others:
        other.script(epoch, pre_vote=pre_vote, vote=vote)
    talk.prepare(ApiKey.BEGIN_QUORUM_EPOCH, begin(epoch))
    talk.prepare(ApiKey.END_QUORUM_EPOCH, end(epoch, successors=(NODE_ID, THIRD_VOTER)))

    def has_asked(other: FakeVoter) -> bool:
        if vote:
            return ApiKey.BEGIN_QUORUM_EPOCH in other.asked
        asked = other.asked.get(ApiKey.VOTE)
        return asked is not None and asked["topics"][0]["partitions"][0].get("preVote", False) is not bool(pre_vote)

    eventually(lambda: all(map(has_asked, others)))


def note_asked(talk: Talk, case: str, api: int, *of: int) -> None:
    """Record the voter's requests to all others, or to these."""
    for node_id in of or talk.side.voters:
        asked = talk.side.voters[node_id].asked
        eventually(partial(asked.__contains__, api))
        text = json.dumps(asked[api]).replace(talk.side.directory_id, OWN_DIRECTORY)
        talk.note(f"{ApiKey(api).name}: {case}, to {node_id}", json.loads(text))


def others_ask(talk: Talk, state: str, epoch: int) -> None:
    """Requests that change nothing, in the state Prospective."""
    asked_what_only_leaders_know(talk, state, epoch)
    for candidate in (OTHER_VOTER, THIRD_VOTER):
        case = f"{state}, {candidate}"
        say_in_each(talk, case, ApiKey.VOTE, vote(epoch, candidate=candidate))
        say_in_each(talk, f"{case}, stale", ApiKey.VOTE, vote(epoch - 1, candidate=candidate))
        say_pre_vote(talk, f"{case}, pre-vote", epoch, candidate=candidate)
    say_in_each(talk, f"{state}, stale", ApiKey.BEGIN_QUORUM_EPOCH, begin(epoch - 1))
    say_in_each(talk, f"{state}, stale", ApiKey.END_QUORUM_EPOCH, end(epoch - 1))


def fetched_from(talk: Talk) -> None:
    """A follower that has fetched from its leader refuses pre-votes (KIP-996)."""
    epoch = 6000
    leader = talk.side.voters[OTHER_VOTER]
    leader.leads = epoch
    talk.prepare(ApiKey.BEGIN_QUORUM_EPOCH, begin(epoch))
    eventually(lambda: leader.leads is None)
    note_asked(talk, "what it asks its leader", ApiKey.FETCH, OTHER_VOTER)
    body = vote(epoch, candidate=THIRD_VOTER, preVote=True)

    def is_refused() -> bool:
        answer = talk.prepare(ApiKey.VOTE, body)
        return not answer["topics"][0]["partitions"][0]["voteGranted"]

    eventually(is_refused)
    say_in_each(talk, "a vote, or a pre-vote", ApiKey.VOTE, body)
    say_pre_vote(talk, "pre-vote, new epoch", epoch + 1, candidate=THIRD_VOTER)


def prospective(talk: Talk) -> None:
    """It requests pre-votes and gets no response."""
    epoch = 7000
    seek_votes(talk, epoch)
    note_asked(talk, "would-be vote", ApiKey.VOTE)
    others_ask(talk, "prospective", epoch)
    say(talk, "of the leader that resigned", ApiKey.END_QUORUM_EPOCH, 1, end(epoch))
    say(talk, "of the leader that resigned", ApiKey.BEGIN_QUORUM_EPOCH, 1, begin(epoch))
    say_pre_vote(talk, "prospective, pre-vote, new epoch", epoch + 1)
    seek_votes(talk, epoch + 10)
    say_newest(talk, "prospective, new epoch", ApiKey.VOTE, vote(epoch + 11))
    seek_votes(talk, epoch + 20)
    say(talk, "prospective, new epoch", ApiKey.BEGIN_QUORUM_EPOCH, 1, begin(epoch + 21))


def candidate(talk: Talk) -> None:
    """It gets its pre-votes and requests votes, and gets no response."""
    epoch = 8001
    seek_votes(talk, epoch - 1, pre_vote=True)
    note_asked(talk, "vote", ApiKey.VOTE)
    others_ask(talk, "candidate", epoch)
    say(talk, "candidate, who won", ApiKey.BEGIN_QUORUM_EPOCH, 1, begin(epoch))
    seek_votes(talk, epoch + 9, pre_vote=True)
    say(talk, "candidate, who won and resigned", ApiKey.END_QUORUM_EPOCH, 1, end(epoch + 10, successors=(THIRD_VOTER,)))
    seek_votes(talk, epoch + 19, pre_vote=True)
    say_newest(talk, "candidate, new epoch", ApiKey.VOTE, vote(epoch + 21))
    seek_votes(talk, epoch + 29, pre_vote=True)
    say_pre_vote(talk, "candidate, pre-vote, new epoch", epoch + 31)


def elected(talk: Talk) -> None:
    """It leads without a committed record: the others have not fetched its LeaderChange."""
    epoch = 9001
    seek_votes(talk, epoch - 1, pre_vote=True, vote=True)
    note_asked(talk, "it leads", ApiKey.BEGIN_QUORUM_EPOCH)
    others_ask(talk, "leader", epoch)
    for voter in (OTHER_VOTER, THIRD_VOTER, STRANGER):
        say(talk, f"of {voter}", ApiKey.FETCH, 17, fetch(epoch, 5, 3, replica=voter))
    say_pre_vote(talk, "would vote in a new epoch", epoch + 1)
    say_newest(talk, "shorter log", ApiKey.VOTE, vote(epoch + 1))


def votes_by_log(talk: Talk) -> None:
    """After it led the log has a record of that epoch."""
    epoch = 10_001
    seek_votes(talk, epoch - 1, pre_vote=True, vote=True)
    note_asked(talk, "it leads again", ApiKey.BEGIN_QUORUM_EPOCH)
    end_offset = 2
    for number, (last_offset, last_epoch) in enumerate(
        [
            (0, 0),
            (end_offset, epoch - 1),
            (99, epoch - 1),
            (end_offset - 1, epoch),
            (end_offset, epoch),
            (end_offset + 1, epoch),
            (0, epoch + 1),
        ]
    ):
        asked = epoch + 10 + number
        case = f"log that ends with {last_offset} of {last_epoch}"
        say_pre_vote(talk, f"{case}, pre-vote", asked, last_offset, last_epoch)
        say_newest(talk, case, ApiKey.VOTE, vote(asked, last_offset, last_epoch))


def not_active(talk: Talk) -> None:
    """Requests that only the active controller serves, sent to a voter that knows the leader."""
    epoch = 11_000
    talk.prepare(ApiKey.BEGIN_QUORUM_EPOCH, begin(epoch))
    topic = {"name": "t", "numPartitions": 1, "replicationFactor": 1}
    partition = {"partitionIndex": 0, "leaderEpoch": 0, "partitionEpoch": 0}
    placed = {"topicId": OTHER_ID, "partitions": [{"partitionIndex": 0}]}
    config = {"name": "retention.ms", "value": "1", "configOperation": 0}
    for api, body in {
        ApiKey.CREATE_TOPICS: {"topics": [topic], "timeoutMs": 1000},
        ApiKey.DELETE_TOPICS: {"topicNames": ["t"], "topics": [{"name": "t"}], "timeoutMs": 1000},
        ApiKey.CREATE_PARTITIONS: {"topics": [{"name": "t", "count": 2}], "timeoutMs": 1000},
        ApiKey.ELECT_LEADERS: {"topicPartitions": [{"topic": "t", "partitions": [0]}], "timeoutMs": 1000},
        ApiKey.INCREMENTAL_ALTER_CONFIGS: {
            "resources": [{"resourceType": 2, "resourceName": "t", "configs": [config]}]
        },
        ApiKey.ALTER_CONFIGS: {"resources": [{"resourceType": 2, "resourceName": "t", "configs": [config]}]},
        ApiKey.ALTER_PARTITION_REASSIGNMENTS: {
            "topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "replicas": [1]}]}],
            "timeoutMs": 1000,
        },
        ApiKey.LIST_PARTITION_REASSIGNMENTS: {"topics": None, "timeoutMs": 1000},
        ApiKey.UPDATE_FEATURES: {
            "featureUpdates": [{"feature": "metadata.version", "maxVersionLevel": 20, "upgradeType": 2}],
            "timeoutMs": 1000,
        },
        ApiKey.UNREGISTER_BROKER: {"brokerId": 9},
        ApiKey.BROKER_REGISTRATION: registration(9),
        ApiKey.BROKER_HEARTBEAT: {"brokerId": 9, "brokerEpoch": 1},
        ApiKey.ALTER_PARTITION: {
            "brokerId": 9,
            "brokerEpoch": 1,
            "topics": [{"topicId": OTHER_ID, "partitions": [partition]}],
        },
        ApiKey.ALLOCATE_PRODUCER_IDS: {"brokerId": 9, "brokerEpoch": 1},
        ApiKey.ASSIGN_REPLICAS_TO_DIRS: {
            "brokerId": 9,
            "brokerEpoch": 1,
            "directories": [{"id": OTHER_ID, "topics": [placed]}],
        },
        ApiKey.CONTROLLER_REGISTRATION: {"controllerId": 2},
        ApiKey.DESCRIBE_CLUSTER: {"endpointType": 2},
        ApiKey.ADD_RAFT_VOTER: {"voterId": 4, "voterDirectoryId": OTHER_ID},
        ApiKey.REMOVE_RAFT_VOTER: {"voterId": 3, "voterDirectoryId": OTHER_ID},
        ApiKey.UPDATE_RAFT_VOTER: {"voterId": 3, "voterDirectoryId": OTHER_ID, "currentLeaderEpoch": epoch},
        ApiKey.API_VERSIONS: {"clientSoftwareName": "a", "clientSoftwareVersion": "1"},
        ApiKey.ENVELOPE: sealed(request_header(ApiKey.UNREGISTER_BROKER, 0) + b"\0\0\0\5\0"),
    }.items():
        talk.sweep("not active", api, body)
