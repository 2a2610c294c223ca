"""The APIs that a broker with ZooKeeper offers, and its features, beside a broker of Apache Kafka 3.9."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from kraft.messages.api_versions_request import ApiVersionsRequest
from kraft.messages.api_versions_response import ApiVersionsResponse
from kraft.messages.registry import ApiKey
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.rpc.client import connect
from kraft.wire.errors import ErrorCode
from kraft.world.world import World
from kraft.zookeeper.operations import ANY_VERSION, Set
from kraft.zookeeper.session import session
from kraft.zookeeper.znodes.cluster import FEATURE, FinalizedFeatures, encode_features
from tests.interop.traffic import TIMEOUT_S
from tests.support.node_process import OURS
from tests.support.zookeeper_era import APACHE, LegacyBroker, legacy_cluster

pytestmark = [pytest.mark.interop, pytest.mark.zookeeper]

NOT_OFFERED = {
    "delegation tokens, which need SASL": {
        38,  # CreateDelegationToken
        39,  # RenewDelegationToken
        40,  # ExpireDelegationToken
        41,  # DescribeDelegationToken
    },
    "the new consumer groups, which 3.9 refuses with ZooKeeper": {68, 69},
    "forwarding to a KRaft controller (KIP-866)": {ApiKey.ENVELOPE},
}
"""The APIs of Apache Kafka's broker that ours does not have, by the reason."""
NEWEST_REMOVED_VERSION = 6
"""KIP-896 removed old versions from Apache Kafka 4, and this project never had them."""


async def offered(broker: LegacyBroker, *, with_epoch: bool = True) -> ApiVersionsResponse:
    """The answer of a broker, once it knows the epoch of the features that its controller has made."""
    with trio.fail_after(TIMEOUT_S):
        async with connect("127.0.0.1", broker.ports[0]) as connection:
            while True:
                request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
                response = await connection.request(request, 3)
                assert isinstance(response, ApiVersionsResponse)
                if (response.finalized_features_epoch >= 0) is with_epoch:
                    return response
                await trio.sleep(0.1)


def versions(response: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


async def test_the_differences_to_apaches_offer_are_known(tmp_path: Path) -> None:
    """Every other API has at least the newest version of 3.9. Neither broker has features."""
    with legacy_cluster(tmp_path) as cluster:
        theirs = await offered(cluster.add(1, APACHE))
        ours = await offered(cluster.add(2, OURS))
    assert (theirs.supported_features, ours.supported_features) == ([], [])
    assert (theirs.finalized_features, ours.finalized_features) == ([], [])
    assert (theirs.finalized_features_epoch, ours.finalized_features_epoch) == (0, 0)
    their_versions, our_versions = versions(theirs), versions(ours)
    assert their_versions.keys() - our_versions.keys() == set().union(*NOT_OFFERED.values())
    assert our_versions.keys() <= their_versions.keys()
    for key, (low, high) in our_versions.items():
        assert low <= max(their_versions[key][0], NEWEST_REMOVED_VERSION + 1), ApiKey(key).name
        assert high >= their_versions[key][1], ApiKey(key).name


async def test_the_epoch_of_the_features_follows_their_znode(tmp_path: Path) -> None:
    """KIP-584: the epoch is the version of /feature, and there is none while the features are disabled."""
    with legacy_cluster(tmp_path) as cluster:
        brokers = [cluster.add(1, APACHE), cluster.add(2, OURS)]
        for broker in brokers:
            await offered(broker)
        async with session(World(), cluster.zookeeper.address, TIMEOUT_S, TIMEOUT_S) as opened:
            for is_enabled, epochs in ((False, {-1}), (True, {2})):
                await opened.require(Set(FEATURE, encode_features(FinalizedFeatures(is_enabled)), ANY_VERSION))
                answers = [await offered(broker, with_epoch=is_enabled) for broker in brokers]
                assert {each.finalized_features_epoch for each in answers} == epochs


async def test_both_refuse_to_finalize_a_feature(tmp_path: Path) -> None:
    """Only the controller answers for the cluster: the other broker responds with NOT_CONTROLLER."""
    updates = [FeatureUpdateKey("metadata.version", 7, upgrade_type=1), FeatureUpdateKey("x", 0, upgrade_type=2)]
    answers = []
    for kinds in ((APACHE, OURS), (OURS, APACHE)):
        with legacy_cluster(tmp_path / str(len(answers))) as cluster:
            for node_id, kind in enumerate(kinds, 1):
                broker = cluster.add(node_id, kind)
                with trio.fail_after(TIMEOUT_S):
                    async with connect("127.0.0.1", broker.ports[0]) as connection:
                        response = await connection.request(UpdateFeaturesRequest(1_000, updates), 1)
                results = sorted((each.feature, each.error_code, each.error_message) for each in response.results)
                answers.append((response.error_code, results))
    of_apache, beside_apache, ours, beside_ours = answers
    assert ours == of_apache
    assert beside_apache[0] == beside_ours[0] == ErrorCode.NOT_CONTROLLER
