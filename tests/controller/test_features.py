"""UpdateFeatures: the allowed levels, and the nodes that must support them (KIP-584, KIP-778)."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.controller.context import ControllerConfig
from kraft.messages.broker_registration_request import Feature
from kraft.messages.controller_registration_request import ControllerRegistrationRequest
from kraft.messages.controller_registration_request import Feature as ControllerFeature
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.wire.errors import ErrorCode
from tests.controller.toy import CLUSTER_ID, ToyCluster

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
METADATA_VERSION = "metadata.version"


def update(
    toy: ToyCluster, *wanted: tuple[str, int], kind: int = UPGRADE, version: int = 1, validate_only: bool = False
) -> Any:
    updates = [FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind) for name, level in wanted]
    return toy.ask(UpdateFeaturesRequest(feature_updates=updates, validate_only=validate_only), version)


def register_controller(toy: ToyCluster, controller_id: int, highest: int) -> Any:
    feature = ControllerFeature(name=METADATA_VERSION, min_supported_version=7, max_supported_version=highest)
    return toy.ask(ControllerRegistrationRequest(controller_id=controller_id, features=[feature]))


@pytest.mark.parametrize(("level", "target"), [(7, 8), (7, 21), (16, 17), (20, 21), (21, 22), (22, 30)])
def test_up(level: int, target: int) -> None:
    toy = ToyCluster(level=level)
    toy.register(1, features=[Feature(METADATA_VERSION, 7, 30)])
    assert update(toy, (METADATA_VERSION, target)).error_code == ErrorCode.NONE
    assert toy.image.metadata_version == target


@pytest.mark.parametrize(
    ("target", "kind", "code"),
    [
        (20, UPGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        (20, SAFE_DOWNGRADE, ErrorCode.NONE),
        (17, SAFE_DOWNGRADE, ErrorCode.NONE),
        (17, UNSAFE_DOWNGRADE, ErrorCode.NONE),
        (16, SAFE_DOWNGRADE, ErrorCode.INVALID_UPDATE_VERSION),  # directories would be lost
        (16, UNSAFE_DOWNGRADE, ErrorCode.INVALID_UPDATE_VERSION),  # Apache Kafka does not do it either
        (21, UPGRADE, ErrorCode.NONE),
        (21, SAFE_DOWNGRADE, ErrorCode.NONE),
        (22, UPGRADE, ErrorCode.INVALID_UPDATE_VERSION),  # the broker supports levels up to 21
        (6, SAFE_DOWNGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        (0, UNSAFE_DOWNGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        (-1, SAFE_DOWNGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        (20, 0, ErrorCode.INVALID_UPDATE_VERSION),
        (20, 4, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_from_level_21(target: int, kind: int, code: ErrorCode) -> None:
    toy = ToyCluster()
    toy.start(1)
    response = update(toy, (METADATA_VERSION, target), kind=kind)
    assert response.error_code == code
    assert (response.error_message is None) == (code is ErrorCode.NONE)
    assert toy.image.metadata_version == (target if code is ErrorCode.NONE else 21)


def test_a_downgrade_to_a_higher_level_is_refused() -> None:
    toy = ToyCluster(level=17)
    assert update(toy, (METADATA_VERSION, 18), kind=SAFE_DOWNGRADE).error_code == ErrorCode.INVALID_UPDATE_VERSION


@pytest.mark.parametrize(
    ("name", "level"), [("kraft.version", 1), ("transaction.version", 3), ("group.version", 2), ("nothing", 1)]
)
def test_features_that_this_controller_has_not(name: str, level: int) -> None:
    """The quorum has static voters, so kraft.version stays 0 (KIP-853)."""
    response = update(ToyCluster(), (name, level))
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert "this controller" in response.error_message


@pytest.mark.parametrize(("name", "refused"), [("nothing", True), ("kraft.version", False), ("share.version", False)])
def test_level_0_is_no_feature_and_still_needs_a_name(name: str, refused: bool) -> None:
    """KIP-584: a feature is disabled by level 0; one that Kafka has and this controller has not is at 0 already."""
    toy = ToyCluster()
    response = update(toy, (name, 0), kind=SAFE_DOWNGRADE)
    assert response.error_code == (ErrorCode.INVALID_UPDATE_VERSION if refused else ErrorCode.NONE)
    assert name not in toy.image.features


def test_every_broker_must_be_able_to_follow() -> None:
    toy = ToyCluster(level=17)
    toy.start(1)
    old = [Feature(name=METADATA_VERSION, min_supported_version=7, max_supported_version=19)]
    toy.register(2, features=old)
    response = update(toy, (METADATA_VERSION, 21))
    assert (response.error_code, "broker 2" in response.error_message) == (ErrorCode.INVALID_UPDATE_VERSION, True)
    assert update(toy, (METADATA_VERSION, 19)).error_code == ErrorCode.NONE


def test_every_controller_must_be_able_to_follow() -> None:
    """KIP-919: controllers register their supported features, so that an upgrade leaves none of them behind."""
    toy = ToyCluster(ControllerConfig(CLUSTER_ID, voter_ids=(1, 2)), level=17)
    register_controller(toy, 1, 21)
    response = update(toy, (METADATA_VERSION, 21))
    assert "controller 2 has not registered" in response.error_message
    register_controller(toy, 2, 19)
    assert "controller 2 supports levels 7 to 19" in update(toy, (METADATA_VERSION, 21)).error_message
    register_controller(toy, 2, 30)
    assert update(toy, (METADATA_VERSION, 21)).error_code == ErrorCode.NONE


def test_controllers_register_from_their_level_on() -> None:
    toy = ToyCluster(ControllerConfig(CLUSTER_ID, voter_ids=(1, 2)), level=14)
    assert register_controller(toy, 1, 21).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert update(toy, (METADATA_VERSION, 15)).error_code == ErrorCode.NONE, "there is no way to know"
    assert register_controller(toy, 1, 21).error_code == ErrorCode.NONE


def test_all_or_nothing() -> None:
    toy = ToyCluster(level=17)
    response = update(toy, (METADATA_VERSION, 18), ("kraft.version", 1))
    assert (response.error_code, response.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])
    assert toy.image.metadata_version == 17


def test_a_feature_named_twice() -> None:
    response = update(ToyCluster(level=17), (METADATA_VERSION, 18), (METADATA_VERSION, 19))
    assert response.error_code == ErrorCode.INVALID_REQUEST


def test_validate_only() -> None:
    toy = ToyCluster(level=17)
    assert update(toy, (METADATA_VERSION, 18), validate_only=True).error_code == ErrorCode.NONE
    assert update(toy, (METADATA_VERSION, 31), validate_only=True).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert toy.image.metadata_version == 17


@pytest.mark.parametrize(("version", "names"), [(0, [METADATA_VERSION]), (1, [METADATA_VERSION]), (2, [])])
def test_the_answer_has_features_up_to_version_1(version: int, names: list[str]) -> None:
    response = update(ToyCluster(level=17), (METADATA_VERSION, 18), version=version)
    assert [result.feature for result in response.results] == names
    assert all(result.error_code == ErrorCode.NONE for result in response.results)


@pytest.mark.parametrize("allowed", [True, False])
def test_version_0_cannot_downgrade(allowed: bool) -> None:
    """The quorum controllers of Apache Kafka ignore ``allowDowngrade``, which was for those with ZooKeeper."""
    toy = ToyCluster()
    wanted = FeatureUpdateKey(feature=METADATA_VERSION, max_version_level=20, allow_downgrade=allowed)
    response = toy.ask(UpdateFeaturesRequest(feature_updates=[wanted]), 0)
    assert response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert toy.image.metadata_version == 21


def test_an_unchanged_value_gets_no_record() -> None:
    toy = ToyCluster()
    length = len(toy.log)
    assert update(toy, (METADATA_VERSION, 21), ("kraft.version", 0)).error_code == ErrorCode.NONE
    assert len(toy.log) == length
