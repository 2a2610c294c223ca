"""AlterUserScramCredentials (key 51): set or remove the SCRAM credentials of users (KIP-554).

Version 0.

No listener has SASL yet, so every listener refuses each user with UNSUPPORTED_VERSION, Kafka's code at a
metadata.version without SCRAM.
"""

from __future__ import annotations

from itertools import chain

from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.alter_user_scram_credentials_request import AlterUserScramCredentialsRequest
from kraft.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.steps import Steps, distinct, finished
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped
from kraft.world.slices import in_slices

ROW = Api(
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    versions={ListenerType.BROKER: (0, 0), ListenerType.ZK_BROKER: (0, 0), ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.ALTER, Resource.CLUSTER),),
    forwardable=True,
)

_SLICE_USERS = 100


async def at_broker(
    context: BrokerContext | ControllerContext, request: Request, message: AlterUserScramCredentialsRequest
) -> Reply:
    text = "SCRAM credentials are not supported yet, because no listener has SASL."
    users = await in_slices(_users(message), _SLICE_USERS)
    return _refused(users, ErrorCode.UNSUPPORTED_VERSION, text)


at_zk_broker = at_broker
at_controller = at_broker


def _users(message: AlterUserScramCredentialsRequest) -> Steps[dict[str, str]]:
    removed, set_again = (each.name for each in message.deletions), (each.name for each in message.upsertions)
    return distinct(chain(removed, set_again), str)


def _refused(users: dict[str, str], code: ErrorCode, text: str | None) -> AlterUserScramCredentialsResponse:
    results = mapped(list(users), lambda name: AlterUserScramCredentialsResult(name, code, text))
    return AlterUserScramCredentialsResponse(results=results)


def error(
    message: AlterUserScramCredentialsRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterUserScramCredentialsResponse:
    return _refused(finished(_users(message)), code, text)
