"""One attack on one connection and its result; and the other client, which must not be disturbed."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs

from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kraft.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from kraft.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from kraft.messages.find_coordinator_request import FindCoordinatorRequest
from kraft.messages.metadata_request import MetadataRequest
from kraft.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from kraft.messages.registry import ApiKey, response_class, response_header_version
from kraft.records.batch import parse_header
from kraft.records.record import Record, encode_batch
from kraft.wire.codec import decode, encode
from kraft.wire.decode_error import DecodeError
from kraft.wire.errors import ErrorCode
from kraft.wire.schema import Message
from tests.fuzz.frames import TOPICS, Apis, Attack, framed, header

Address = tuple[str, int]

BY_RIGHT = frozenset({ApiKey.UNREGISTER_BROKER})
"""Requests that may legitimately take a broker from the other client; the attacks do not send them."""
CLIENT_APIS: Apis = {key: each for key, each in OFFERED[ListenerType.BROKER].items() if key not in BY_RIGHT}
CONTROL_APIS: Apis = {key: each for key, each in OFFERED[ListenerType.CONTROLLER].items() if key not in BY_RIGHT}
PATIENCE_S = 0.3
"""The time without a response after which a request counts as parked (a long poll, a join)."""
NEIGHBOUR_PATIENCE_S = 30.0
NEIGHBOUR_TOPIC = "neighbourhood"
SETTINGS = {"squeezed": {"compression.type": "zstd"}, "compacted": {"cleanup.policy": "compact"}}


@attrs.define
class Tally:
    """The results of all attacks."""

    attacks: Counter[str] = attrs.Factory(Counter)
    answers: Counter[str] = attrs.Factory(Counter)
    """Whole answers by the error codes in them; ``NONE`` for those without any."""
    closed: int = 0
    parked: int = 0
    sent_bytes: int = 0
    faults: list[str] = attrs.Factory(list)
    """The results that must never occur."""

    @property
    def count(self) -> int:
        return self.attacks.total()


def strike(address: Address, attack: Attack, tally: Tally) -> None:
    """Send the attack on a new connection, close its sending half, and read until the node closes it."""
    tally.attacks[attack.kind] += 1
    tally.sent_bytes += len(attack.data)
    with socket.create_connection(address, timeout=NEIGHBOUR_PATIENCE_S) as connection:
        received = bytearray()
        try:
            connection.sendall(attack.data)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(PATIENCE_S)
            while chunk := connection.recv(1 << 16):
                received += chunk
            tally.closed += 1
        except TimeoutError:
            tally.parked += 1
        except OSError:  # reset: the node closed without reading the rest
            tally.closed += 1
    for frame in _frames(bytes(received), tally):
        _judge(frame, attack, tally)


def _frames(received: bytes, tally: Tally) -> Iterator[bytes]:
    position = 0
    while position + 4 <= len(received):
        (length,) = struct.unpack_from(">i", received, position)
        frame = received[position + 4 : position + 4 + length]
        if len(frame) == length:
            yield frame
        position += 4 + length


def _judge(frame: bytes, attack: Attack, tally: Tally) -> None:
    """Check that the response to a complete request is valid in the version of the request."""
    if attack.asked is None:
        tally.answers["(not read)"] += 1
        return
    (number,) = struct.unpack_from(">i", frame)
    if not 0 <= number < len(attack.asked):
        tally.faults.append(f"answer {number} to {attack.asked}")
        return
    key, version = attack.asked[number]
    position = 5 if response_header_version(key, version) else 4
    try:
        answer, end = decode(response_class(key), version, frame, position)
    except DecodeError as error:
        tally.faults.append(f"malformed answer to {ApiKey(key).name} {version}: {error}: {frame.hex()[:200]}")
        return
    if end != len(frame):
        tally.faults.append(f"{len(frame) - end} bytes too many in the answer to {ApiKey(key).name} {version}")
    codes = set(error_codes(answer)) - {0}
    for code in codes or {0}:
        tally.answers[ErrorCode(code).name] += 1
    if ErrorCode.UNKNOWN_SERVER_ERROR in codes:
        tally.faults.append(f"UNKNOWN_SERVER_ERROR from {ApiKey(key).name} {version}: {attack.data.hex()[:400]}")


def error_codes(message: Message) -> Iterator[int]:
    for field in message.FIELDS:
        value: Any = getattr(message, field.name)
        if field.name == "error_code":
            yield value
        elif field.struct is not None:
            for each in value if isinstance(value, list) else [value]:
                if each is not None:
                    yield from error_codes(each)


class Neighbour:
    """A client that was there before: it writes and reads its own records on one connection, and tidies up."""

    def __init__(self, connection: socket.socket, broker_id: int | None = None) -> None:
        """Its topics lie on the broker ``broker_id``; with None, the controller places them."""
        self._connection = connection
        self._broker_id = broker_id
        self._written = 0
        self.topics_removed = 0

    def ask(self, request: Message, version: int) -> Any:
        self._connection.sendall(framed(header(request.API_KEY, version, 7, b"neighbour") + encode(request, version)))
        (length,) = struct.unpack(">i", self._exactly(4))
        frame = self._exactly(length)
        assert frame[:4] == struct.pack(">i", 7)
        position = 5 if response_header_version(request.API_KEY, version) else 4
        return decode(response_class(request.API_KEY), version, frame, position)[0]

    def _exactly(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            chunk = self._connection.recv(length - len(received))
            assert chunk, "the neighbour's connection was closed"
            received += chunk
        return bytes(received)

    def create(self, *names: str, partitions: int = 2, configs: Mapping[str, str] = MappingProxyType({})) -> None:
        """Create those topics that do not exist."""
        placed = self._broker_id is not None
        wanted = [
            CreatableTopic(
                name=name,
                num_partitions=-1 if placed else partitions,
                replication_factor=-1 if placed else 1,
                assignments=[
                    CreatableReplicaAssignment(index, [self._broker_id]) for index in range(partitions if placed else 0)
                ],
                configs=[CreatableTopicConfig(key, value) for key, value in configs.items()],
            )
            for name in names
        ]
        self.ask(CreateTopicsRequest(topics=wanted, timeout_ms=60_000), 7)

    def prepare(self) -> None:
        """The topics under attack, and the topic of the other client."""
        for name in (*TOPICS, NEIGHBOUR_TOPIC):
            self.create(name, configs=SETTINGS.get(name, {}))

    def live(self) -> None:
        """Write one record and read it back."""
        value = b"%d" % self._written
        records = encode_batch([Record(0, -1, None, value)])
        data = TopicProduceData(NEIGHBOUR_TOPIC, partition_data=[PartitionProduceData(0, records)])
        produced = self.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 9)
        answer = produced.responses[0].partition_responses[0]
        assert (answer.error_code, answer.base_offset) == (0, self._written)
        wanted = FetchPartition(fetch_offset=self._written, partition_max_bytes=1 << 16)
        fetched = self.ask(FetchRequest(topics=[FetchTopic(NEIGHBOUR_TOPIC, partitions=[wanted])]), 12)
        found = fetched.responses[0].partitions[0].records
        assert parse_header(found).base_offset == self._written
        assert bytes(found).endswith(value + b"\0")
        self._written += 1

    def tidy(self) -> None:
        """Delete the topics that the attacks created, and create the topics that they need."""
        known = self.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False), 9).topics
        keep = {NEIGHBOUR_TOPIC, "__consumer_offsets"}
        gone = [DeleteTopicState(name=each.name) for each in known if each.name not in keep]
        self.topics_removed += len(gone)
        self.ask(DeleteTopicsRequest(topics=gone, timeout_ms=5000), 6)
        self.prepare()
        # An attack may have deleted __consumer_offsets: a FindCoordinator creates it again.
        self.ask(FindCoordinatorRequest(key="readers"), 2)


@contextlib.contextmanager
def neighbour(address: Address) -> Iterator[Neighbour]:
    with socket.create_connection(address, timeout=NEIGHBOUR_PATIENCE_S) as connection:
        yield Neighbour(connection)
