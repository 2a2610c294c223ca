"""RemoveRaftVoter (key 81): a voter goes (KIP-853). Refused: the voters of this quorum are static.

Version 0.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.controller_handlers.static_voters import refuse_change
from kraft.api.remove_raft_voter import error as error
from kraft.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: RemoveRaftVoterRequest) -> Reply:
    raise refuse_change(plane, message)
