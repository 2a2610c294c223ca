"""Outgoing connections by TCP."""

from __future__ import annotations

import pytest

from kraft.world.dial import dial_by_tcp


@pytest.mark.parametrize("host", ["a..b", "x" * 70, "10.0.0.5:9092", ""])
async def test_a_host_that_is_no_name_cannot_be_reached(host: str) -> None:
    """``dial_by_tcp``: "Raises OSError if none does, or if there is none". Another node may register any host."""
    with pytest.raises(OSError):  # noqa: PT011 (the resolver words the failure)
        await dial_by_tcp(host, 1)
