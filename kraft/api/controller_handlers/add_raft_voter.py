"""AddRaftVoter (key 80): a new voter (KIP-853). Refused: the voters of this quorum are static.

Versions 0 and 1: 1 may ask to be answered before the change is committed (KIP-1186).
"""

from __future__ import annotations

from kraft.api.add_raft_voter import error as error
from kraft.api.context import ControllerContext
from kraft.api.controller_handlers.static_voters import refuse_change
from kraft.messages.add_raft_voter_request import AddRaftVoterRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: AddRaftVoterRequest) -> Reply:
    raise refuse_change(plane, message)
