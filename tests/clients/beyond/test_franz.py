"""franz-go, unmodified."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

import pytest

from tests.clients.beyond.driver import Run, each_feature, run_driver
from tests.support.fetchers import FRANZ_GO, go_program

pytestmark = pytest.mark.interop

EXTRAS = ("group-rebalance-cooperative",)


@pytest.fixture(scope="module")
def driven(bootstrap_servers: str, tool: Callable[[str], str]) -> Run:
    tool("go")
    return run_driver([str(go_program(FRANZ_GO)), bootstrap_servers, f"franz-{uuid.uuid4().hex[:8]}"])


@pytest.fixture(scope="module")
def version() -> str:
    found = re.search(r"franz-go v(\S+)", (FRANZ_GO / "go.mod").read_text())
    assert found is not None
    return found[1]


@each_feature(["franz-go"], EXTRAS)
def test_franz_go(
    driven: Run, version: str, client_name: str, feature: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("client_version", version)
    driven.expect(feature)
