"""One active controller, and one of two voters of which the other is not there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.controller_handlers.serving import VOTER_1, VOTER_2, Serving, serving


@pytest.fixture
async def active(tmp_path: Path) -> AsyncIterator[Serving]:
    async with serving(tmp_path) as served:
        yield served


@pytest.fixture
async def standby(tmp_path: Path) -> AsyncIterator[Serving]:
    async with serving(tmp_path, VOTER_1, VOTER_2) as served:
        yield served
