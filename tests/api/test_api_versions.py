"""ApiVersions: the features in the response, at a broker's listener and at a controller's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kraft.api.api_versions import at_broker
from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersionsResponse
from kraft.messages.no_op_record import NoOpRecord
from kraft.metadata.image import Image
from kraft.rpc.channel import ConnectionInfo, Request
from kraft.rpc.client import connect
from kraft.testing import embedded_node
from tests.api.serving import Serving
from tests.support.quorums import append, committed_image


@pytest.mark.parametrize(
    ("version", "features"),
    [
        (2, {}),
        (3, {"metadata.version": (7, 30)}),
        (
            4,
            {
                "group.version": (0, 1),
                "kraft.version": (0, 0),
                "metadata.version": (7, 30),
                "share.version": (0, 1),
                "transaction.version": (0, 2),
            },
        ),
    ],
)
async def test_a_feature_with_minimum_0_is_returned_from_version_4_on(
    version: int, features: dict[str, tuple[int, int]]
) -> None:
    """KAFKA-17011: a Java client before 3.9 fails on a feature whose lowest version is 0."""
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    async with embedded_node() as node:
        host, _, port = node.bootstrap_servers.rpartition(":")
        async with connect(host, int(port)) as connection:
            response = await connection.request(request, version)
    told = {feature.name: (feature.min_version, feature.max_version) for feature in response.supported_features}
    assert told == features


async def test_the_epoch_of_the_features_stays_while_the_log_grows(active: Serving) -> None:
    """KIP-584: FinalizedFeaturesEpoch is at a controller, as at Apache Kafka's, the offset of their last change."""
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    plane = active.plane
    first = (await active.ask(request)).finalized_features_epoch
    await plane.quorum.committed(append(plane.quorum, [NoOpRecord()], plane.quorum.epoch))
    image = await committed_image(plane.quorum, plane.metadata)
    assert 0 <= first < image.offset
    assert (await active.ask(request)).finalized_features_epoch == first


@pytest.mark.parametrize(
    ("of_controller", "offered"),
    [
        ({19: (2, 7), 45: (0, 0), 57: (3, 4), 3: (0, 1)}, {19: (2, 7), 45: (0, 0)}),
        (None, {19: (2, 7), 45: (0, 1), 57: (0, 2), 80: (0, 1)}),
    ],
    ids=["another node", "this node or none"],
)
async def test_a_broker_offers_the_versions_that_the_controller_serves(
    of_controller: dict[int, tuple[int, int]] | None, offered: dict[int, tuple[int, int]]
) -> None:
    """``ApiVersionsResponse.intersectForwardableApis``: a client would send a newer version again after each lost
    connection. APIs that the broker does not forward keep their versions.
    """
    broker = SimpleNamespace(image=Image(), channel=SimpleNamespace(versions=of_controller))
    message = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    connection = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "192.0.2.7", 5123, "192.0.2.7:5123")
    request = Request(message.API_KEY, 4, 9, "client", b"", 0, connection, response_version=4)
    response = await at_broker(cast(Any, broker), request, message)
    assert isinstance(response, ApiVersionsResponse)
    versions = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
    assert {key: versions[key] for key in (19, 45, 57, 80) if key in versions} == offered
    assert versions[3] == (0, 13), "Metadata"
