"""The tables of APIs: every row has its handler, within its spec, and the docs say the same."""

from __future__ import annotations

import inspect

import pytest

from kraft.api.apis import BROKER_APIS, BROKER_HANDLERS, CONTROLLER_APIS, CONTROLLER_HANDLERS, Api
from kraft.messages.registry import ApiKey, listeners, request_class, response_class
from tests.support.apis_page import PAGE, render

PACKAGES = {"broker": BROKER_HANDLERS, "controller": CONTROLLER_HANDLERS}
ROWS = [
    (side, key, api)
    for side, apis in (("broker", BROKER_APIS), ("controller", CONTROLLER_APIS))
    for key, api in apis.items()
]


@pytest.mark.parametrize(("side", "key", "api"), ROWS, ids=lambda value: getattr(value, "name", None))
def test_each_row_has_a_handler_and_keeps_to_its_spec(side: str, key: ApiKey, api: Api) -> None:
    module = api.load(PACKAGES[side])
    assert inspect.iscoroutinefunction(module.handle)
    assert callable(module.error)
    assert f"(key {int(key)})" in (module.__doc__ or ""), "the card names the key"
    oldest, newest = request_class(key).VALID_VERSIONS
    assert oldest <= api.oldest <= api.newest <= newest
    assert side in listeners(key), "which plane serves an API is what its spec's listeners say"


@pytest.mark.parametrize(("side", "key", "api"), ROWS, ids=lambda value: getattr(value, "name", None))
def test_each_handler_can_say_that_a_whole_request_failed(side: str, key: ApiKey, api: Api) -> None:
    from kraft.wire.codec import encode
    from kraft.wire.errors import ErrorCode

    message = request_class(key)()
    if key is ApiKey.PRODUCE:
        message.acks = -1  # with acks=0 there is no response
    for version in range(api.oldest, api.newest + 1):
        response = api.load(PACKAGES[side]).error(message, version, ErrorCode.UNKNOWN_SERVER_ERROR, "it broke")
        assert isinstance(response, response_class(key))
        encode(response, version)


def test_the_page_of_apis_is_what_the_tables_say() -> None:
    assert PAGE.read_text() == render(), "run: python -m tests.support.apis_page"
