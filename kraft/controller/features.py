"""UpdateFeatures (57, KIP-584, KIP-778): move the cluster to other levels of its features, all of them or none.

v0 has no upgrade type and cannot downgrade: Apache's quorum controllers ignore its ``allow_downgrade``. A failure is
one error for the whole request; on success v0 and v1 also list each feature. kraft.version cannot leave 0 here, because
the quorum's voters are static.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

from kraft.config.features import METADATA_VERSION, NAME_OF_LEVEL, OTHER_FEATURES, SUPPORTED_FEATURES
from kraft.controller.context import Context, Decision
from kraft.messages.feature_level_record import FeatureLevelRecord
from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse
from kraft.metadata.levels import CONTROLLER_REGISTRATION, can_go_back
from kraft.wire.errors import ErrorCode, KafkaError, shortened

_RESULTS_UP_TO = 1  # the last version with a result for each feature
_UNSUPPORTED = (0, 0)


class UpgradeType(IntEnum):
    """The direction of an update, as UpdateFeatures v1+ numbers it."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update_features(context: Context, request: UpdateFeaturesRequest) -> Decision:
    """Finalize new levels; with ``validate_only`` only check whether that is possible."""
    records: list[FeatureLevelRecord] = []
    try:
        named: set[str] = set()
        for update in request.feature_updates:
            if update.feature in named:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{shortened(update.feature)} is named more than once.")
            _check(context, update)  # an unknown feature is refused, so the loop ends soon
            named.add(update.feature)
            if update.max_version_level != context.image.features.get(update.feature, 0):
                records.append(FeatureLevelRecord(name=update.feature, feature_level=update.max_version_level))
    except KafkaError as error:
        return Decision((), UpdateFeaturesResponse(error_code=error.code, error_message=error.message))
    results = [
        UpdatableFeatureResult(feature=update.feature, error_code=ErrorCode.NONE, error_message=None)
        for update in request.feature_updates
        if context.version <= _RESULTS_UP_TO
    ]
    response = UpdateFeaturesResponse(error_code=ErrorCode.NONE, error_message=None, results=results)
    return Decision(() if request.validate_only else tuple(records), response, is_atomic=True)


def _check(context: Context, update: FeatureUpdateKey) -> None:
    """Raise KafkaError INVALID_UPDATE_VERSION unless the cluster can run at the level of ``update``."""
    name, level = update.feature, update.max_version_level
    present = context.image.features.get(name, 0)
    way = _way(update)
    if way is None:
        _refuse(update, f"there is no upgrade type {update.upgrade_type}.")
    if level < 0:
        _refuse(update, "levels begin at 0.")
    for who, (lowest, highest) in _supporters(context, name):
        if not lowest <= level <= highest:
            supported = f"levels {lowest} to {highest}" if highest else "no such feature"
            _refuse(update, f"{who} supports {supported}.")
    if name != METADATA_VERSION and name not in OTHER_FEATURES:
        _refuse(update, "there is no such feature.")
    _check_controllers(context, update)
    if level < present and way is UpgradeType.UPGRADE:
        _refuse(update, f"the cluster is at {present} already, and a downgrade was not asked for.")
    if level > present and way is not UpgradeType.UPGRADE:
        _refuse(update, f"the cluster is at {present}, and this would be no downgrade.")
    if name == METADATA_VERSION and level < present and not can_go_back(present, level):
        _refuse(update, "records of the metadata may have fields that this level lacks.")


def _way(update: FeatureUpdateKey) -> UpgradeType | None:
    return UpgradeType(update.upgrade_type) if update.upgrade_type in UpgradeType.__members__.values() else None


def _supporters(context: Context, name: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The nodes that must support a level, and their ranges: this controller, all brokers and all controllers."""
    yield "this controller", SUPPORTED_FEATURES.get(name, _UNSUPPORTED)
    for _, broker in sorted(context.image.brokers.items()):
        yield f"broker {broker.id}", broker.features.get(name, _UNSUPPORTED)
    for _, controller in sorted(context.image.controllers.items()):
        found = (f for f in controller.features if f.name == name)
        feature = next(((f.min_supported_version, f.max_supported_version) for f in found), _UNSUPPORTED)
        yield f"controller {controller.controller_id}", feature


def _check_controllers(context: Context, update: FeatureUpdateKey) -> None:
    """Raise KafkaError unless the features of every voter are known. Before KIP-919 no record had them."""
    if context.level >= CONTROLLER_REGISTRATION:
        for voter in context.config.voter_ids:
            if voter not in context.image.controllers:
                _refuse(update, f"controller {voter} has not registered, so what it supports is not known.")


def _refuse(update: FeatureUpdateKey, reason: str) -> None:
    level = str(update.max_version_level)
    if update.feature == METADATA_VERSION and update.max_version_level in NAME_OF_LEVEL:
        level += f" ({NAME_OF_LEVEL[update.max_version_level]})"
    message = f"No feature was updated: {shortened(update.feature)} cannot go to {level}: {reason}"
    raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, message)
