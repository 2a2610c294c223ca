"""The dispatcher: from a listener's kind and a key to a handler, and from a failure to the API's own error answer."""

from __future__ import annotations

from typing import Any

import pytest

from kraft.api import list_groups
from kraft.api.dispatcher import Dispatcher
from kraft.api.row import ListenerType
from kraft.messages.list_groups_request import ListGroupsRequest
from kraft.messages.list_groups_response import ListGroupsResponse
from kraft.messages.registry import ApiKey
from kraft.rpc.channel import ConnectionInfo, Reply, Request
from kraft.wire.codec import encode
from kraft.wire.errors import ErrorCode, KafkaError

PEER = ConnectionInfo("PLAINTEXT", "PLAINTEXT", "192.0.2.7", 5123, "192.0.2.7:5123")
REQUEST = Request(ApiKey.LIST_GROUPS, 3, 9, "client", encode(ListGroupsRequest(), 3), 0, PEER, response_version=3)


async def test_a_listener_of_each_kind_has_handlers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """KIP-291: the brokers of the ZooKeeper era have a third kind of listener, the control plane's."""
    for listener in ListenerType:

        async def answer(context: ListenerType, request: Request, message: Any) -> Reply:
            return ListGroupsResponse(error_code=list(ListenerType).index(context))

        monkeypatch.setattr(list_groups, listener.handler, answer, raising=False)
    for number, listener in enumerate(ListenerType):
        assert await Dispatcher(listener, listener).handle(REQUEST) == ListGroupsResponse(error_code=number)
    assert [each.handler for each in ListenerType] == ["at_broker", "at_controller", "at_zk_broker"]


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (KafkaError(ErrorCode.NOT_COORDINATOR), ErrorCode.NOT_COORDINATOR),
        (ValueError("a defect"), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_a_failure_is_answered_in_the_form_of_the_api(
    monkeypatch: pytest.MonkeyPatch, failure: Exception, code: ErrorCode
) -> None:
    async def fail(*_: Any) -> Reply:
        raise failure

    monkeypatch.setattr(list_groups, "at_broker", fail)
    dispatcher = Dispatcher(ListenerType.BROKER, None)
    if isinstance(failure, KafkaError):
        assert await dispatcher.handle(REQUEST) == ListGroupsResponse(error_code=code)
    else:
        with pytest.raises(ValueError, match="a defect"):
            await dispatcher.handle(REQUEST)
    assert dispatcher.error_response(REQUEST, failure) == ListGroupsResponse(error_code=code)
