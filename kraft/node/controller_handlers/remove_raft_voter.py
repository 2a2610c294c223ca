"""RemoveRaftVoter (key 81): a voter goes (KIP-853). Refused: the voters of this quorum are static.

Version 0.
"""

from __future__ import annotations

from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.static_voters import refuse_change
from kraft.node.handlers.remove_raft_voter import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: RemoveRaftVoterRequest) -> Reply:
    raise refuse_change(plane, message)
