"""Records and offsets read."""

from __future__ import annotations

import base64
from typing import Any

from kraft.messages.registry import ApiKey
from kraft.records.batch import iter_headers
from kraft.records.compression import Compression
from kraft.records.record import Record, encode_batch
from tests.differential.scenarios.produce import TIME_MS, UNKNOWN_ID, batch, made, produced
from tests.differential.talk import Talk
from tests.support.eventually import eventually

BATCHES = 5


def filled(talk: Talk, name: str, partitions: int = 1, **configs: str) -> dict[str, Any]:
    """A topic with five batches of three records in its first partition; timestamps rise and fall."""
    topic = made(talk, name, partitions, **configs)
    for number in range(BATCHES):
        rows = [Record(each, TIME_MS + 100 * ((number * 3 + each) % 11), b"k%d" % each, b"v" * 50) for each in range(3)]
        answer = talk.prepare(ApiKey.PRODUCE, produced(topic, encode_batch(rows)))
        assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == 0, answer
    return topic


def fetched(topic: dict[str, Any], *partitions: dict[str, Any], **more: Any) -> dict[str, Any]:
    rows = [{"partition": 0, "partitionMaxBytes": 1_000_000, **each} for each in partitions]
    body = {"maxWaitMs": 0, "maxBytes": 10_000_000, "minBytes": 0, "sessionEpoch": -1, "replicaId": -1}
    named = {"topic": topic["name"], "topicId": topic["topicId"]}
    return {**body, "topics": [{**named, "partitions": rows}], **more}


