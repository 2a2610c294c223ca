"""DescribeClientQuotas (key 48): the client quotas in the metadata (KIP-546).

Versions 0 and 1: 1 is flexible.

A broker describes what controllers of Apache Kafka have written. Nothing is enforced here yet. With ZooKeeper the
quotas are not read, and the response is UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import attrs

from kraft.api.context import BrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from kraft.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.image import QuotaEntity
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError, shortened
from kraft.world.turns import Turns

ROW = Api(
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    versions={ListenerType.BROKER: (0, 1), ListenerType.ZK_BROKER: (0, 1)},
    permissions=((Operation.DESCRIBE_CONFIGS, Resource.CLUSTER),),
)

_IP, _KINDS = "ip", ("ip", "user", "client-id")
_SLICE_ENTITIES = 1_000


class Match(IntEnum):
    """How a component of the filter matches the part of an entity of its type."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


async def at_broker(broker: BrokerContext, request: Request, message: DescribeClientQuotasRequest) -> Reply:
    wanted = _Filter.of(message.components, message.strict)
    turns, entries = Turns(_SLICE_ENTITIES), []
    for entity, values in broker.image.client_quotas.items():
        await turns.spend()
        if wanted.matches(entity):
            entries.append(_entry(entity, values))
    return DescribeClientQuotasResponse(error_code=ErrorCode.NONE, error_message=None, entries=entries)


async def at_zk_broker(broker: BrokerContext, request: Request, message: DescribeClientQuotasRequest) -> Reply:
    text = "This broker does not read the client quotas in ZooKeeper."
    return error(message, request.api_version, ErrorCode.UNSUPPORTED_VERSION, text)


@attrs.frozen
class _Filter:
    """The components by type: an exact name, None for the default entity, or ``Match.ANY``."""

    parts: Mapping[str, str | Match | None]
    is_strict: bool

    @classmethod
    def of(cls, components: Sequence[ComponentData], is_strict: bool) -> _Filter:
        """Check the components as Kafka's ``ClientQuotasImage.describe`` does.

        Raises:
            KafkaError: INVALID_REQUEST, or UNSUPPORTED_VERSION for a type of entity that Kafka does not have.
        """
        parts: dict[str, str | Match | None] = {}
        for component in components:
            kind = component.entity_type
            if not kind:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty entity type.")
            if kind in parts:
                text = f"Entity type {shortened(kind)} cannot appear more than once in the filter."
                raise KafkaError(ErrorCode.INVALID_REQUEST, text)
            if kind not in _KINDS:
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {shortened(kind)}")
            parts[kind] = _part(component)
        if _IP in parts and len(parts) > 1:
            text = "An ip cannot be combined with a user or a client-id in a filter."
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        return cls(parts, is_strict)

    def matches(self, entity: QuotaEntity) -> bool:
        found = dict(entity)
        if self.is_strict and len(found) != len(self.parts):
            return False
        return all(kind in found and (part is Match.ANY or found[kind] == part) for kind, part in self.parts.items())


def _part(component: ComponentData) -> str | Match | None:
    if component.match_type not in Match.__members__.values():
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown match type {component.match_type}")
    if (component.match_type == Match.EXACT) is (component.match is None):
        text = "A component has a name to match if and only if its match type is exact."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
    return Match.ANY if component.match_type == Match.ANY else component.match


def _entry(entity: QuotaEntity, values: Mapping[str, float]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        values=[ValueData(key=key, value=value) for key, value in sorted(values.items())],
    )


def error(
    message: DescribeClientQuotasRequest, version: int, code: ErrorCode, text: str | None = None
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(error_code=code, error_message=text, entries=None)
