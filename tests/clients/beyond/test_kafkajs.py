"""kafkajs, unmodified, with a plug-in for every codec that it does not carry."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.beyond.driver import Run, each_feature, run_driver
from tests.clients.features import not_offered
from tests.support.fetchers import KAFKAJS_PACKAGES, kafkajs

pytestmark = pytest.mark.interop

DRIVER = Path(__file__).parent / "kafkajs" / "driver.js"
LACKS = {
    "consumer-protocol": "kafkajs has the classic protocol only",
    "share-consumer": "kafkajs has no share consumer",
    "static-member": "kafkajs has no static membership",
    "offsets-max-timestamp": "kafkajs asks for no offset of the greatest timestamp",
}


@pytest.fixture(scope="module")
def driven(bootstrap_servers: str, tool: Callable[[str], str]) -> Run:
    environment = {
        **os.environ,
        "NODE_PATH": str(kafkajs() / "node_modules"),
        "KAFKAJS_NO_PARTITIONER_WARNING": "1",
    }
    return run_driver([tool("node"), str(DRIVER), bootstrap_servers, f"kafkajs-{uuid.uuid4().hex[:8]}"], environment)


@each_feature(["kafkajs"])
def test_kafkajs(driven: Run, client_name: str, feature: str, record_property: Callable[[str, object], None]) -> None:
    record_property("client_version", KAFKAJS_PACKAGES["kafkajs"])
    if feature in LACKS:
        not_offered(LACKS[feature])
    driven.expect(feature)
