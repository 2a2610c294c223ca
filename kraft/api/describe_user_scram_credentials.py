"""DescribeUserScramCredentials (key 50): the SCRAM mechanisms of users in the metadata, without secrets (KIP-554).

Version 0.

A listener describes what controllers of Apache Kafka have written. No listener has SASL yet. With ZooKeeper the
credentials are not read, and the response is UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from collections import Counter

from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from kraft.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.image import Image
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, shortened
from kraft.world.turns import Turns

ROW = Api(
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    versions={ListenerType.BROKER: (0, 0), ListenerType.ZK_BROKER: (0, 0), ListenerType.CONTROLLER: (0, 0)},
    permissions=((Operation.DESCRIBE, Resource.CLUSTER),),
)

_SLICE_USERS = 1_000
_MECHANISMS = (1, 2)  # SCRAM-SHA-256 and SCRAM-SHA-512


async def at_broker(
    context: BrokerContext | ControllerContext, request: Request, message: DescribeUserScramCredentialsRequest
) -> Reply:
    image, turns = context.image, Turns(_SLICE_USERS)
    wanted: Counter[str] = Counter()
    if message.users:
        for user in message.users:
            await turns.spend()
            wanted[user.name] += 1
    else:
        for name, _ in image.scram_credentials:
            await turns.spend()
            wanted[name] = 1
    results = []
    for name, times in wanted.items():
        await turns.spend()
        results.append(_duplicate(name) if times > 1 else _described(image, name))
    return DescribeUserScramCredentialsResponse(error_code=ErrorCode.NONE, error_message=None, results=results)


at_controller = at_broker


async def at_zk_broker(broker: BrokerContext, request: Request, message: DescribeUserScramCredentialsRequest) -> Reply:
    text = "This broker does not read the SCRAM credentials in ZooKeeper."
    return error(message, request.api_version, ErrorCode.UNSUPPORTED_VERSION, text)


def _described(image: Image, name: str) -> DescribeUserScramCredentialsResult:
    found = [credential for each in _MECHANISMS if (credential := image.scram_credentials.get((name, each)))]
    if not found:
        text = f"Attempt to describe a user credential that does not exist: {shortened(name)}"
        return DescribeUserScramCredentialsResult(name, ErrorCode.RESOURCE_NOT_FOUND, text)
    infos = [CredentialInfo(mechanism=each.mechanism, iterations=each.iterations) for each in found]
    return DescribeUserScramCredentialsResult(name, ErrorCode.NONE, None, infos)


def _duplicate(name: str) -> DescribeUserScramCredentialsResult:
    text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {shortened(name)}"
    return DescribeUserScramCredentialsResult(name, ErrorCode.DUPLICATE_RESOURCE, text)


def error(
    message: DescribeUserScramCredentialsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(error_code=code, error_message=text)
