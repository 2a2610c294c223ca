"""A connection to one broker, and its responses as plain JSON.

A scenario gets a ``Talk`` and sends requests. The same scenario runs against Apache Kafka and our node, and the test
compares the transcripts. Requests have the JSON form of Kafka's tools. Fields that a version does not have are omitted,
so one body serves all versions.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from kraft.messages.plain import from_plain, to_plain
from kraft.messages.registry import (
    ApiKey,
    request_class,
    request_header_version,
    response_class,
    response_header_version,
)
from kraft.wire.codec import decode, encode
from kraft.wire.schema import Message
from tests.differential.normal import Normaliser
from tests.differential.voter import FakeVoter

Body: TypeAlias = dict[str, Any]
Bodies: TypeAlias = Body | Callable[[int], Body]
Versions: TypeAlias = Mapping[int, Sequence[int]]

TIMEOUT_S = 8.0
CLOSED = "connection closed"
SILENCE = "no answer"
CLIENT_ID = "differential"


@attrs.frozen
class Side:
    """One of the two compared brokers.

    Attributes:
        port: Its port on the loopback address.
        log_directory: Its only directory, which a scenario may read.
        voters: The other voters of its quorum, by their ids, which the test plays.
    """

    port: int
    log_directory: Path
    voters: Mapping[int, FakeVoter] = attrs.Factory(dict)

    @property
    def directory_id(self) -> str:
        lines = (self.log_directory / "meta.properties").read_text().splitlines()
        return next(line.partition("=")[2] for line in lines if line.startswith("directory.id="))

    @property
    def metadata_directory(self) -> Path:
        return self.log_directory / "__cluster_metadata-0"

    def quorum_state(self) -> Body | None:
        """Return the votes and epochs that would survive a kill now, or None."""
        path = self.metadata_directory / "quorum-state"
        return json.loads(path.read_text()) if path.exists() else None


class Line:
    """One connection. Requests may be sent ahead of their answers."""

    def __init__(self, port: int, timeout_s: float = TIMEOUT_S) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        self.socket.close()

    def send_frame(self, payload: bytes) -> None:
        self.socket.sendall(struct.pack(">i", len(payload)) + payload)

    def send(self, api: int, version: int, body: Body) -> None:
        self.send_frame(request_header(api, version) + encode(_message(api, version, body), version))

    def receive_frame(self) -> bytes | str:
        """The next answer, or why there is none."""
        try:
            head = self._exactly(4)
            return self._exactly(struct.unpack(">i", head)[0])
        except (EOFError, ConnectionError):
            return CLOSED
        except TimeoutError:
            return SILENCE

    def receive(self, api: int, version: int) -> Body | str:
        frame = self.receive_frame()
        return frame if isinstance(frame, str) else read_answer(frame, api, version)

    def _exactly(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            chunk = self.socket.recv(length - len(received))
            if not chunk:
                raise EOFError
            received += chunk
        return bytes(received)


def request_header(api: int, version: int) -> bytes:
    header = struct.pack(">hhih", api, version, 7, len(CLIENT_ID)) + CLIENT_ID.encode()
    return header + b"\0" * (request_header_version(api, version) >= 2)


def read_answer(frame: bytes, api: int, version: int) -> Body:
    """Return the response as JSON. It includes trailing bytes, which no client reads."""
    position = 5 if response_header_version(api, version) else 4
    answer, end = decode(response_class(api), version, frame, position)
    plain = to_plain(answer, version)
    if end != len(frame):
        plain["(left over)"] = frame[end:].hex()
    return plain


def _message(api: int, version: int, body: Body) -> Message:
    cls = request_class(api)
    return from_plain(cls, _at_version(cls, body, version))


def _at_version(cls: type[Message], body: Body, version: int) -> Body:
    """The fields that this message has in ``version``: one body may serve several requests that are alike."""
    full = to_plain(cls())
    known = dict(zip(full, cls.FIELDS, strict=True))
    kept = {}
    for name, value in body.items():
        field = known.get(name)
        if field is None or not field.is_present(version):
            continue
        if field.struct and value is not None:
            one = field.struct
            value = (
                [_at_version(one, each, version) for each in value]
                if field.is_array
                else _at_version(one, value, version)
            )
        kept[name] = value
    return kept


@attrs.define
class Talk:
    """One scenario with one broker.

    Attributes:
        side: The broker.
        common: The compared versions of each API.
        latest: The newest version of each API that both sides have; set-up uses it.
        transcript: The response for each label, without the parts that may differ.
    """

    side: Side
    common: Versions
    latest: Mapping[int, int]
    transcript: dict[str, Any] = attrs.Factory(dict)
    _normaliser: Normaliser = attrs.Factory(Normaliser)
    _line: Line | None = None

    def versions(self, api: int) -> Sequence[int]:
        return self.common.get(api, ())

    def note(self, label: str, answer: Any) -> None:
        """Write an answer down; a label that is used twice would hide an answer."""
        assert label not in self.transcript, label
        self.transcript[label] = self._normaliser.normal(answer)

    def ask(
        self,
        case: str,
        api: int,
        version: int,
        body: Body,
        line: Line | None = None,
        relevant: Callable[[Body], Body] = lambda answer: answer,
    ) -> Any:
        """Send a request in one version, on the scenario's own connection by default. Return the unchanged response.

        The transcript gets only its ``relevant`` part.
        """
        used = line or self._own_line()
        used.send(api, version, body)
        answer = used.receive(api, version)
        if isinstance(answer, str) and line is None:
            self.hang_up()
        self.note(label(case, api, version), answer if isinstance(answer, str) else relevant(answer))
        return answer

    def sweep(self, case: str, api: int, body: Bodies) -> None:
        """Send a request in every compared version."""
        for version in self.versions(api):
            self.ask(case, api, version, body(version) if callable(body) else body)

    def prepare(self, api: int, body: Body, version: int | None = None) -> Any:
        """Bring about the state that the scenario needs; not written down."""
        used = self._own_line()
        version = self.latest[api] if version is None else version
        used.send(api, version, body)
        answer = used.receive(api, version)
        assert not isinstance(answer, str), f"{ApiKey(api).name}: {answer}"
        return answer

    @contextlib.contextmanager
    def line(self, timeout_s: float = TIMEOUT_S) -> Iterator[Line]:
        one = Line(self.side.port, timeout_s)
        try:
            yield one
        finally:
            one.close()

    def hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def _own_line(self) -> Line:
        if self._line is None:
            self._line = Line(self.side.port)
        return self._line


def label(case: str, api: int, version: int) -> str:
    return f"{ApiKey(api).name} {version}: {case}"
