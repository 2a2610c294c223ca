"""ShareAcknowledge (key 79): the outcomes of records that a member of a share group has acquired (KIP-932).

Versions 1 to 2.

| version | change |
|---|---|
| 2 | locks can be renewed; the response has their duration (KIP-1222) |

Version 0 was that of a preview. The request belongs to a share session, and its last epoch closes the session, which
frees all records that the member still holds. The response waits until the share coordinator has written the outcomes.
"""

from __future__ import annotations

from functools import partial
from uuid import UUID

from kraft.api.alive_brokers import node_endpoints
from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.share_requests import Acknowledgements, lock_timeout_ms, member_of, note_leader
from kraft.broker.share.session import FINAL_EPOCH, SessionKey
from kraft.messages.registry import ApiKey
from kraft.messages.share_acknowledge_request import ShareAcknowledgeRequest
from kraft.messages.share_acknowledge_response import (
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode

ROW = Api(
    ApiKey.SHARE_ACKNOWLEDGE,
    versions={ListenerType.BROKER: (1, 2)},
    permissions=((Operation.READ, Resource.GROUP), (Operation.READ, Resource.TOPIC)),
)


async def at_broker(broker: BrokerContext, request: Request, message: ShareAcknowledgeRequest) -> Reply:
    member = member_of(broker, request, message)
    broker.coordinators.shares.sessions.acknowledge(member, message.share_session_epoch)
    acknowledgements = Acknowledgements()
    await acknowledgements.begin(broker, member, request.api_version, message, message.topics)
    return Parked(partial(_wait, broker, request, message, member, acknowledgements))


async def _wait(
    broker: BrokerContext,
    request: Request,
    message: ShareAcknowledgeRequest,
    member: SessionKey,
    acknowledgements: Acknowledgements,
) -> ShareAcknowledgeResponse:
    results = await acknowledgements.wait()
    if message.share_session_epoch == FINAL_EPOCH:
        broker.coordinators.shares.release(member)
    response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=lock_timeout_ms(broker, member[0]))
    topics: dict[UUID, ShareAcknowledgeTopicResponse] = {}
    leaders: dict[int, None] = {}
    for (topic_id, index), refused in results.items():
        data = PartitionData(index)
        if refused is not None:
            data.error_code, data.error_message = refused.code, refused.message
            note_leader(broker, data, (topic_id, index), leaders)
        topics.setdefault(topic_id, ShareAcknowledgeTopicResponse(topic_id)).partitions.append(data)
    response.responses = list(topics.values())
    response.node_endpoints = node_endpoints(broker.image, request.connection.listener, leaders, NodeEndpoint)
    return response


def error(
    message: ShareAcknowledgeRequest, version: int, code: ErrorCode, text: str | None = None
) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=code, error_message=text or code.message)
