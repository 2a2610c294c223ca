"""``kraft features`` compared with kafka-features, on a cluster with scripted responses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter

import pytest
from click.testing import CliRunner, Result

from kraft.cli.main import cli
from kraft.messages.api_versions_response import ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey
from kraft.messages.registry import ApiKey
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse
from kraft.wire.errors import ErrorCode
from tests.support.apache_tool import FEATURES, apache_tool
from tests.support.stub_cluster import StubCluster, stub_cluster

OFFERS = ApiVersionsResponse(
    supported_features=[
        SupportedFeatureKey("metadata.version", 7, 30),
        SupportedFeatureKey("z.version", 0, 1),
        SupportedFeatureKey("a-feature-with-a-long-name.version", 1, 12345),
    ],
    finalized_features=[FinalizedFeatureKey("metadata.version", 21, 21)],
    finalized_features_epoch=533,
)
NOTHING_FINALIZED = ApiVersionsResponse(supported_features=[SupportedFeatureKey("metadata.version", 7, 99)])


@contextmanager
def updating(error: ErrorCode = ErrorCode.NONE, version: int = 2) -> Iterator[tuple[StubCluster, list[object]]]:
    """A cluster that grants or refuses all updates, and the requests that it received."""
    asked: list[object] = []

    def answer(request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        asked.append(request)
        why = "so it is" if error else None
        if version >= 2:
            return UpdateFeaturesResponse(error_code=error, error_message=why)
        results = [UpdatableFeatureResult(update.feature, error, why) for update in request.feature_updates]
        return UpdateFeaturesResponse(error_message=None, results=results)

    with stub_cluster({ApiKey.UPDATE_FEATURES: (version, answer)}, OFFERS) as cluster:
        yield cluster, asked


def run(cluster: StubCluster, *arguments: str) -> Result:
    command = ["features", "--bootstrap-server", cluster.bootstrap_servers, *arguments]
    return CliRunner(catch_exceptions=False).invoke(cli, command)


def test_features_are_described() -> None:
    with stub_cluster({}, OFFERS) as cluster:
        first, second, third = run(cluster, "describe").output.splitlines()
    assert second == (
        "Feature: metadata.version                          SupportedMinVersion: 3.3-IV3          "
        "SupportedMaxVersion: 4.3-IV0          FinalizedVersionLevel: 3.9-IV0          Epoch: 533"
    )
    assert (first.split()[1], third.split()[1]) == ("a-feature-with-a-long-name.version", "z.version")


@pytest.mark.parametrize("version", [1, 2])
def test_an_upgrade(version: int) -> None:
    with updating(version=version) as (cluster, asked):
        result = run(cluster, "upgrade", "--feature", "metadata.version=3.9-IV0", "--feature", "group.version=1")
    assert result.output == "group.version was upgraded to 1.\nmetadata.version was upgraded to 21.\n"
    updates = [FeatureUpdateKey("group.version", 1), FeatureUpdateKey("metadata.version", 21)]
    assert asked == [UpdateFeaturesRequest(timeout_ms=30_000, feature_updates=updates)]


def test_a_downgrade_that_is_only_tried() -> None:
    with updating() as (cluster, asked):
        result = run(cluster, "downgrade", "--feature", "metadata.version=20", "--unsafe", "--dry-run")
    assert result.output == "metadata.version can be downgraded to 20.\n"
    (request,) = asked
    assert isinstance(request, UpdateFeaturesRequest)
    assert (request.feature_updates[0].upgrade_type, request.validate_only) == (3, True)


@pytest.mark.parametrize("version", [1, 2])
def test_a_refusal(version: int) -> None:
    with updating(ErrorCode.INVALID_UPDATE_VERSION, version) as (cluster, _):
        result = run(cluster, "upgrade", "--feature", "metadata.version=22")
    assert result.stdout == "Could not upgrade metadata.version to 22. so it is\n"
    assert (result.exit_code, result.stderr) == (1, "Error: 1 out of 1 operation(s) failed.\n")


def test_a_feature_is_disabled() -> None:
    """KIP-584: level 0, and the finalized version of the feature is deleted."""
    with updating() as (cluster, asked):
        result = run(cluster, "disable", "--feature", "b.version", "--feature", "a.version", "--unsafe")
    assert result.output == "a.version was disabled.\nb.version was disabled.\n"
    updates = [FeatureUpdateKey(name, 0, upgrade_type=3) for name in ("a.version", "b.version")]
    assert asked == [UpdateFeaturesRequest(timeout_ms=30_000, feature_updates=updates)]


def test_all_that_a_release_has() -> None:
    """KIP-1022: ``--release-version`` changes every feature to the level of the release."""
    with updating() as (cluster, asked):
        assert run(cluster, "downgrade", "--release-version", "3.7").exit_code == 0
        assert run(cluster, "upgrade", "--metadata", "3.8", "--feature", "a.version=1").exit_code == 0
    levels = [{update.feature: update.max_version_level for update in request.feature_updates} for request in asked]
    others = ("eligible.leader.replicas", "group", "kraft", "share", "streams", "transaction")
    assert levels[0] == {"metadata.version": 19, **{f"{name}.version": 0 for name in others}}
    assert levels[1] == {"metadata.version": 20, "a.version": 1}


def test_another_node_is_described() -> None:
    with stub_cluster({}, OFFERS) as cluster:
        assert run(cluster, "describe", "--node-id", "1").output == run(cluster, "describe").output
        nobody = run(cluster, "describe", "--node-id", "7")
    assert nobody.exit_code == 1
    assert "broker 7 is not in the cluster's metadata" in nobody.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("disable",), "You must specify at least one feature to disable"),
        (("upgrade",), "You must specify at least one feature to upgrade"),
        (("disable", "--feature", "a", "--feature", "a"), "Feature a was specified more than once."),
        (("upgrade", "--feature", "a=1", "--feature", "a=2"), "Feature a was specified more than once."),
        (("upgrade", "--metadata", "3.9", "--feature", "metadata.version=20"), "was specified more than once."),
        (("downgrade", "--release-version", "3.7", "--feature", "a=1"), "Can not specify `release-version` with other"),
        (("upgrade", "--feature", "a=0"), "a cannot be upgraded to 0; downgrade it, or disable it."),
        (("upgrade", "--metadata", "9.9"), "Unknown metadata.version '9.9'. Supported metadata.version are: 3.3-IV3,"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_before_a_request_is_sent(arguments: tuple[str, ...], why: str) -> None:
    result = CliRunner(catch_exceptions=False).invoke(cli, ["features", *arguments])
    assert result.exit_code == 1
    assert why in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["metadata.version", "=3", "metadata.version=4.9", "x=-1", "x=99999"])
def test_an_invalid_feature_argument(text: str) -> None:
    result = CliRunner(catch_exceptions=False).invoke(cli, ["features", "upgrade", "--feature", text])
    assert result.exit_code == 2
    assert f"{text!r} is not NAME=LEVEL" in result.stderr


@pytest.mark.interop
@pytest.mark.parametrize("offers", [OFFERS, NOTHING_FINALIZED], ids=["finalized", "nothing finalized"])
def test_described_as_apaches_tool_does(offers: ApiVersionsResponse) -> None:
    with stub_cluster({}, offers) as cluster:
        theirs = apache_tool(FEATURES, "--bootstrap-server", cluster.bootstrap_servers, "describe")
        assert run(cluster, "describe").output == theirs


@pytest.mark.interop
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("upgrade", "--feature", "metadata.version=22", "--feature", "group.version=1"), ErrorCode.NONE),
        (("upgrade", "--feature", "metadata.version=22", "--dry-run"), ErrorCode.NONE),
        (("downgrade", "--feature", "metadata.version=20", "--unsafe"), ErrorCode.NONE),
        (("downgrade", "--feature", "metadata.version=3", "--dry-run"), ErrorCode.INVALID_UPDATE_VERSION),
        (("upgrade", "--feature", "metadata.version=22"), ErrorCode.INVALID_UPDATE_VERSION),
        (("upgrade", "--feature", " metadata.version = +22 "), ErrorCode.NONE),
        (("disable", "--feature", "metadata.version", "--feature", "a=1"), ErrorCode.NONE),
        (("disable", "--feature", "metadata.version", "--unsafe", "--dry-run"), ErrorCode.NONE),
        (("disable", "--feature", "metadata.version", "--dry-run"), ErrorCode.INVALID_UPDATE_VERSION),
        (("downgrade", "--release-version", "3.7"), ErrorCode.NONE),
        (("upgrade", "--release-version", "4.0", "--dry-run"), ErrorCode.INVALID_UPDATE_VERSION),
    ],
    ids=str,
)
def test_updated_as_apaches_tool_does(arguments: tuple[str, ...], error: ErrorCode) -> None:
    with updating(error) as (cluster, asked):
        status = 1 if error else 0
        theirs = apache_tool(FEATURES, "--bootstrap-server", cluster.bootstrap_servers, *arguments, status=status)
        ours = run(cluster, *arguments)
        assert (ours.stdout, ours.exit_code) == (theirs, status)
        first, second = asked
        assert isinstance(first, UpdateFeaturesRequest)
        assert isinstance(second, UpdateFeaturesRequest)
        by_name = attrgetter("feature")
        assert sorted(first.feature_updates, key=by_name) == sorted(second.feature_updates, key=by_name)
