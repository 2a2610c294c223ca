"""A bit flips in the files of a metadata log while its node is down: in every byte, after each kind of stop.

The simulator's ``rot`` assumes that a node with a damaged disk does not start. This file checks the assumption: a start
finds all records, or refuses with one line. Only the last batch before a power cut may be lost, since it may be an
incomplete write. Kafka's formats hide some flips from every reader. The tests count those exactly, and
docs/robustness.md lists them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import pytest

from kraft.config.listeners import Voter
from kraft.config.topic import LogConfig
from kraft.metadata.steps import finished
from kraft.quorum.driver import Quorum
from kraft.records.batch import MINIMUM_LENGTH, BatchHeader, iter_headers
from kraft.storage.directory import LastStop
from kraft.storage.errors import StorageError
from kraft.storage.quorum_state import FILE_NAME, QuorumState, read_quorum_state, write_quorum_state
from kraft.world.world import World
from tests.support.metadata_logs import fill, flush, open_log, replayed, snapshot_of
from tests.support.quorums import identity

SETTINGS = LogConfig(segment_bytes=300)
VOTERS = [Voter(node_id, "127.0.0.1", node_id) for node_id in (1, 2, 3)]
ELECTION = QuorumState(leader_id=2, leader_epoch=12, voted_id=2, current_voters=(1, 2, 3))
EPOCHS = [(1, 6), (3, 0), (6, 2), (9, 0)]
"""Each epoch, and how many batches follow its first: two consist of that alone."""


class Found(NamedTuple):
    """The result of a start. ``batches`` are all committed ones after the snapshot, without their epochs."""

    epoch: int
    epochs: list[tuple[int, int]]
    batches: list[Any]
    topics: object


def start(parent: Path, last_stop: LastStop, settings: LogConfig) -> Found:
    """Start as a voter does, and replay everything. Raises StorageError if that is refused."""
    log = open_log(parent, settings, last_stop=last_stop)
    try:
        assert log.snapshot is not None
        image = log.load_snapshot(log.snapshot)
        quorum = Quorum(identity(1, *VOTERS), log, World())
        batches: list[Any] = []
        offset = image.offset + 1
        while offset < log.end_offset:
            batches += finished(log.batches(offset, log.end_offset))
            offset = batches[-1].next_offset
        topics = replayed(log, log.end_offset, image).topics
        return Found(quorum.epoch, log.view().epochs, [attrs.evolve(batch, epoch=0) for batch in batches], topics)
    finally:
        log.abandon()


class Sweep:
    """A small directory, of several segments behind a snapshot, that is damaged and started again and again."""

    def __init__(self, parent: Path, last_stop: LastStop, settings: LogConfig = SETTINGS) -> None:
        self.parent = parent
        self.last_stop = last_stop
        self.settings = settings
        log = open_log(parent, settings)
        for epoch, count in EPOCHS:
            fill(log, epoch, count)
        flush(log)
        log.trim(snapshot_of(log, 5))
        if last_stop is LastStop.CLEAN:
            log.close()
        else:
            log.abandon()
        self.directory = Path(log.directory)
        write_quorum_state(self.directory / FILE_NAME, ELECTION)
        shutil.copytree(self.directory, parent / "sound")
        self.expected = start(parent, last_stop, settings)

    def files(self, *patterns: str) -> list[Path]:
        found = sorted(path for pattern in patterns for path in self.directory.glob(pattern))
        assert len(found) >= len(patterns)
        return found

    def outcome(self, path: Path, position: int, bit: int) -> Found | str:
        """Return the result of a start with this bit flipped, or the line with which it refuses."""
        sound = path.read_bytes()
        damaged = flip(sound, position, bit)
        write(path, damaged)
        try:
            found = start(self.parent, self.last_stop, self.settings)
        except StorageError as refusal:
            line = str(refusal)
            assert "\n" not in line
            assert str(self.directory) in line
            assert path.read_bytes() == damaged, "a start that refuses leaves the file as it was"
            write(path, sound)
            return line
        if found == self.expected:
            write(path, sound)
        else:
            shutil.rmtree(self.directory)
            shutil.copytree(self.parent / "sound", self.directory)
        return found


def write(path: Path, data: bytes) -> None:
    """In place, if it is there: one that was emptied first would go to the disk each time."""
    with open(path, "r+b" if path.exists() else "wb") as file:
        file.write(data)


def is_hidden(headers: Sequence[BatchHeader], number: int, epoch: int) -> bool:
    """Return whether the files are consistent with ``epoch`` as the epoch of batch ``number``.

    No checksum covers it. It must not decrease, a new one begins with a control batch, and the election state has the
    last one. So only the epoch of a batch that is alone in it may change, between those of its neighbours.
    """
    epochs = [header.leader_epoch for header in headers]
    if epochs.count(epochs[number]) > 1:
        return False
    later = [*epochs[number + 1 :], ELECTION.leader_epoch]
    return epochs[number - 1] <= epoch <= later[0]


def is_perhaps_torn(batch: bytes, field: int, bit: int) -> bool:
    """Return whether an incomplete write may look like this: no batch has that length, or the checksum is wrong.

    If only the length is wrong, the write was complete.
    """
    length = int.from_bytes(flip(batch, field, bit)[8:12], "big", signed=True)
    return length < MINIMUM_LENGTH or field >= 16


def flip(data: bytes, position: int, bit: int) -> bytes:
    damaged = bytearray(data)
    damaged[position] ^= 1 << bit
    return bytes(damaged)


def flips(batch: bytes) -> Iterator[tuple[int, int]]:
    """(position, bit): all bits of epoch and magic, two of each byte of offset and length, one of every other byte."""
    for position in range(len(batch)):
        bits = range(8) if 12 <= position < 17 else [0, 1 + position % 7] if position < 12 else [position % 8]
        yield from ((position, bit) for bit in bits)


@pytest.mark.no_cover
@pytest.mark.parametrize("last_stop", LastStop)
async def test_a_flipped_bit_in_the_log_is_refused(tmp_path: Path, last_stop: LastStop) -> None:
    """With file, position and offset. After a power cut the last batch may be cut instead, after nothing else."""
    sweep = Sweep(tmp_path, last_stop)
    expected = sweep.expected
    segments = sweep.files("*.log")
    assert len(segments) > 3
    batches = [
        (path, position, path.read_bytes()[position : position + header.size], header)
        for path in segments
        for position, header in iter_headers(path.read_bytes())
    ]
    headers = [header for *_, header in batches]
    hidden = 0
    for number, (path, position, batch, header) in enumerate(batches):
        is_last = header is headers[-1]
        for field, bit in flips(batch):
            found = sweep.outcome(path, position + field, bit)
            in_epoch = 12 <= field < 16
            epoch = int.from_bytes(flip(batch, field, bit)[12:16], "big", signed=True)
            if in_epoch and is_hidden(headers, number, epoch):
                assert isinstance(found, Found)
                assert found.epochs != expected.epochs
                assert found._replace(epochs=expected.epochs) == expected
                hidden += 1
            elif last_stop is LastStop.POWER_LOST and is_last and is_perhaps_torn(batch, field, bit):
                assert found == expected._replace(epochs=expected.epochs[:-1], batches=expected.batches[:-1])
            elif in_epoch and is_last and epoch > ELECTION.leader_epoch:
                assert isinstance(found, str)
                assert f"the log has a record of epoch {epoch}, and quorum-state knows none after" in found
            else:
                assert isinstance(found, str)
                refused = re.match(r"(.+): damaged at position \d+ \(offset (\d+)\): ", found)
                assert refused
                # An epoch may be noticed only by the next batch, which may be the first of the next file.
                assert refused[1] == str(path) or (in_epoch and Path(refused[1]) in segments)
                assert int(refused[2]) == header.base_offset or (in_epoch and int(refused[2]) == header.next_offset)
    # 3 → 1, 2; 9 → 8, 11: the epochs that have one batch each, between their neighbours.
    assert hidden == 4


@pytest.mark.parametrize("last_stop", LastStop)
async def test_a_file_that_the_log_can_replace_is_rebuilt(tmp_path: Path, last_stop: LastStop) -> None:
    sweep = Sweep(tmp_path, last_stop, attrs.evolve(SETTINGS, index_interval_bytes=0))
    for path in sweep.files("*.index", "*.timeindex", "leader-epoch-checkpoint", "*.snapshot"):
        for position in range(path.stat().st_size):
            assert sweep.outcome(path, position, position % 8) == sweep.expected


async def test_a_flipped_bit_in_the_snapshot_is_refused(tmp_path: Path) -> None:
    """After any stop the start replays the whole log, and checks it on the way."""
    sweep = Sweep(tmp_path, LastStop.KILLED)
    (path,) = sweep.files("*.checkpoint")
    for position in range(path.stat().st_size):
        found = sweep.outcome(path, position, position % 8)
        assert isinstance(found, str)
        assert re.match(rf"{path}: damaged at position \d+ \(offset \d+\): ", found)


async def test_a_flipped_bit_in_the_election_state_is_refused_or_makes_another_number(tmp_path: Path) -> None:
    """The file is JSON without a checksum, so the node accepts a changed digit, as Apache Kafka does.

    The committed records are the same. But a voter without its vote may vote a second time in that epoch.
    """
    sweep = Sweep(tmp_path, LastStop.KILLED)
    (path,) = sweep.files(FILE_NAME)
    believed = set()
    for position in range(path.stat().st_size):
        for bit in (position % 3, 3 + position % 5):
            sound = path.read_bytes()
            found = sweep.outcome(path, position, bit)
            if isinstance(found, str):
                assert FILE_NAME in found
                continue
            assert found._replace(epoch=sweep.expected.epoch) == sweep.expected
            path.write_bytes(flip(sound, position, bit))
            state = read_quorum_state(path)
            assert state is not None
            for name, was in attrs.asdict(ELECTION, recurse=False).items():
                if getattr(state, name) != was:
                    believed.add(name)
                    assert name == "current_voters" or chr(sound[position]).isdigit()
            path.write_bytes(sound)
    assert believed == {"leader_id", "leader_epoch", "voted_id", "current_voters"}


async def test_a_flipped_bit_in_the_topics_id_is_refused_or_costs_nothing(tmp_path: Path) -> None:
    """The topic of the metadata has a fixed id; the node does not use the one in the file."""
    sweep = Sweep(tmp_path, LastStop.KILLED)
    (path,) = sweep.files("partition.metadata")
    for position in range(path.stat().st_size):
        found = sweep.outcome(path, position, position % 8)
        assert found == sweep.expected or str(found).startswith(f"{path}: not a partition metadata file: ")
