"""AddRaftVoter (key 80): a new voter (KIP-853). Refused: the voters of this quorum are static.

Versions 0 and 1: 1 may ask to be answered before the change is committed (KIP-1186).
"""

from __future__ import annotations

from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.node.control_plane import ControlPlane
from kraft.node.controller_handlers.static_voters import refuse_change
from kraft.node.handlers.add_raft_voter import error as error
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControlPlane, request: Request, message: AddRaftVoterRequest) -> Reply:
    raise refuse_change(plane, message)
