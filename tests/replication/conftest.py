"""The broker that the tests of the controller's requests share."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from tests.replication.commanded import US, Broker
from tests.support.held import broker_in


@pytest.fixture
async def broker(tmp_path: Path, nursery: trio.Nursery) -> Broker:
    replicas = broker_in(tmp_path, US).replicas
    await replicas.load(None)
    broker = Broker(replicas)
    nursery.start_soon(broker.commands.run)
    return broker
