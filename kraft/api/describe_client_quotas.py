"""DescribeClientQuotas (key 48): the client quotas in the metadata (KIP-546).

Versions 0 and 1: 1 is flexible.

A broker describes what controllers of Apache Kafka have written, and with ZooKeeper what is below /config/users,
/config/clients and /config/ips. Nothing is enforced here yet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum

import attrs

from kraft.api.context import BrokerContext, EntityConfigs, ZkBrokerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.api.zookeeper_configs import limited
from kraft.messages.describe_client_quotas_request import ComponentData, DescribeClientQuotasRequest
from kraft.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from kraft.messages.registry import ApiKey
from kraft.metadata.image import QuotaEntity
from kraft.rpc.channel import Parked, Reply, Request
from kraft.wire.errors import ErrorCode, KafkaError, shortened
from kraft.world.slices import Slices
from kraft.zookeeper.znodes.fields import MalformedZnode
from kraft.zookeeper.znodes.users import (
    CLIENT_ENTITIES,
    IP_ENTITIES,
    USER_ENTITIES,
    quota_entity,
    quotas,
    under_user,
)

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
    return await _described(_Filter.of(message.components, message.strict), broker.image.client_quotas)


async def at_zk_broker(broker: ZkBrokerContext, request: Request, message: DescribeClientQuotasRequest) -> Reply:
    """Any broker reads the quotas in ZooKeeper (ZkAdminManager.describeClientQuotas)."""
    wanted = _Filter.of(message.components, message.strict)

    async def answer() -> DescribeClientQuotasResponse:
        with limited():
            found = await _stored(broker.configs)
        return await _described(wanted, found)

    return Parked(answer)


async def _described(
    wanted: _Filter, quotas: Mapping[QuotaEntity, Mapping[str, float]]
) -> DescribeClientQuotasResponse:
    slices, entries = Slices(_SLICE_ENTITIES), []
    for entity, values in quotas.items():
        await slices.spend()
        if wanted.matches(entity):
            entries.append(_entry(entity, values))
    return DescribeClientQuotasResponse(error_code=ErrorCode.NONE, error_message=None, entries=entries)


async def _stored(configs: EntityConfigs) -> dict[QuotaEntity, dict[str, float]]:
    """Read the quotas of all entities in ZooKeeper. Raises KafkaError UNKNOWN_SERVER_ERROR for a malformed one."""
    users, clients, addresses = await configs.names((USER_ENTITIES, CLIENT_ENTITIES, IP_ENTITIES))
    of_users = await configs.names(f"{USER_ENTITIES}/{under_user(user)}" for user in users)
    entities = [
        *((USER_ENTITIES, user) for user in users),
        *((CLIENT_ENTITIES, client) for client in clients),
        *((IP_ENTITIES, address) for address in addresses),
        *(
            (USER_ENTITIES, f"{under_user(user)}/{client}")
            for user, own in zip(users, of_users, strict=True)
            for client in own
        ),
    ]
    slices, found = Slices(_SLICE_ENTITIES), {}
    for entity, settings in (await configs.read(entities)).items():
        await slices.spend()
        try:
            values = quotas(entity, settings)
        except MalformedZnode as error:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error
        if values:
            found[quota_entity(entity)] = values
    return found


@attrs.frozen
class _Filter:
    """The components by type: an exact name, None for the default entity, or ``Match.ANY``."""

    parts: Mapping[str, str | Match | None]
    is_strict: bool

    @classmethod
    def of(cls, components: Sequence[ComponentData], is_strict: bool) -> _Filter:
        """Check the components as Kafka's ``ClientQuotasImage.describe`` does.

        Raises KafkaError INVALID_REQUEST, or UNSUPPORTED_VERSION for a type of entity that Kafka does not have.
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
