"""The voters are those of ``controller.quorum.voters``, and cannot be changed by a request (kraft.version 0)."""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.static_voters import Change, of_another_cluster, why_not
from kraft.messages.update_raft_voter_request import UpdateRaftVoterRequest
from kraft.wire.errors import ErrorCode, KafkaError


def refuse_change(plane: ControllerContext, message: Change) -> KafkaError:
    """Why a change to the voters is refused: what is wrong with the request comes first (KIP-853)."""
    quorum = plane.quorum
    stranger = of_another_cluster(message, plane.cluster_id)
    if stranger is not None:
        return stranger
    epoch = message.current_leader_epoch if isinstance(message, UpdateRaftVoterRequest) else quorum.epoch
    if epoch != quorum.epoch:
        return KafkaError(ErrorCode.FENCED_LEADER_EPOCH if epoch < quorum.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH)
    if not quorum.is_leader:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return why_not(message, quorum.identity.listener)
