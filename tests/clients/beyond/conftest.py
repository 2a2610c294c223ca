"""The programs that these tests start. A missing one fails the test with the name of the package to install."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kafka.admin import KafkaAdminClient

from tests.support.fetchers import MissingTool, require


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    """The path of a program on PATH."""

    def find(name: str) -> str:
        try:
            return require(name)
        except MissingTool as error:
            missing = str(error)
        pytest.fail(missing, pytrace=False)

    return find


@pytest.fixture
def admin(bootstrap_servers: str) -> Iterator[KafkaAdminClient]:
    """A client for the preparations before the client under test starts."""
    client = KafkaAdminClient(bootstrap_servers=bootstrap_servers)
    yield client
    client.close()


@pytest.fixture
def log_directory(admin: KafkaAdminClient) -> Path:
    """Return the directory of the node's partitions; the node runs on this machine."""
    (broker,) = admin.describe_log_dirs()
    (directory,) = broker["log_dirs"]
    return Path(directory["log_dir"])
