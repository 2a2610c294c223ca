"""ApiVersions at a controller's listener."""

from __future__ import annotations

from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.no_op_record import NoOpRecord
from tests.api.serving import Serving
from tests.support.quorums import append, committed_image


async def test_the_epoch_of_the_features_stays_while_the_log_grows(active: Serving) -> None:
    """KIP-584: FinalizedFeaturesEpoch is at a controller, as at Apache Kafka's, the offset of their last change."""
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    plane = active.plane
    first = (await active.ask(request)).finalized_features_epoch
    await plane.quorum.committed(append(plane.quorum, [NoOpRecord()], plane.quorum.epoch))
    image = await committed_image(plane.quorum, plane.metadata)
    assert 0 <= first < image.offset
    assert (await active.ask(request)).finalized_features_epoch == first
