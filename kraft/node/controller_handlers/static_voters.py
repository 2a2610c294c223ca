"""The voters are those of ``controller.quorum.voters``, and cannot be changed by a request (kraft.version 0)."""

from __future__ import annotations

from kraft.node.control_plane import ControlPlane
from kraft.wire.errors import ErrorCode, KafkaError


def refuse_change(plane: ControlPlane, cluster_id: str | None, epoch: int, verb: str) -> KafkaError:
    """Why a change to the voters is refused: what is wrong with the request comes first (KIP-853)."""
    quorum = plane.quorum
    if cluster_id is not None and cluster_id != plane.cluster_id:
        return KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID)
    if epoch != quorum.epoch:
        return KafkaError(ErrorCode.FENCED_LEADER_EPOCH if epoch < quorum.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH)
    if not quorum.is_leader:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{verb} a voter needs kraft.version 1, and it is 0.")
