"""Requests about access control entries with a type that is UNKNOWN."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.messages.create_acls_request import AclCreation, CreateAclsRequest
from kraft.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from kraft.messages.describe_acls_request import DescribeAclsRequest
from kraft.rpc.client import Connection, Disconnected
from kraft.wire.schema import Message

TOPIC, LITERAL, READ, ALLOW = 2, 3, 3, 3
FILTER: tuple[Any, ...] = (TOPIC, "orders", LITERAL, "User:ann", "*", READ, ALLOW)
TYPES = (0, 2, 5, 6)
"""The places of the types in ``FILTER``."""


@pytest.mark.parametrize("place", TYPES)
@pytest.mark.parametrize("api", ["create", "delete", "describe"])
async def test_an_unknown_type_closes_the_connection(broker: Connection, api: str, place: int) -> None:
    """As at Apache's, whose requests cannot be made from UNKNOWN (0)."""
    entry: list[Any] = [*FILTER[:place], 0, *FILTER[place + 1 :]]
    requests: dict[str, Message] = {
        "create": CreateAclsRequest([AclCreation(*FILTER), AclCreation(*entry)]),
        "delete": DeleteAclsRequest([DeleteAclsFilter(*FILTER), DeleteAclsFilter(*entry)]),
        "describe": DescribeAclsRequest(*entry),
    }
    with pytest.raises(Disconnected):
        await broker.request(requests[api], 3)
