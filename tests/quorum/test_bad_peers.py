"""The effects of a bad peer on a member of the quorum: none, or a stop with one clear line if its log is at risk."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio

from kraft.config.topic import LogConfig
from kraft.messages import fetch_response as fetched
from kraft.messages.registry import ApiKey
from kraft.quorum.batches import leader_change_batch
from kraft.quorum.log import MetadataLog
from kraft.quorum.trace import CoreStepped
from kraft.raft.events import LeaderChange
from kraft.raft.state import Follower
from kraft.records.record import Record, encode_batch
from kraft.rpc.channel import Reply, Request
from kraft.simulation import virtual_time
from kraft.storage.errors import StorageError
from kraft.storage.snapshot import MAX_READ_BATCH_BYTES
from kraft.wire.errors import ErrorCode
from tests.support.scripted_leader import EPOCH, Answer, Leader, answer, follower_of, opening, topics


def flipped(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 1
    return bytes(changed)


def too_large(_: Any) -> fetched.FetchResponse:
    """More than a follower takes in one batch, and nothing else is wrong with it."""
    record = Record(1, 1000, None, bytes(MAX_READ_BATCH_BYTES))
    return answer(opening() + encode_batch([record], base_offset=1, leader_epoch=EPOCH))


BAD_ANSWERS: dict[str, Answer | fetched.FetchResponse | None] = {
    "a flipped bit in a record": answer(flipped(opening(), -3)),
    "a flipped bit in the checksum": answer(flipped(opening(), 18)),
    "a length beyond the data": answer(opening()[:8] + b"\x7f\xff\xff\xff" + opening()[12:]),
    "a negative length": answer(opening()[:8] + b"\xff\xff\xff\xff" + opening()[12:]),
    "half a batch": answer(opening()[:40]),
    "a batch larger than any that is taken": too_large,
    "bytes of any kind": answer(b"\xde\xad\xbe\xef" * 500),
    "a gap": answer(topics(7)),
    "an epoch that the leader cannot know": answer(opening(EPOCH + 1)),
    "an old format": answer(flipped(opening(), 16)),
    "the log of another topic": fetched.FetchResponse(
        responses=[fetched.FetchableTopicResponse("x", UUID(int=5), [fetched.PartitionData(0)])]
    ),
    "no topic": fetched.FetchResponse(),
    "an error that nobody knows": answer(error_code=31_999),
    "a refusal of the whole": fetched.FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID),
    "another leader in the same epoch": answer(current_leader=fetched.LeaderIdAndEpoch(3, EPOCH)),
    "a leader that is no voter": answer(current_leader=fetched.LeaderIdAndEpoch(99, EPOCH)),
    "an older epoch": answer(opening(), current_leader=fetched.LeaderIdAndEpoch(1, 0)),
    "a high watermark beyond everything": answer(high_watermark=10**12),
    "a diverging epoch with an impossible end": answer(diverging_epoch=fetched.EpochEndOffset(0, -7)),
    "a snapshot before the beginning": answer(snapshot_id=fetched.SnapshotId(-5, 1)),
    "the end of the connection": None,
}


async def _catch_up(directory: Path, leader: Leader) -> None:
    async with follower_of(leader, directory) as quorum:
        with trio.fail_after(20):
            await quorum.committed(3)
        state = quorum.state
        assert isinstance(state, Follower)
        assert (state.leader_id, quorum.high_watermark, quorum.end_offset) == (1, 4, 4)
        assert quorum.log.read(0, 2**20)[0] == opening() + topics(1, 3)


@pytest.mark.parametrize("bad", BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
def test_a_follower_outlives_a_leader_that_talks_nonsense(
    tmp_path: Path, bad: Answer | fetched.FetchResponse | None
) -> None:
    """The follower appends and adopts nothing invalid, and fetches again. With the first response it finds its
    leader.
    """
    virtual_time.run(_catch_up, tmp_path, Leader([answer(), bad, bad]))


ABSENT = "cannot connect to voter 3@node-3:9093: no node listens on node-3:9093"


def test_damaged_records_are_named_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    virtual_time.run(_catch_up, tmp_path, Leader([answer(), BAD_ANSWERS["a flipped bit in a record"]]))
    assert ["1 sent invalid records" in message for message in caplog.messages if message != ABSENT] == [True]


ENDLESS = {
    "damaged records": (BAD_ANSWERS["a flipped bit in a record"], "1 sent invalid records"),
    "half a batch": (BAD_ANSWERS["half a batch"], "1 sent invalid records"),
    "another cluster": (
        BAD_ANSWERS["a refusal of the whole"],
        "response to Fetch: INCONSISTENT_CLUSTER_ID",
    ),
    "an error that nobody knows": (BAD_ANSWERS["an error that nobody knows"], "refuses Fetch: UNKNOWN_SERVER_ERROR"),
}


GIVEN_UP = "Follower", "Prospective"


class Stubborn(Leader):
    """Gives one answer for good, once it is found."""

    def __init__(self, bad: fetched.FetchResponse) -> None:
        super().__init__([answer()])
        self.bad = bad
        self.asked = 0

    async def handle(self, request: Request) -> Reply:
        if not self.script and request.api_key == ApiKey.FETCH:
            self.asked += 1
            return self.bad
        return await super().handle(request)


async def _insist(directory: Path, leader: Stubborn) -> set[str]:
    """A minute with this leader; why it was given up, again and again."""
    reasons = set()

    def note(told: CoreStepped) -> None:
        reasons.update(each.why for each in told.effects.transitions if (each.before, each.after) == GIVEN_UP)

    async with follower_of(leader, directory) as quorum:
        quorum.trace.subscribe(CoreStepped, note)
        await trio.sleep(60)
    return reasons


@pytest.mark.parametrize(("bad", "line"), ENDLESS.values(), ids=ENDLESS.keys())
def test_a_useless_leader_gets_fewer_requests_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: fetched.FetchResponse, line: str
) -> None:
    caplog.set_level(logging.WARNING)
    leader = Stubborn(bad)
    assert virtual_time.run(_insist, tmp_path, leader) == {"1 sent no usable response within the fetch timeout"}
    assert sum(line in message for message in caplog.messages) == 1
    assert len([each for each in caplog.messages if each != ABSENT]) <= 2, "it does not vote either"
    assert 10 < leader.asked < 150, "in a minute, at a retry back-off of 0.02 s"


def test_the_end_of_a_leaders_recovery_is_recorded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bad = BAD_ANSWERS["a flipped bit in a record"]
    virtual_time.run(_catch_up, tmp_path, Leader([answer(), bad, bad, bad]))
    assert sum("invalid records" in message for message in caplog.messages) == 1
    assert caplog.messages.count("1 sends valid responses to Fetch again") == 1


def test_a_leader_with_other_voters_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """This node follows it and has no vote there; no other message would show that."""
    caplog.set_level(logging.WARNING)
    data = leader_change_batch(LeaderChange(EPOCH, 1, (1, 3, 4), (1, 3)), 0, 1000)
    virtual_time.run(_insist, tmp_path, Stubborn(answer(data)))
    assert "the voters of leader 1 of epoch 1 are 1,3,4, and controller.quorum.voters is 1,2,3 here" in caplog.text


async def _be_cut(directory: Path, leader: Leader) -> None:
    async with follower_of(leader, directory):
        await trio.sleep(20)


def test_committed_records_are_never_truncated(tmp_path: Path) -> None:
    """KIP-595: committed records are never truncated. If a leader requires that, the node stops with one line."""
    everything = answer(opening() + topics(1, 3), high_watermark=4)
    parted = answer(diverging_epoch=fetched.EpochEndOffset(EPOCH, 1), high_watermark=4)
    leader = Leader([answer(), everything, answer(high_watermark=4), parted])
    line = "below the high watermark 4, so truncation would remove committed records; this node stops"
    with pytest.RaisesGroup(pytest.RaisesExc(StorageError, match=line), flatten_subgroups=True):
        virtual_time.run(_be_cut, tmp_path, leader)
    log = MetadataLog.open(str(tmp_path), LogConfig(), now_ms=0)
    assert log.read(0, 2**20)[0] == opening() + topics(1, 3)
    log.close()
