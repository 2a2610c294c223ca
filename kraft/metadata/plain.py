"""Records of the metadata log as plain JSON, in the form of kafka-dump-log."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kraft.messages.json_text import json_text
from kraft.messages.kraft_version_record import KRaftVersionRecord
from kraft.messages.leader_change_message import LeaderChangeMessage
from kraft.messages.snapshot_footer_record import SnapshotFooterRecord
from kraft.messages.snapshot_header_record import SnapshotHeaderRecord
from kraft.messages.voters_record import VotersRecord
from kraft.records.batch import CorruptBatch
from kraft.records.control import ControlType
from kraft.wire.codec import decode
from kraft.wire.decode_error import DecodeError, UnsupportedVersionError
from kraft.wire.schema import Message

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_VERSION_SIZE = 2

#: The messages of the quorum's control records. Transaction markers have no such message.
CONTROL_MESSAGES: Mapping[ControlType, type[Message]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}


def type_name(cls: type[Message]) -> str:
    """Return Kafka's name for the type of a metadata record: ``NoOpRecord`` is ``NO_OP_RECORD``."""
    return _CAPITAL.sub("_", cls.__name__).upper()


def record_text(name: str, version: int, message: Message) -> str:
    """Return a record as JSON: its type, its version and its fields."""
    return f'{{"type":"{name}","version":{version},"data":{json_text(message, version)}}}'


def decode_control(kind: ControlType, value: bytes) -> tuple[Message, int]:
    """Return the message of a control record of the quorum, and its version. Raises DecodeError for invalid bytes.

    The version is the first field of the message. A later one is read as the newest known version.
    """
    cls = CONTROL_MESSAGES[kind]
    if len(value) < _VERSION_SIZE:
        raise CorruptBatch(f"{len(value)} bytes are not a {cls.__name__}")
    version = min(int.from_bytes(value[:_VERSION_SIZE], "big", signed=True), cls.VALID_VERSIONS[1])
    try:
        return decode(cls, version, value)[0], version
    except UnsupportedVersionError as error:
        raise DecodeError(str(error)) from None
