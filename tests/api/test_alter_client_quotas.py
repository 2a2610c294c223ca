"""AlterClientQuotas: refused while nothing enforces quotas."""

from __future__ import annotations

from kraft.messages.alter_client_quotas_request import AlterClientQuotasRequest, EntityData, EntryData, OpData
from kraft.rpc.client import Connection
from kraft.wire.errors import ErrorCode
from tests.api.serving import Serving


async def test_every_entity_is_refused_with_a_reason(broker: Connection, active: Serving) -> None:
    """KIP-546: the response has an error for each entity. A quota that nothing enforces would mislead."""
    entity = [EntityData(entity_type="user", entity_name="ann"), EntityData(entity_type="client-id", entity_name=None)]
    entry = EntryData(entity=entity, ops=[OpData(key="producer_byte_rate", value=1.0)])
    for version in (0, 1):
        request = AlterClientQuotasRequest(entries=[entry] * 2)
        for response in (await broker.request(request, version), await active.ask(request, version)):
            for refused in response.entries:
                assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
                assert refused.error_message == "Client quotas are not enforced yet."
                parts = [(part.entity_type, part.entity_name) for part in refused.entity]
                assert parts == [("user", "ann"), ("client-id", None)]
            assert len(response.entries) == 2
