"""Settings, as a client reads and changes them."""

from __future__ import annotations

from kraft.messages.describe_configs_request import DescribeConfigsRequest, DescribeConfigsResource
from kraft.messages.describe_configs_response import DescribeConfigsResult
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


SET, DELETE, APPEND, SUBTRACT = range(4)


DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = 1, 2, 3, 4, 5


async def describe(
    broker: Connection, kind: int, name: str, *keys: str, version: int = 4, synonyms: bool = False, docs: bool = False
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(kind, name, list(keys) or None)
    request = DescribeConfigsRequest([resource], include_synonyms=synonyms, include_documentation=docs)
    result: DescribeConfigsResult = (await broker.request(request, version)).results[0]
    return result


async def alter(
    broker: Connection, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False
) -> ErrorCode:
    configs = [AlterableConfig(key, operation, value) for key, operation, value in changes]
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(kind, name, configs)], validate_only)
    answer = (await broker.request(request)).responses[0]
    assert bool(answer.error_code) == bool(answer.error_message)
    return ErrorCode(answer.error_code)
