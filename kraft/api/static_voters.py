"""The voters are those of ``controller.quorum.voters``; no request can change them (kraft.version 0, KIP-853)."""

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
    """As the leader of the quorum would. A broker does not forward it: no controller of its quorum could grant it."""
    raise _of_another_cluster(message, broker.cluster_id) or _why_not(
        message, broker.config.listeners.controller_names[0]
    )


async def refuse_at_controller(controller: ControllerContext, request: Request, message: Change) -> NoReturn:
    raise refusal_of_controller(controller, message)


def refusal_of_controller(controller: ControllerContext, message: Change) -> KafkaError:
    """Why a change to the voters is refused: what is wrong with the request comes first (KIP-853)."""
    quorum = controller.quorum
    stranger = _of_another_cluster(message, controller.cluster_id)
    if stranger is not None:
        return stranger
    epoch = message.current_leader_epoch if isinstance(message, UpdateRaftVoterRequest) else quorum.epoch
    if epoch != quorum.epoch:
        return KafkaError(ErrorCode.FENCED_LEADER_EPOCH if epoch < quorum.epoch else ErrorCode.UNKNOWN_LEADER_EPOCH)
    if not quorum.is_leader:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    return _why_not(message, quorum.identity.listener)


def _of_another_cluster(message: Change, cluster_id: str) -> KafkaError | None:
    """What is wrong with the request before anything else."""
    if message.cluster_id in (None, cluster_id):
        return None
    return KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID)


def _why_not(message: Change, listener: str) -> KafkaError:
    """Why the voters stay; ``listener`` is the one that they are reached by. What the request lacks comes first."""
    doubt = _doubt(message, listener)
    if doubt is not None:
        return KafkaError(ErrorCode.INVALID_REQUEST, doubt)
    return KafkaError(ErrorCode.UNSUPPORTED_VERSION, "To change a voter needs kraft.version 1, and it is 0.")


def _doubt(message: Change, listener: str) -> str | None:
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
