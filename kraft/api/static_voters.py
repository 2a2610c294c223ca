"""The voters are those of ``controller.quorum.voters``, and cannot be changed by a request (kraft.version 0, KIP-853).

A broker does not pass such a request on: no controller of its quorum could grant it.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext
from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.messages.update_raft_voter_request import UpdateRaftVoterRequest
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.wire.uuids import ZERO_UUID

Change = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest


def refuse_change(broker: BrokerContext, message: AddRaftVoterRequest | RemoveRaftVoterRequest) -> KafkaError:
    """Why the leader of the quorum would refuse it."""
    return of_another_cluster(message, broker.cluster_id) or why_not(
        message, broker.config.listeners.controller_names[0]
    )


def of_another_cluster(message: Change, cluster_id: str) -> KafkaError | None:
    """What is wrong with the request before anything else."""
    if message.cluster_id in (None, cluster_id):
        return None
    return KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID)


def why_not(message: Change, listener: str) -> KafkaError:
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
