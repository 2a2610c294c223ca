"""UpdateFeatures with ZooKeeper: no broker of that era supports a feature, so none can be finalized (KIP-584)."""

from __future__ import annotations

from kraft.messages.update_features_request import FeatureUpdateKey, UpdateFeaturesRequest
from kraft.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse
from kraft.wire.errors import ErrorCode
from kraft.zookeeper.controller.active import ActiveController
from kraft.zookeeper.controller.effects import Steps


def update_features(
    active: ActiveController, request: UpdateFeaturesRequest, version: int
) -> Steps[UpdateFeaturesResponse]:
    """Refuse each feature, as KafkaController.processFeatureUpdates does."""
    yield from ()
    results = [
        UpdatableFeatureResult(each.feature, ErrorCode.INVALID_REQUEST, _refusal(each))
        for each in request.feature_updates
    ]
    return UpdateFeaturesResponse(error_code=ErrorCode.NONE, error_message=None, results=results)


def _refusal(update: FeatureUpdateKey) -> str:
    if not update.feature:
        return "Feature name can not be empty."
    if update.max_version_level < 1:
        return "Can not delete non-existing finalized feature."
    return "Could not apply finalized feature update because the provided feature is not supported."