def fetch(talk: Talk) -> None:
    topic = filled(talk, "fetch", 2)
    unknown = {"name": "fetch-unknown", "topicId": UNKNOWN_ID}
    for offset in (0, 1, 2, 7, 14, 15, 16, -1, 2**40):
        talk.sweep(f"offset {offset}", ApiKey.FETCH, fetched(topic, {"fetchOffset": offset}))
    cases: dict[str, dict[str, Any]] = {
        "unknown topic": fetched(unknown, {}),
        "unknown partition": fetched(topic, {"partition": 5}),
        "negative partition": fetched(topic, {"partition": -1}),
        "empty partition": fetched(topic, {"partition": 1}),
        "empty partition, offset 1": fetched(topic, {"partition": 1, "fetchOffset": 1}),
        "both partitions": fetched(topic, {}, {"partition": 1}),
        "good and unknown": fetched(topic, {}, {"partition": 7}),
        "partition bytes 0": fetched(topic, {"partitionMaxBytes": 0}),
        "partition bytes 1": fetched(topic, {"partitionMaxBytes": 1}),
        "partition bytes negative": fetched(topic, {"partitionMaxBytes": -1}),
        "partition bytes 600": fetched(topic, {"partitionMaxBytes": 600}),
        "bytes 0": fetched(topic, {}, maxBytes=0),
        "bytes 1": fetched(topic, {}, maxBytes=1),
        "bytes 600": fetched(topic, {}, maxBytes=600),
        "bytes negative": fetched(topic, {}, maxBytes=-1),
        "least bytes, not there": fetched(topic, {"fetchOffset": 15}, minBytes=1, maxWaitMs=50),
        "negative wait": fetched(topic, {"fetchOffset": 15}, minBytes=1, maxWaitMs=-1),
        "least bytes negative": fetched(topic, {"fetchOffset": 15}, minBytes=-1, maxWaitMs=100),
        "committed": fetched(topic, {"fetchOffset": 3}, isolationLevel=1),
        "isolation 2": fetched(topic, {"fetchOffset": 3}, isolationLevel=2),
        "epoch right": fetched(topic, {"fetchOffset": 12, "currentLeaderEpoch": 0}),
        "epoch newer": fetched(topic, {"currentLeaderEpoch": 5}),
        "epoch older": fetched(topic, {"currentLeaderEpoch": -2}),
        "last epoch right": fetched(topic, {"fetchOffset": 12, "lastFetchedEpoch": 0}),
        "last epoch newer": fetched(topic, {"fetchOffset": 3, "lastFetchedEpoch": 4}),
        "last epoch right, beyond": fetched(topic, {"fetchOffset": 30, "lastFetchedEpoch": 0}),
        "nothing": {**fetched(topic), "topics": []},
        "no partitions": fetched(topic),
        "twice": fetched(topic, {"fetchOffset": 12}, {"fetchOffset": 14}),
        "rack": fetched(topic, {"fetchOffset": 12}, rackId="somewhere"),
        "log start offset": fetched(topic, {"fetchOffset": 12, "logStartOffset": 5}),
    }
    for case, body in cases.items():
        talk.sweep(case, ApiKey.FETCH, body)
    for version in (each for each in talk.versions(ApiKey.FETCH) if each >= 13):
        talk.ask("zero id", ApiKey.FETCH, version, fetched({"name": "", "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}, {}))


def fetch_sessions(talk: Talk) -> None:
    topic = filled(talk, "sessions", 3)
    for version in (each for each in talk.versions(ApiKey.FETCH) if each >= 7):
        named = {"topic": topic["name"], "topicId": topic["topicId"]}

        def say(case: str, session: int, epoch: int, body: dict[str, Any], version: int = version) -> Any:
            return talk.ask(case, ApiKey.FETCH, version, {**body, "sessionId": session, "sessionEpoch": epoch})

        none = {**fetched(topic), "topics": []}
        both = fetched(topic, {"fetchOffset": 12}, {"partition": 1})
        say("sessionless", 0, -1, both)
        say("unknown session", 12345, 1, none)
        say("unknown session, closed", 12345, -1, both)
        say("session without id", 0, 1, none)
        say("epoch below -1", 0, -2, both)
        answer = say("new", 0, 0, both)
        session = answer["sessionId"]
        say("nothing new", session, 1, none)
        say("wrong epoch", session, 9, none)
        say("old epoch", session, 1, none)
        say("moved", session, 2, fetched(topic, {"fetchOffset": 9}))
        say("added", session, 3, fetched(topic, {"partition": 2}))
        say("added unknown", session, 4, fetched(topic, {"partition": 8}))
        say("unknown again", session, 5, none)
        say("forgotten", session, 6, {**none, "forgottenTopicsData": [{**named, "partitions": [0, 8]}]})
        say("forgotten again", session, 7, {**none, "forgottenTopicsData": [{**named, "partitions": [0]}]})
        say("all forgotten", session, 8, {**none, "forgottenTopicsData": [{**named, "partitions": [1, 2]}]})
        say("empty session", session, 9, none)
        newer = say("started over", session, 0, both)
        say("old session", session, 1, none)
        say("closed", newer["sessionId"], -1, none)
        say("after close", newer["sessionId"], 1, none)
        unknown = fetched({"name": "sessions-unknown", "topicId": UNKNOWN_ID}, {})
        answer = say("new with unknown topic", 0, 0, {**both, "topics": both["topics"] + unknown["topics"]})
        say("unknown topic again", answer["sessionId"], 1, none)
        if version == 13:
            say("by name", answer["sessionId"], 2, none, version=12)
        say("empty new", 0, 0, none)
        gone = made(talk, f"sessions-gone-{version}")
        session = say("new with two topics", 0, 0, {**both, "topics": both["topics"] + fetched(gone, {})["topics"]})
        talk.prepare(ApiKey.DELETE_TOPICS, {"topics": [{"name": gone["name"]}], "timeoutMs": 9000})
        asked = {"topics": [{"name": gone["name"]}], "allowAutoTopicCreation": False}
        eventually(lambda asked=asked: talk.prepare(ApiKey.METADATA, asked)["topics"][0]["errorCode"])
        say("a topic is deleted", session["sessionId"], 1, none)
        say("a topic is deleted, again", session["sessionId"], 2, none)
        made(talk, gone["name"])
        say("a topic is created again", session["sessionId"], 3, none)


def fetch_beside_unknown(talk: Talk) -> None:
    """A Fetch that waits for a known partition, beside unknown ones."""
    topic, small = made(talk, "beside"), made(talk, "beside-small")
    unknown = fetched({"name": "beside-unknown", "topicId": UNKNOWN_ID}, {})
    unknown["topics"] += fetched(small, {"partition": 5})["topics"]
    for offset, version in enumerate(talk.versions(ApiKey.FETCH)):
        body = fetched(topic, {"fetchOffset": offset}, minBytes=1, maxWaitMs=7000)
        body["topics"] += unknown["topics"]
        with talk.line() as line:
            line.send(ApiKey.FETCH, version, body)
            talk.prepare(ApiKey.PRODUCE, produced(topic, batch()))
            talk.note(f"FETCH {version}: waits", _without_ends(line.receive(ApiKey.FETCH, version)))
        talk.ask("only unknown", ApiKey.FETCH, version, {**unknown, "minBytes": 1, "maxWaitMs": 60_000})


def _without_ends(answer: dict[str, Any] | str) -> dict[str, Any] | str:
    """A Fetch's response without the partitions' ends.

    Apache's leader reads its high watermark before the records. A batch may be appended in between: then the response
    has the batch, and a high watermark below it.
    """
    if isinstance(answer, dict):
        for topic in answer["responses"]:
            for partition in topic["partitions"]:
                del partition["highWatermark"], partition["lastStableOffset"]
    return answer


def compacted(talk: Talk) -> None:
    """The batches that the cleaner leaves, and the offsets of their times: one is emptied, and keeps its time."""
    topic = made(talk, "compacted", cleanup_policy="compact", min_cleanable_dirty_ratio="0", segment_bytes="1048576")
    large = b"v" * 700_000

    def put(*rows: tuple[int, bytes, bytes], **options: Any) -> None:
        records = [Record(number, TIME_MS + time_ms, *pair) for number, (time_ms, *pair) in enumerate(rows)]
        answer = talk.prepare(ApiKey.PRODUCE, produced(topic, encode_batch(records, **options)))
        assert answer["responses"][0]["partitionResponses"][0]["errorCode"] == 0, answer

    put((100, b"a", b"1"), (300, b"b", b"2"), (200, b"c", b"3"), compression=Compression.GZIP)
    put((9000, b"a", b"4"), compression=Compression.LZ4, producer_id=7100, producer_epoch=2, base_sequence=5)
    put((400, b"b", b"5"), (500, b"b", b"6"), producer_id=7101, producer_epoch=0, base_sequence=0)
    put((600, b"a", b"7"))
    for _ in range(2):
        put((700, b"large", large))  # the second one begins a segment

    def headers() -> list[dict[str, Any]]:
        answer = talk.prepare(ApiKey.FETCH, fetched(topic, {}))
        data = base64.b64decode(answer["responses"][0]["partitions"][0]["records"])
        return [
            {
                "offsets": f"{header.base_offset} to {header.last_offset}, {header.count} records",
                "attributes": header.attributes,
                "times": f"{header.base_timestamp} to {header.max_timestamp}",
                "producer": f"{header.producer_id} {header.producer_epoch} {header.base_sequence}",
                "bytes": header.size if header.count == 0 else None,
            }
            for _, header in iter_headers(data)
        ]

    eventually(lambda: headers()[1]["offsets"].endswith(" 0 records"))
    talk.note("batches", headers())
    for time_ms in (-3, -2, -1, 0, TIME_MS + 250, TIME_MS + 501, TIME_MS + 701):
        row = {"partitionIndex": 0, "timestamp": time_ms}
        body = {"replicaId": -1, "topics": [{"name": topic["name"], "partitions": [row]}]}
        talk.sweep(f"time {time_ms}", ApiKey.LIST_OFFSETS, body)


def list_offsets(talk: Talk) -> None:
    topic = filled(talk, "list-offsets", 2)
    times = [-1, -2, -3, -4, -5, -6, -7, 0, TIME_MS, TIME_MS + 350, TIME_MS + 1000, TIME_MS + 1001, 2**60]
    for time_ms in times:
        for partition in (0, 1):
            row = {"partitionIndex": partition, "timestamp": time_ms}
            body = {"replicaId": -1, "topics": [{"name": topic["name"], "partitions": [row]}]}
            talk.sweep(f"{time_ms} of {partition}", ApiKey.LIST_OFFSETS, body)
    cases: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "unknown topic": ("list-unknown", [{"partitionIndex": 0, "timestamp": -1}]),
        "invalid topic": ("a b", [{"partitionIndex": 0, "timestamp": -1}]),
        "empty topic": ("", [{"partitionIndex": 0, "timestamp": -1}]),
        "unknown partition": ("list-offsets", [{"partitionIndex": 9, "timestamp": -1}]),
        "negative partition": ("list-offsets", [{"partitionIndex": -1, "timestamp": -1}]),
        "twice": ("list-offsets", [{"partitionIndex": 0, "timestamp": -1}, {"partitionIndex": 0, "timestamp": -2}]),
        "epoch right": ("list-offsets", [{"partitionIndex": 0, "timestamp": -1, "currentLeaderEpoch": 0}]),
        "epoch newer": ("list-offsets", [{"partitionIndex": 0, "timestamp": -1, "currentLeaderEpoch": 3}]),
        "no partitions": ("list-offsets", []),
    }
    for case, (name, rows) in cases.items():
        for isolation in (0, 1):
            body = {"replicaId": -1, "isolationLevel": isolation, "topics": [{"name": name, "partitions": rows}]}
            talk.sweep(f"{case}, isolation {isolation}", ApiKey.LIST_OFFSETS, body)
    row = {"partitionIndex": 0, "timestamp": -1}
    for replica in (-2, 1, 5):
        body = {"replicaId": replica, "topics": [{"name": topic["name"], "partitions": [row]}]}
        talk.sweep(f"replica {replica}", ApiKey.LIST_OFFSETS, body)
    talk.sweep("nothing", ApiKey.LIST_OFFSETS, {"replicaId": -1, "topics": []})


def offset_for_leader_epoch(talk: Talk) -> None:
    topic = filled(talk, "epochs")
    for current in (-1, 0, 4):
        for epoch in (-1, 0, 1, -5):
            row = {"partition": 0, "currentLeaderEpoch": current, "leaderEpoch": epoch}
            body = {"replicaId": -1, "topics": [{"topic": topic["name"], "partitions": [row]}]}
            talk.sweep(f"current {current}, asked {epoch}", ApiKey.OFFSET_FOR_LEADER_EPOCH, body)
    for name, partition in (("epochs", 7), ("epochs", -1), ("epochs-unknown", 0), ("a b", 0)):
        row = {"partition": partition, "leaderEpoch": 0}
        body = {"replicaId": -1, "topics": [{"topic": name, "partitions": [row, row]}]}
        talk.sweep(f"{name} {partition}", ApiKey.OFFSET_FOR_LEADER_EPOCH, body)


def delete_records(talk: Talk) -> None:
    for version in talk.versions(ApiKey.DELETE_RECORDS):
        topic = filled(talk, f"delete-{version}", 2)
        made(talk, f"delete-compacted-{version}", cleanup_policy="compact")
        made(talk, f"delete-kept-{version}", cleanup_policy="")

        def say(case: str, name: str, *rows: tuple[int, int], version: int = version) -> None:
            partitions = [{"partitionIndex": index, "offset": offset} for index, offset in rows]
            body = {"timeoutMs": 5000, "topics": [{"name": name, "partitions": partitions}]}
            talk.ask(case, ApiKey.DELETE_RECORDS, version, body)

        name = topic["name"]
        for offset in (0, 4, 4, 2, 16, -2, 10):
            talk_case = f"{offset}" if offset != 4 else f"4 at {len(talk.transcript)}"
            say(talk_case, name, (0, offset))
        body = fetched(topic, {"fetchOffset": 10})
        talk.ask(f"after {version}", ApiKey.FETCH, talk.latest[ApiKey.FETCH], body)
        talk.ask(f"below {version}", ApiKey.FETCH, talk.latest[ApiKey.FETCH], fetched(topic, {"fetchOffset": 3}))
        newest = {"replicaId": -1, "topics": [{"name": name, "partitions": [{"partitionIndex": 0, "timestamp": -3}]}]}
        for case, offset in (("up to the newest", 10), ("the newest, too", 11), ("all", -1)):
            say(case, name, (0, offset))
            talk.ask(f"newest after {case} {version}", ApiKey.LIST_OFFSETS, talk.latest[ApiKey.LIST_OFFSETS], newest)
        say("empty", name, (1, -1))
        say("empty, 0", name, (1, 0))
        say("empty, 1", name, (1, 1))
        say("unknown partition", name, (9, 0), (0, 15))
        say("unknown topic", "delete-unknown", (0, 0))
        say("compacted", f"delete-compacted-{version}", (0, 0))
        say("kept", f"delete-kept-{version}", (0, 0))
        say("kept, 1", f"delete-kept-{version}", (0, 1))
        say("internal", "__consumer_offsets", (0, 0))
        say("internal, unknown partition", "__consumer_offsets", (9999, 0))
        say("invalid", "a b", (0, 0))
        say("nothing", name)
        ask = {"replicaId": -1, "topics": [{"name": name, "partitions": [{"partitionIndex": 0, "timestamp": -2}]}]}
        talk.ask(f"after {version}", ApiKey.LIST_OFFSETS, talk.latest[ApiKey.LIST_OFFSETS], ask)


def alter_replica_log_dirs(talk: Talk) -> None:
    """Requests that move nothing: both brokers have one directory."""
    made(talk, "kept")
    here = str(talk.side.log_directory)
    for case, (path, topic, index) in {
        "where it is": (here, "kept", 0),
        "another partition": (here, "kept", 7),
        "a negative partition": (here, "kept", -1),
        "another topic": (here, "kept-unknown", 0),
        "an invalid topic": (here, "a b", 0),
        "a long name": (here, "x" * 249, 0),
        "another directory": ("/no/such/directory", "kept", 0),
        "a relative directory": ("data", "kept", 0),
        "no directory": ("", "kept", 0),
        "another directory of another topic": ("/no/such/directory", "kept-unknown", 0),
        "the metadata": (here, "__cluster_metadata", 0),
    }.items():
        body = {"dirs": [{"path": path, "topics": [{"name": topic, "partitions": [index]}]}]}
        talk.sweep(case, ApiKey.ALTER_REPLICA_LOG_DIRS, body)
    kept = {"name": "kept", "partitions": [0]}
    for case, directories in {
        "a partition twice": [{"path": here, "topics": [{**kept, "partitions": [0, 0]}]}],
        "a topic twice": [{"path": here, "topics": [kept, kept]}],
        "a directory twice": [{"path": here, "topics": [kept]}] * 2,
        "two directories": [{"path": path, "topics": [kept]} for path in (here, "/no/such/directory")],
        "two directories, the other way": [{"path": path, "topics": [kept]} for path in ("/no/such/directory", here)],
    }.items():
        talk.sweep(case, ApiKey.ALTER_REPLICA_LOG_DIRS, {"dirs": directories})
    talk.sweep("nothing", ApiKey.ALTER_REPLICA_LOG_DIRS, {"dirs": []})
    nothing = {"name": "kept-too", "partitions": []}
    talk.sweep("no partitions", ApiKey.ALTER_REPLICA_LOG_DIRS, {"dirs": [{"path": here, "topics": [nothing, kept]}]})


def describe_log_dirs(talk: Talk) -> None:
    topic = filled(talk, "log-dirs", 2)
    name = topic["name"]
    for case, topics in {
        "one": [{"topic": name, "partitions": [0, 1]}],
        "first": [{"topic": name, "partitions": [0]}],
        "unknown": [{"topic": "log-dirs-unknown", "partitions": [0]}],
        "unknown partition": [{"topic": name, "partitions": [9]}],
        "no partitions": [{"topic": name, "partitions": []}],
        "none": [],
    }.items():
        talk.sweep(case, ApiKey.DESCRIBE_LOG_DIRS, {"topics": topics})
