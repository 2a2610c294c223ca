"""Looking messages up by key."""

from __future__ import annotations

import subprocess
import sys

import pytest
from kio.schema.index import api_key_map

from kraft.messages import registry
from kraft.messages.registry import ApiKey
from tests.support.sweep import sweep


@sweep(("key",), ((key,) for key in ApiKey))
def test_requests_and_responses_are_found(key: ApiKey) -> None:
    request, response = registry.request_class(key), registry.response_class(key)
    assert request.API_KEY == response.API_KEY == key
    assert request.VALID_VERSIONS == response.VALID_VERSIONS
    assert request.FLEXIBLE_FROM == response.FLEXIBLE_FROM
    assert request.__name__.removesuffix("Request") == response.__name__.removesuffix("Response")


def test_keys_have_kafkas_names() -> None:
    """Checked against kio's map; the keys that it lacks are those of ZooKeeper's control plane."""
    theirs = {name.upper(): key for key, name in api_key_map.items()}
    unknown = {"LEADER_AND_ISR", "STOP_REPLICA", "UPDATE_METADATA", "CONTROLLED_SHUTDOWN"}
    for key in ApiKey:
        assert key.name in unknown or theirs[key.name] == key


def test_metadata_records_are_found_by_their_type() -> None:
    assert registry.record_class(2).__name__ == "TopicRecord"
    assert registry.record_class(27).API_KEY == 27


def test_an_unknown_name_is_a_key_error() -> None:
    for lookup in (registry.request_class, registry.response_class, registry.record_class):
        with pytest.raises(KeyError):
            lookup(9999)
    with pytest.raises(KeyError):
        registry.data_class("Nothing")
    assert registry.listeners(9999) == ()


def test_flexible_versions_have_headers_with_tags() -> None:
    """KIP-482: request header 2 and response header 1 from the first flexible version on."""
    assert registry.request_header_version(ApiKey.METADATA, 8) == 1
    assert registry.request_header_version(ApiKey.METADATA, 9) == 2
    assert registry.response_header_version(ApiKey.METADATA, 8) == 0
    assert registry.response_header_version(ApiKey.METADATA, 9) == 1


def test_the_response_header_of_api_versions_never_has_tags() -> None:
    """KIP-511: the client cannot know yet which version the broker answers with."""
    assert registry.request_header_version(ApiKey.API_VERSIONS, 3) == 2
    assert registry.response_header_version(ApiKey.API_VERSIONS, 3) == 0


def test_controlled_shutdown_0_has_no_client_id() -> None:
    assert registry.request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 0) == 0
    assert registry.request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 1) == 1


def test_unknown_apis_have_the_oldest_common_headers() -> None:
    assert registry.request_header_version(9999, 3) == 1
    assert registry.response_header_version(9999, 3) == 0


def test_listeners_are_those_of_the_spec() -> None:
    assert "controller" in registry.listeners(ApiKey.VOTE)
    assert "broker" not in registry.listeners(ApiKey.VOTE)
    assert "broker" in registry.listeners(ApiKey.PRODUCE)


def test_the_registry_imports_no_message() -> None:
    program = (
        "import sys, kraft.messages.registry\n"
        "print([name for name in sys.modules if name.endswith(('_request', '_response', '_record'))])"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
