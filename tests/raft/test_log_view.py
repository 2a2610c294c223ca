"""The shape of a log, compared with a plain list of epochs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kraft.raft.log_view import LogView
from kraft.raft.messages import EpochEnd, SnapshotId
from tests.raft.quorums import log_of


@given(st.lists(st.tuples(st.sampled_from(["append", "cut", "trim", "install"]), st.integers(1, 4), st.integers(0, 2))))
def test_it_agrees_with_a_plain_list(script: list[tuple[str, int, int]]) -> None:
    view, epochs, start, before = LogView(), list[int](), 0, 0
    for kind, count, rise in script:
        if kind == "append":
            epoch = (epochs[-1] if epochs else before) + rise
            view.append(view.end_offset + count, epoch)
            epochs += [epoch] * count
        elif kind == "cut" and epochs:
            keep = max(len(epochs) - count, 0)
            view.truncate(start + keep)
            del epochs[keep:]
        elif kind == "trim" and epochs:
            gone = min(count, len(epochs))
            before = epochs[gone - 1]
            start += gone
            view.advance_start(SnapshotId(start, before))
            del epochs[:gone]
        elif kind == "install":
            start, before, epochs = start + len(epochs) + count, (epochs[-1] if epochs else before) + rise, []
            view.install(SnapshotId(start, before))
        assert (view.start_offset, view.end_offset) == (start, start + len(epochs))
        assert view.epochs == [
            (epoch, at) for at, epoch in enumerate(epochs, start) if at == start or epochs[at - start - 1] != epoch
        ]
        assert view.last_epoch == (epochs[-1] if epochs else before)
        for epoch in range(before, view.last_epoch + 2):
            lower = [e for e in epochs if e <= epoch]
            assert view.end_of(epoch) == EpochEnd(lower[-1] if lower else before, start + len(lower))
        for offset in range(start, start + len(epochs)):
            piece = view.read(offset)
            flat = [
                run.epoch
                for run, at in zip(piece.runs, _starts(piece.base_offset, piece.runs), strict=True)
                for _ in range(run.end_offset - at)
            ]
            assert flat == epochs[offset - start :]


def _starts(base: int, runs: tuple[EpochEnd, ...]) -> list[int]:
    return [base, *(run.end_offset for run in runs[:-1])]


def test_where_logs_part() -> None:
    """KIP-595: cut at the end of the leader's epoch, or of the own nearest lower one, whichever is lower."""
    log = log_of((1, 4), (3, 6))
    assert log.diverging_from(EpochEnd(3, 5)) == 5
    assert log.diverging_from(EpochEnd(2, 9)) == 4
    assert log.diverging_from(EpochEnd(1, 2)) == 2
    assert log.diverging_from(EpochEnd(0, 0)) == 0
