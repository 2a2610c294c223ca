"""AlterClientQuotas (key 49): set or remove client quotas (KIP-546).

Versions 0 and 1: 1 is flexible.

Nothing enforces quotas yet, so every listener refuses each entry with UNSUPPORTED_VERSION.
"""

from __future__ import annotations

from kraft.api.context import BrokerContext, ControllerContext
from kraft.api.row import Api, ListenerType, Operation, Resource
from kraft.messages.alter_client_quotas_request import AlterClientQuotasRequest
from kraft.messages.alter_client_quotas_request import EntryData as Entry
from kraft.messages.alter_client_quotas_response import AlterClientQuotasResponse, EntityData, EntryData
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import Reply, Request
from kraft.wire.errors import ErrorCode
from kraft.wire.mapped import mapped

ROW = Api(
    ApiKey.ALTER_CLIENT_QUOTAS,
    versions={ListenerType.BROKER: (0, 1), ListenerType.ZK_BROKER: (0, 1), ListenerType.CONTROLLER: (0, 1)},
    permissions=((Operation.ALTER_CONFIGS, Resource.CLUSTER),),
    forwardable=True,
)


async def at_broker(
    context: BrokerContext | ControllerContext, request: Request, message: AlterClientQuotasRequest
) -> Reply:
    return error(message, request.api_version, ErrorCode.UNSUPPORTED_VERSION, "Client quotas are not enforced yet.")


at_zk_broker = at_broker
at_controller = at_broker


def error(
    message: AlterClientQuotasRequest, version: int, code: ErrorCode, text: str | None = None
) -> AlterClientQuotasResponse:
    def refused(entry: Entry) -> EntryData:
        entity = mapped(entry.entity, lambda part: EntityData(part.entity_type, part.entity_name))
        return EntryData(error_code=code, error_message=text, entity=entity)

    return AlterClientQuotasResponse(entries=mapped(message.entries, refused))
