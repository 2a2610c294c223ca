"""The voters are those of ``controller.quorum.voters``, and cannot be changed by a request (kraft.version 0)."""

from __future__ import annotations

from typing import Any

from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.messages.update_raft_voter_request import UpdateRaftVoterRequest
from kraft.node.control_plane import ControlPlane
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID


def refuse_change(
    plane: ControlPlane, message: AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest
) -> KafkaError:
    """Why a change to the voters is refused: what is wrong with the request comes first (KIP-853)."""
    quorum = plane.quorum
    if message.cluster_id is not None and message.cluster_id != plane.cluster_id:
        return KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID)
    epoch = message.current_leader_epoch if isinstance(message, UpdateRaftVoterRequest) else quorum.epoch
    if epoch != quorum.epoch:
        return KafkaError(ErrorCode.FENCED_LEADER_EPOCH if epoch < quorum.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH)
    if not quorum.is_leader:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    doubt = _doubt(message, quorum.identity.listener)
    if doubt is not None:
        return KafkaError(ErrorCode.INVALID_REQUEST, doubt)
    return KafkaError(ErrorCode.UNSUPPORTED_VERSION, "To change a voter needs kraft.version 1, and it is 0.")


def _doubt(message: Any, listener: str) -> str | None:
    """What a voter that may be changed would have to say of itself, and does not."""
    if message.voter_id < 0 or message.voter_directory_id == ZERO_UUID:
        return "A voter is told by its id and its directory."
    if isinstance(message, RemoveRaftVoterRequest):
        return None
    if all(endpoint.name != listener for endpoint in message.listeners):
        return f"The voter does not say where its listener {listener} is."
    if isinstance(message, UpdateRaftVoterRequest):
        known = message.kraft_version_feature
        if not 0 <= known.min_supported_version <= known.max_supported_version:
            return "The versions that the voter knows are none."
    return None
