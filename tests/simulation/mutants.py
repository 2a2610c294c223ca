"""Planted bugs: each removes one rule from the cores or from the simulated driver, and some seed must notice it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import attrs

from kraft.raft import core, follower, leader, voting
from kraft.raft.events import ElectionStateWritten, Reason
from kraft.raft.log_view import LogView
from kraft.raft.member import Member
from kraft.raft.messages import EpochEnd
from kraft.raft.state import Candidate, Follower, Leader, Unattached
from kraft.raft.timing import Timing
from kraft.simulation.disk import Disk
from kraft.simulation.machine import StateMachine
from kraft.simulation.node import SimulatedNode


@attrs.frozen
class Mutant:
    """``make`` returns the replacement of ``target.name``, which breaks ``rule``."""

    rule: str
    target: Any
    name: str
    make: Callable[[Any], Any]

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        with mock.patch.object(self.target, self.name, self.make(getattr(self.target, self.name))):
            yield


def verdict_is(wrong: Reason, right: Reason) -> Callable[[Any], Any]:
    """Replace the vote decision: grant a vote that should be refused for the reason ``right``."""

    def make(judge: Any) -> Any:
        def judge_vote(member: Any, request: Any) -> Reason:
            reason = judge(member, request)
            return wrong if reason is right else reason

        return judge_vote

    return make


def counts_unflushed(take_append: Any) -> Any:
    def take(member: Any, end_offset: int, epoch: int) -> None:
        take_append(member, end_offset, epoch)
        member.state.progress[member.node_id].end_offset = end_offset
        leader.advance_high_watermark(member, member.state)

    return take


def commits(held: Callable[[Any, list[int]], int], floor: Callable[[Any, Any], int]) -> Callable[[Any], Any]:
    def make(_: Any) -> Any:
        def advance(member: Any, state: Any) -> None:
            ends = sorted((progress.end_offset for progress in state.progress.values()), reverse=True)
            if held(member, ends) > max(floor(member, state), member.high_watermark):
                member.commit(held(member, ends))

        return advance

    return make


def any_epoch_vote(_: Any) -> Any:
    def take(member: Any, now: float, event: Any) -> None:
        state = member.state
        if isinstance(state, Candidate) and event.response.granted and not event.request.pre_vote:
            voting.count_vote(member, now, state, event.to)
        else:
            ORIGINAL_VOTE_RESPONSE(member, now, event)

    return take


ORIGINAL_VOTE_RESPONSE = voting.take_vote_response


def votes_at_once(become_candidate: Any) -> Any:
    def counting(member: Any, now: float, prospective: Any, why: str) -> None:
        become_candidate(member, now, prospective, why)
        voting.count_own_vote(member, now, member.epoch, member.node_id)

    return counting


def same_epoch(_: Any) -> Any:
    def become_candidate(member: Any, now: float, prospective: Any, why: str) -> None:
        epoch = max(prospective.epoch, 1)
        deadline = now + member.timing.election_timeout(member.jitter())
        member.become(Candidate(epoch, deadline, member.node_id, retries=prospective.retries), why)
        voting._request_votes(member, voting.VoteRequest(epoch, *voting._candidate_and_log(member)))

    return become_candidate


def forgets(**fields: Any) -> Callable[[Any], Any]:
    """A restart that forgets stored fields."""

    def make(first_state: Any) -> Any:
        return lambda member, election, *times: first_state(member, attrs.evolve(election, **fields), *times)

    return make


def returning(value: Any) -> Callable[[Any], Any]:
    return lambda _: lambda *arguments, **keywords: value


def as_property(value: Any) -> Callable[[Any], Any]:
    return lambda _: property(lambda self: value)


def watermark_first(take: Any) -> Any:
    def take_response(member: Any, now: float, event: Any) -> None:
        if isinstance(member.state, Follower) and event.response.error == 0:
            member.commit(min(event.response.high_watermark, member.log.end_offset))
        take(member, now, event)

    return take_response


def speaks_first(_: Any) -> Any:
    def begin(node: Any, election: Any) -> None:
        node.timeline.call_in(node.fsync_time(), write, node, node.life, election)
        node.performing = False
        node._step(ElectionStateWritten(election))

    def write(node: Any, life: int, election: Any) -> None:
        if node.up and node.life == life:
            node.disk.election = election

    return begin


def forgets_cuts(flushed: Any) -> Any:
    return lambda log, end, truncations: flushed(log, min(end, log.end_offset), log.truncations)


def no_commit_bound(_: Any) -> Any:
    def take(member: Any, now: float, event: Any) -> None:
        if (
            isinstance(member.state, Follower)
            and member.state.pending_request == event.number
            and event.response.error == 0
        ):
            member.commit(event.response.high_watermark)
        ORIGINAL_FETCH_RESPONSE(member, now, event)

    return take


ORIGINAL_FETCH_RESPONSE = follower.take_fetch_response


def shifted_cut(by: int) -> Callable[[Any], Any]:
    return lambda diverging: lambda log, end: max(diverging(log, end) + by, log.start_offset)


def stale_epoch_welcome(doubt: Any) -> Any:
    return lambda member, epoch, who: (
        None if doubt(member, epoch, who) is Reason.STALE_EPOCH else doubt(member, epoch, who)
    )


def asks_anew(expected: Any) -> Any:
    def expect(member: Any, now: float, event: Any) -> Any:
        state = member.state
        if isinstance(state, Follower):
            event = attrs.evolve(
                event, number=state.pending_request if state.pending_request is not None else event.number
            )
        return expected(member, now, event)

    return expect


def counts_observers(note: Any) -> Any:
    def note_progress(member: Any, now: float, state: Any, request: Any) -> bool:
        state.progress.setdefault(request.replica_id, leader.Progress())
        return bool(note(member, now, state, request))

    return note_progress


def installs_nothing(take: Any) -> Any:
    def take_stored(member: Any, now: float, event: Any) -> None:
        take(member, now, event)
        member.effects.install = None

    return take_stored


def any_watermark(_: Any) -> Any:
    def commit(member: Any, offset: int) -> None:
        if offset != member.high_watermark:
            member.high_watermark = member.effects.high_watermark = offset

    return commit


def forgets_start_epoch(advance: Any) -> Any:
    def advance_start(log: Any, snapshot: Any) -> None:
        epoch = log.start_epoch
        advance(log, snapshot)
        log.start_epoch = epoch

    return advance_start


def only_own_epochs(end_of: Any) -> Any:
    def end(log: Any, epoch: int) -> EpochEnd:
        return EpochEnd(epoch, log.end_offset)

    return end


def hasty_snapshot(apply: Any) -> Any:
    return lambda machine, high_watermark: apply(machine, machine.disk.log.end)


def patient(_: Any) -> Any:
    def take(member: Any, now: float, state: Any) -> bool:
        if now >= state.fetch_deadline:
            member.state = attrs.evolve(state, fetch_deadline=now + member.timing.fetch_timeout_s)
        return False

    return take


def asks_for_ever(end_pre_votes: Any) -> Any:
    def give_way_to_none(member: Any, now: float, state: Any, why: str) -> None:
        deadline = now + member.timing.election_timeout(member.jitter())
        member.state = attrs.evolve(state, election_deadline=deadline)

    return give_way_to_none


def wins_early(count_vote: Any) -> Any:
    def count(member: Any, now: float, state: Any, voter: int) -> None:
        member.majority -= 1
        count_vote(member, now, state, voter)
        member.majority += 1

    return count


def leads_on(first_state: Any) -> Any:
    def first(member: Any, election: Any, timeout_s: float, now: float) -> Any:
        if election.leader_id != member.node_id or member.log.last_epoch != election.epoch:
            return first_state(member, election, timeout_s, now)
        progress = {voter: leader.Progress(fetched_at=now) for voter in member.others}
        progress[member.node_id] = leader.Progress(member.log.end_offset, now)
        start = member.log.end_of(election.epoch - 1).end_offset
        until = now + member.timing.check_quorum_s
        return Leader(election.epoch, start, member.node_id, frozenset(), progress, check_quorum_at=until)

    return first


def cuts_anything(_: Any) -> Any:
    def cut(member: Any, now: float, state: Any, leader_end: Any) -> None:
        offset = max(member.log.diverging_from(leader_end) - 1, member.log.start_offset)
        if offset < member.log.end_offset:
            member.log.truncate(offset)
            member.effects.truncate = offset

    return cut


def installs_whatever_it_is(_: Any) -> Any:
    def take_stored(member: Any, now: float, event: Any) -> None:
        if event.snapshot.end_offset > member.high_watermark:
            member.log.install(event.snapshot)
            member.effects.install = event.snapshot
            member.commit(event.snapshot.end_offset)
        if isinstance(member.state, Follower):
            member.state = attrs.evolve(member.state, download=None, request_at=now)

    return take_stored


def tells_what_it_remembers(_: Any) -> Any:
    return lambda member, state: member.high_watermark


def needs_all(_: Any) -> Any:
    def note(member: Any, state: Any) -> None:
        oldest = min(state.progress[voter].fetched_at for voter in member.others)
        state.check_quorum_at = oldest + member.timing.check_quorum_s

    return note


def sends_nothing(read: Any) -> Any:
    return lambda log, offset: None


def keeps_too_few(keep: Any) -> Any:
    def keep_one(machine: Any, snapshot: Any, state: int) -> None:
        keep(machine, snapshot, state)
        for old in sorted(machine.disk.snapshots)[:-1]:
            del machine.disk.snapshots[old]

    return keep_one


def snapshot_of_now(written: Any) -> Any:
    return lambda node, life, snapshot, state: written(node, life, snapshot, node.machine.state)


def flush_covers_all(_: Any) -> Any:
    def flushed(node: Any, life: int, covered: Any) -> None:
        ORIGINAL_FLUSHED(node, life, (covered[0], node.disk.log.end, node.core.log.truncations))

    return flushed


ORIGINAL_FLUSHED = SimulatedNode._flushed


def drops_the_last(recover: Any) -> Any:
    def recover_less(disk: Any) -> Any:
        del disk.durable.entries[-1:]
        return recover(disk)

    return recover_less


def takes_any_epoch(learn: Any) -> Any:
    def learn_anything(member: Any, now: float, response: Any, peer: int) -> None:
        if response.epoch > member.epoch and response.leader_id is None:
            member.detach(now, response.epoch, f"{peer} responded with a newer epoch")
        else:
            learn(member, now, response, peer)

    return learn_anything


def no_deadline(end_pre_votes: Any) -> Any:
    def give_way_for_good(member: Any, now: float, state: Any, why: str) -> None:
        member.become(Unattached(state.epoch, math.inf, state.voted_for), why)

    return give_way_for_good


def forgets_the_leader(end_pre_votes: Any) -> Any:
    def give_way(member: Any, now: float, state: Any, why: str) -> None:
        end_pre_votes(member, now, state, why)
        if isinstance(member.state, Unattached):
            member.state = attrs.evolve(member.state, former_leader_id=None)

    return give_way


def waits_for_a_check(election_deadline: Any) -> Any:
    def deadline(member: Any, now: float) -> float:
        waits = isinstance(member.state, Follower) and math.isinf(member.state.fetch_deadline)
        return math.inf if waits else float(election_deadline(member, now))

    return deadline


def epoch_unwritten(take: Any) -> Any:
    """Store leaders and votes, but not a new epoch without either."""

    def take_effects(member: Any) -> Any:
        effects = take(member)
        election = effects.election
        if election is not None and election.leader_id is None and election.voted_for is None:
            return attrs.evolve(effects, election=None)
        return effects

    return take_effects


def vote_unwritten(take: Any) -> Any:
    """Store epochs and leaders, but no votes."""

    def take_effects(member: Any) -> Any:
        before = attrs.evolve(member.written, voted_for=None)
        effects = take(member)
        if effects.election is not None:
            election = attrs.evolve(effects.election, voted_for=None)
            effects.election = election if election != before else None
        return effects

    return take_effects


MUTANTS = {
    "votes twice in an epoch": Mutant(
        "one vote per epoch", voting, "judge_vote", verdict_is(Reason.GRANTED, Reason.VOTED_FOR_ANOTHER)
    ),
    "votes for a shorter log": Mutant(
        "only a log at least as long wins", voting, "judge_vote", verdict_is(Reason.GRANTED, Reason.SHORTER_LOG)
    ),
    "forgets its vote": Mutant("a vote outlives a restart", core, "_first_state", forgets(voted_for=None)),
    "does not write its vote": Mutant("a vote is durable", Member, "take_effects", vote_unwritten),
    "does not write new epochs": Mutant("an epoch is durable", Member, "take_effects", epoch_unwritten),
    "speaks before it wrote": Mutant("a node stores, then sends", SimulatedNode, "_begin_election_write", speaks_first),
    "counts its vote at once": Mutant("one's own vote counts once durable", voting, "become_candidate", votes_at_once),
    "counts votes of old epochs": Mutant("votes are for one epoch", voting, "take_vote_response", any_epoch_vote),
    "stands in the same epoch": Mutant("an election takes a new epoch", voting, "become_candidate", same_epoch),
    "an observer stands": Mutant("observers do not vote", Member, "may_become_candidate", as_property(True)),
    "an observer takes any epoch": Mutant(
        "an observer takes no epoch without a leader", Member, "learn", takes_any_epoch
    ),
    "counts observers": Mutant("voters alone commit", leader, "_note_progress", counts_observers),
    "commits with one too few": Mutant(
        "a majority commits",
        leader,
        "advance_high_watermark",
        commits(lambda member, ends: ends[max(member.majority - 2, 0)], lambda member, state: state.epoch_start),
    ),
    "commits older epochs by counting": Mutant(
        "a leader commits by a record of its own epoch",
        leader,
        "advance_high_watermark",
        commits(lambda member, ends: ends[member.majority - 1], lambda member, state: 0),
    ),
    "counts what is not flushed": Mutant("a leader counts durable records", leader, "take_append", counts_unflushed),
    "fetches before the flush": Mutant(
        "a follower fetches behind durable records", LogView, "all_durable", as_property(True)
    ),
    "believes an old flush": Mutant("a truncation voids flushes", LogView, "flushed", forgets_cuts),
    "does not compare logs": Mutant("logs are compared before records go", leader, "diverging_epoch", returning(None)),
    "knows no older epochs": Mutant("an epoch ends where the next begins", LogView, "end_of", only_own_epochs),
    "cuts one too many": Mutant("only diverging records are truncated", LogView, "diverging_from", shifted_cut(-1)),
    "cuts one too few": Mutant("all diverging records are truncated", LogView, "diverging_from", shifted_cut(1)),
    "publishes before it cuts": Mutant(
        "the high watermark follows the truncation", follower, "take_fetch_response", watermark_first
    ),
    "publishes what it lacks": Mutant(
        "no high watermark beyond the log", follower, "take_fetch_response", no_commit_bound
    ),
    "follows an old leader": Mutant("older epochs are fenced", follower, "_refusal", stale_epoch_welcome),
    "takes any answer": Mutant("one request is under way", follower, "_expected", asks_anew),
    "never gives a leader up": Mutant("the fetch timeout", follower, "take_timeout", patient),
    "never resigns": Mutant("check-quorum", Timing, "check_quorum_s", as_property(1e9)),
    "forgets a leader that resigned": Mutant(
        "an epoch with a leader elects no other", voting, "end_pre_votes", forgets_the_leader
    ),
    "never stands again": Mutant("a lost election is followed by another", voting, "end_pre_votes", no_deadline),
    "waits for ever behind a snapshot": Mutant(
        "a voter without a leader stands by itself", Member, "_election_deadline", waits_for_a_check
    ),
    "sends no snapshot": Mutant("a short log is replaced by a snapshot", leader, "_snapshot_for", returning(None)),
    "keeps the log under a snapshot": Mutant(
        "a snapshot replaces the log", follower, "take_stored_snapshot", installs_nothing
    ),
    "moves the high watermark back": Mutant("the high watermark never goes back", Member, "commit", any_watermark),
    "forgets the epoch before the log": Mutant(
        "the start of a log has an epoch", LogView, "advance_start", forgets_start_epoch
    ),
    "applies what is not committed": Mutant(
        "only committed records are applied", StateMachine, "apply", hasty_snapshot
    ),
    "wins with one vote too few": Mutant("a majority elects", voting, "count_vote", wins_early),
    "leads on after a restart": Mutant("a restarted leader leads no more", core, "_first_state", leads_on),
    "asks for ever": Mutant("the Prospective state ends", voting, "end_pre_votes", asks_for_ever),
    "cuts what is committed": Mutant("committed records are never truncated", follower, "_cut", cuts_anything),
    "answers from the former epoch": Mutant(
        "no high watermark before one's own epoch commits", leader, "_high_watermark", tells_what_it_remembers
    ),
    "resigns over one silent voter": Mutant("a majority is enough", leader, "note_contact", needs_all),
    "sends no records": Mutant("a leader sends its records", LogView, "read", sends_nothing),
    "installs whatever it is by then": Mutant(
        "a follower alone installs a snapshot", follower, "take_stored_snapshot", installs_whatever_it_is
    ),
    "deletes the snapshot at the start": Mutant(
        "the snapshot at the start of the log stays", StateMachine, "keep", keeps_too_few
    ),
    "snapshots what came later": Mutant(
        "a snapshot is of one offset", SimulatedNode, "_snapshot_written", snapshot_of_now
    ),
    "takes a flush for all": Mutant("a flush covers earlier writes", SimulatedNode, "_flushed", flush_covers_all),
    "drops the last record": Mutant("a restart keeps durable records", Disk, "recover", drops_the_last),
}
