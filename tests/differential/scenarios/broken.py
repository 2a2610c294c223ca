"""Input that no client library sends: frames that are not requests, and requests that no broker serves."""

from __future__ import annotations

import struct

from kraft.messages.registry import ApiKey
from tests.differential.talk import CLIENT_ID, Line, Talk, read_answer

CLIENT = struct.pack(">h", len(CLIENT_ID)) + CLIENT_ID.encode()


def head(api: int, version: int, client: bytes = CLIENT) -> bytes:
    return struct.pack(">hhi", api, version, 7) + client


def _then(talk: Talk, line: Line, label: str) -> None:
    """Return the received bytes without decoding them."""
    answer = line.receive_frame()
    talk.note(label, answer if isinstance(answer, str) else f"{len(answer)} bytes")


def broken_frames(talk: Talk) -> None:
    metadata = struct.pack(">i", -1)
    for case, frame in {
        "empty": b"",
        "three bytes": b"abc",
        "header cut": head(3, 1)[:6],
        "client id cut": head(3, 1)[:-2],
        "client id too long": head(3, 1, struct.pack(">h", 999) + b"x"),
        "client id length -2": head(3, 1, struct.pack(">h", -2)),
        "client id not utf-8": head(3, 1, b"\0\2\xff\xfe") + metadata,
        "body missing": head(3, 1),
        "array too long": head(3, 1) + struct.pack(">i", 2**31 - 1),
        "array length -2": head(3, 1) + struct.pack(">i", -2),
        "string too long": head(3, 1) + struct.pack(">ih", 1, 500),
        "string not utf-8": head(3, 1) + struct.pack(">ih", 1, 2) + b"\xff\xfe",
        "string null": head(3, 1) + struct.pack(">ih", 1, -1),
        "flexible header without tags": head(3, 9),
        "tag section endless": head(3, 9) + b"\xff\xff\xff\xff\x0f",
        "tags out of order": head(18, 3) + b"\0" + b"\2a\2b" + b"\2\5\0\1\0",
        "noise": bytes(range(40, 100)),
    }.items():
        with talk.line() as line:
            line.send_frame(frame)
            _then(talk, line, case)
    for case, length in {
        "length negative": -1,
        "length of 100 MB and one": 104_857_601,
        "length highest": 2**31 - 1,
    }.items():
        with talk.line() as line:
            line.socket.sendall(struct.pack(">i", length) + b"\0" * 20)
            _then(talk, line, case)


def unserved_requests(talk: Talk) -> None:
    for case, (api, version, rest) in {
        "key 200": (200, 0, b""),
        "key -1": (-1, 0, b""),
        "LeaderAndIsr": (4, 0, b""),
        "UpdateMetadata": (6, 0, b""),
        "Vote": (52, 0, b"\0"),
        "BrokerHeartbeat": (63, 0, b"\0"),
        "Metadata 14": (3, 14, b"\0\1\1\1"),
        "Metadata -1": (3, -1, b""),
        "Fetch 3": (1, 3, b"\0" * 40),
        "Fetch 99": (1, 99, b"\0" * 40),
        "ListOffsets 0": (2, 0, b"\0" * 20),
        "Produce 99": (0, 99, b"\0" * 40),
    }.items():
        with talk.line() as line:
            line.send_frame(head(api, version) + rest)
            _then(talk, line, case)
    for version in (5, 99, 32767, -1):
        with talk.line() as line:
            line.send_frame(head(ApiKey.API_VERSIONS, version) + b"\0\2a\2b\0")
            answer = line.receive_frame()
            talk.note(f"ApiVersions {version}", answer if isinstance(answer, str) else read_answer(answer, 18, 0))
            line.send_frame(head(ApiKey.API_VERSIONS, 0))
            _answered = line.receive_frame()
            talk.note(f"after ApiVersions {version}", _answered if isinstance(_answered, str) else "answered")


def odd_but_good(talk: Talk) -> None:
    """Requests that look wrong and are not: bytes left over, unknown tags, no client id."""
    nobody = struct.pack(">h", -1)
    for case, frame in {
        "bytes left over": head(3, 1) + struct.pack(">i", 0) + b"left over",
        "bytes left over, flexible": head(3, 12) + b"\0" + b"\1\0\0\0" + b"left over",
        "no client id": head(3, 1, nobody) + struct.pack(">i", 0),
        "no client id, flexible": head(3, 12, nobody) + b"\0" + b"\1\0\0\0",
        "unknown tag in the header": head(3, 12) + b"\1\7\2ab" + b"\1\0\0\0",
        "unknown tag in the body": head(3, 12) + b"\0" + b"\1\0\0" + b"\1\x63\2ab",
        "boolean of 2": head(3, 12) + b"\0" + b"\1\2\2\0",
        "librdkafka's all topics": head(3, 12) + b"\0" + b"\0\0\0\0\1\0\0",
    }.items():
        with talk.line() as line:
            line.send_frame(frame)
            answer = line.receive_frame()
            short = answer if isinstance(answer, str) else read_answer(answer, 3, 1 if chr(frame[3]) == "\1" else 12)
            if isinstance(short, dict):
                short["topics"] = len(short["topics"]) > 0
            talk.note(case, short)
