"""The refusal of all changes to the voters: they are static, those of ``controller.quorum.voters`` (kraft.version 0,
KIP-853).
"""

from __future__ import annotations

from typing import NoReturn

from kraft.api.context import BrokerContext, ControllerContext
from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.messages.update_raft_voter_request import UpdateRaftVoterRequest
from kraft.rpc.channel import Request
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID

Change = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest


async def refuse_at_broker(
    broker: BrokerContext, request: Request, message: AddRaftVoterRequest | RemoveRaftVoterRequest
) -> NoReturn:
    """Refuse as the quorum's leader would. A broker does not forward the request: no controller could accept it."""
    raise _wrong_cluster(message, broker.cluster_id) or _refusal(message, broker.config.listeners.controller_names[0])


async def refuse_at_controller(controller: ControllerContext, request: Request, message: Change) -> NoReturn:
    raise refusal_of_controller(controller, message)


def refusal_of_controller(controller: ControllerContext, message: Change) -> KafkaError:
    """Return the error for a change to the voters. Errors of the request itself come first (KIP-853)."""
    quorum = controller.quorum
    refused = _wrong_cluster(message, controller.cluster_id)
    if refused is not None:
        return refused
    epoch = message.current_leader_epoch if isinstance(message, UpdateRaftVoterRequest) else quorum.epoch
    if epoch != quorum.epoch:
        return KafkaError(ErrorCode.FENCED_LEADER_EPOCH if epoch < quorum.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH)
    if not quorum.is_leader:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return _refusal(message, quorum.identity.listener)


def _wrong_cluster(message: Change, cluster_id: str) -> KafkaError | None:
    """Return an error if the request names another cluster. This check comes before all others."""
    if message.cluster_id in (None, cluster_id):
        return None
    return KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID)


def _refusal(message: Change, listener: str) -> KafkaError:
    """Return INVALID_REQUEST for a malformed request, or UNSUPPORTED_VERSION. ``listener`` is the controllers'
    listener.
    """
    missing = _missing(message, listener)
    if missing is not None:
        return KafkaError(ErrorCode.INVALID_REQUEST, missing)
    return KafkaError(ErrorCode.UNSUPPORTED_VERSION, "A change of the voters needs kraft.version 1, and it is 0.")


def _missing(message: Change, listener: str) -> str | None:
    """Return what a valid request to change this voter would have and this one lacks; None if it lacks nothing."""
    if message.voter_id < 0 or message.voter_directory_id == ZERO_UUID:
        return "A voter needs an id and a directory id."
    if isinstance(message, RemoveRaftVoterRequest):
        return None
    if all(endpoint.name != listener for endpoint in message.listeners):
        return f"The voter has no endpoint for listener {listener}."
    if isinstance(message, UpdateRaftVoterRequest):
        known = message.kraft_version_feature
        if not 0 <= known.min_supported_version <= known.max_supported_version:
            return "The range of versions that the voter supports is empty."
    return None
