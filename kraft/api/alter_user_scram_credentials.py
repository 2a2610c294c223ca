"""AlterUserScramCredentials (key 51): set or remove the SCRAM credentials of users (KIP-554).

Version 0.

No listener has SASL yet, so every listener refuses each user with UNSUPPORTED_VERSION, Kafka's code at a
metadata.version without SCRAM.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from kraft.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    versions={ListenerType.BROKER: (0, 0), ListenerType.ZK_BROKER: (0, 0), ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)


async def at_broker(
    context: BrokerContext | ControllerContext, request: Request, message: AlterUserScramCredentialsRequest
) -> Reply:
    text = "SCRAM credentials are not supported yet, because no listener has SASL."
    return error(message, request.api_version, ErrorCode.UNSUPPORTED_VERSION, text)


at_zk_broker = at_broker
at_controller = at_broker


def error(
    message: AlterUserScramCredentialsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterUserScramCredentialsResponse:
    users = dict.fromkeys([*(each.name for each in message.deletions), *(each.name for each in message.upsertions)])
    refused = mapped(list(users), lambda name: AlterUserScramCredentialsResult(name, code, text))
    return AlterUserScramCredentialsResponse(results=refused)
