"""The frames of ``python -m tests.abuse.sums``, which takes minutes."""

from __future__ import annotations

import struct

import pytest

from tests.abuse.sums import SUMS


@pytest.mark.parametrize("name", SUMS)
def test_each_sum_has_whole_frames(name: str) -> None:
    frames = list(SUMS[name].frames())
    assert frames
    assert all(struct.unpack_from(">i", frame) == (len(frame) - 4,) for frame in frames)
