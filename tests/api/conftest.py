"""One node for most tests of a module, with a connection and a topic for each test; an active controller; and one of
two voters, without the other one.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kraft.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from kraft.rpc.client import Connection, connect
from kraft.testing import EmbeddedCluster, embedded_node
from tests.api.groups import coordinated
from tests.api.serving import VOTER_1, VOTER_2, Serving, serving
from tests.support.nodes import connected
from tests.support.talk import create

_numbers = itertools.count()


@pytest.fixture(scope="module")
def kraft_shared_cluster() -> Iterator[EmbeddedCluster]:
    """One node for the tests of a module. The plugin's node would run beside all later tests of the session: its lines
    get into their ``caplog``, and it calls the functions that they patch.
    """
    with EmbeddedCluster() as cluster:
        yield cluster


@pytest.fixture
async def broker(kraft_shared_cluster: EmbeddedCluster) -> AsyncIterator[Connection]:
    """A connection to the node that the tests of the module share."""
    host, port = kraft_shared_cluster.bootstrap_servers.split(":")
    async with connect(host, int(port), client_id="test") as connection:
        yield connection


@pytest.fixture
def new_name() -> str:
    """A name that no other test uses, for a topic or a group."""
    return f"name-{next(_numbers)}"


@pytest.fixture
async def topic(broker: Connection, new_name: str) -> str:
    """A topic of one partition."""
    await create(broker, new_name)
    return new_name


@pytest.fixture
async def topic_id(broker: Connection, topic: str) -> UUID:
    found = await broker.request(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))
    topic_id: UUID = found.topics[0].topic_id
    return topic_id


@pytest.fixture
async def group(broker: Connection, new_name: str) -> str:
    """A group id whose coordinator is there."""
    await coordinated(broker, f"group-{new_name}")
    return f"group-{new_name}"


@pytest.fixture
async def own() -> AsyncIterator[Connection]:
    """A node for one test only, since the settings of brokers are shared."""
    async with (
        embedded_node(topics={"orders": 1}, settings={"log.retention.hours": "5"}) as node,
        connected(node) as broker,
    ):
        yield broker


@pytest.fixture
async def active(tmp_path: Path) -> AsyncIterator[Serving]:
    async with serving(tmp_path) as served:
        yield served


@pytest.fixture
async def standby(tmp_path: Path) -> AsyncIterator[Serving]:
    async with serving(tmp_path, VOTER_1, VOTER_2) as served:
        yield served
