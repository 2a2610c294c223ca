"""DescribeUserScramCredentials (key 50): the SCRAM mechanisms of users in the metadata, without secrets (KIP-554).

Version 0.

A listener describes what controllers of Apache Kafka have written, and with ZooKeeper what is below /config/users. No
listener has SASL yet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kraft.api.context import BrokerContext, ControllerContext, ZkBrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.zookeeper_configs import limited
from kraft.messages.describe_user_scram_credentials_request import DescribeUserScramCredentialsRequest
from kraft.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.image import Image
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, shortened
from kraft.world.slices import Slices
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.users import USER_ENTITIES, entity_name, named, scram_iterations

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
    image, slices = context.image, Slices(_SLICE_USERS)
    wanted: Counter[str] = Counter()
    if message.users:
        for user in message.users:
            await slices.spend()
            wanted[user.name] += 1
    else:
        for name, _ in image.scram_credentials:
            await slices.spend()
            wanted[name] = 1
    results = []
    for name, times in wanted.items():
        await slices.spend()
        results.append(_duplicate(name) if times > 1 else _described(name, _iterations(image, name)))
    return DescribeUserScramCredentialsResponse(error_code=ErrorCode.NONE, error_message=None, results=results)


at_controller = at_broker


async def at_zk_broker(
    broker: ZkBrokerContext, request: Request, message: DescribeUserScramCredentialsRequest
) -> Reply:
    """Any broker reads the credentials in ZooKeeper (ZkAdminManager.describeUserScramCredentials)."""

    async def answer() -> DescribeUserScramCredentialsResponse:
        slices, times = Slices(_SLICE_USERS), Counter[str]()
        for user in message.users or ():
            await slices.spend()
            times[user.name] += 1
        results, wanted = [], []
        for name, count in times.items():
            await slices.spend()
            if count > 1:
                results.append(_duplicate(name))
            elif name:
                wanted.append(entity_name(name))
            else:
                results.append(_described(name, {}))  # no znode has this name
        with limited():
            if not times:
                (names,) = await broker.configs.names((USER_ENTITIES,))
                wanted.extend(names)
            found = await broker.configs.read((USER_ENTITIES, each) for each in wanted)
        for entity, settings in found.items():
            await slices.spend()
            result = _stored(entity, settings)
            if times or result.error_code != ErrorCode.RESOURCE_NOT_FOUND:
                results.append(result)
        return DescribeUserScramCredentialsResponse(error_code=ErrorCode.NONE, error_message=None, results=results)

    return Parked(answer)


def _stored(entity: tuple[str, str], settings: Mapping[str, str]) -> DescribeUserScramCredentialsResult:
    name = named(entity[1])
    try:
        return _described(name, scram_iterations(entity, settings))
    except MalformedZnode as error:
        return DescribeUserScramCredentialsResult(name, ErrorCode.UNKNOWN_SERVER_ERROR, str(error))


def _iterations(image: Image, name: str) -> dict[int, int]:
    found = (image.scram_credentials.get((name, each)) for each in _MECHANISMS)
    return {each.mechanism: each.iterations for each in found if each}


def _described(name: str, iterations: Mapping[int, int]) -> DescribeUserScramCredentialsResult:
    """``iterations`` are those of each mechanism that the user has a credential for."""
    if not iterations:
        text = f"Attempt to describe a user credential that does not exist: {shortened(name)}"
        return DescribeUserScramCredentialsResult(name, ErrorCode.RESOURCE_NOT_FOUND, text)
    infos = [CredentialInfo(mechanism=mechanism, iterations=count) for mechanism, count in iterations.items()]
    return DescribeUserScramCredentialsResult(name, ErrorCode.NONE, None, infos)


def _duplicate(name: str) -> DescribeUserScramCredentialsResult:
    text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {shortened(name)}"
    return DescribeUserScramCredentialsResult(name, ErrorCode.DUPLICATE_RESOURCE, text)


def error(
    message: DescribeUserScramCredentialsRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeUserScramCredentialsResponse:
    return DescribeUserScramCredentialsResponse(error_code=code, error_message=text)
