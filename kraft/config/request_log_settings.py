"""The settings of the request log. All of them are of this project: Kafka has its request log in log4j."""

from __future__ import annotations

import re

import attrs

from kraft.config.setting import Importance, Validator, at_least, between, double, long, one_of, string

OFF, FILE, TOPIC = "off", "file", "topic"

_TOPIC_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")
_A_TOPIC_NAME = Validator(
    "a topic name",
    lambda name: None if _TOPIC_NAME.fullmatch(name) else "Value must be 1 to 249 of the characters a-z A-Z 0-9 . _ -",
)


@attrs.frozen(eq=False, repr=False)
class RequestLogSettings:
    """Where the request log goes, and how much of it is written and kept."""

    kraft_request_log: str = string(
        OFF,
        "Where this node writes its request log and the events of its quorum: nowhere, to files of JSON lines, or to "
        "a topic.",
        limit=one_of(OFF, FILE, TOPIC),
        importance=Importance.LOW,
    )
    kraft_request_log_sample: float = double(
        0.01,
        "The fraction of the data plane's requests that is written, of each API. Unless it is 0, the first of each is "
        "always written.",
        limit=between(0, 1),
        importance=Importance.LOW,
    )
    kraft_request_log_control_sample: float = double(
        1.0,
        "The fraction of the requests to a controller listener that is written.",
        limit=between(0, 1),
        importance=Importance.LOW,
    )
    kraft_request_log_dir: str | None = string(
        None,
        "The directory of the files, which no other node may use; not set, request-log in the directory of the "
        "metadata log, __cluster_metadata-0.",
        importance=Importance.LOW,
    )
    kraft_request_log_roll_ms: int = long(
        60_000,
        "A file is complete after this long, or at 64 MiB or a sixteenth of kraft.request.log.retention.bytes.",
        limit=at_least(1),
        importance=Importance.LOW,
    )
    kraft_request_log_retention_bytes: int = long(
        256 * 2**20,
        "The oldest files are deleted beyond this size. A topic that a node creates has it as retention.bytes.",
        limit=at_least(2**20),
        importance=Importance.LOW,
    )
    kraft_request_log_topic: str = string(
        "__kraft_request_log",
        "The topic; a node that does not find it creates it, with offsets.topic.replication.factor replicas or as "
        "many as there are brokers.",
        limit=_A_TOPIC_NAME,
        importance=Importance.LOW,
    )
