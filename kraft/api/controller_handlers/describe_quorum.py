"""DescribeQuorum (key 55): who leads the metadata quorum, and how far each replica is (KIP-595).

Versions 0 to 2: 1 has timestamps (KIP-836), 2 directory ids and the voters' endpoints (KIP-853).

Only the leader knows; anybody else says NOT_LEADER_OR_FOLLOWER. Static voters are known by their ids alone and have no
directory id here, as with Apache Kafka; an observer has that of its last Fetch.
"""

from __future__ import annotations

from kraft.api.context import ControllerContext
from kraft.api.describe_quorum import error as error
from kraft.messages.describe_quorum_request import DescribeQuorumRequest
from kraft.rpc.channel import Reply, Request


async def handle(plane: ControllerContext, request: Request, message: DescribeQuorumRequest) -> Reply:
    return plane.controller.describe_quorum(message, request.api_version)
