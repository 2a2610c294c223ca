"""IncrementalAlterConfigs and AlterConfigs: their changes and their refusals."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kraft.messages.alter_configs_request import AlterableConfig as LegacyConfig
from kraft.messages.alter_configs_request import AlterConfigsRequest
from kraft.messages.alter_configs_request import AlterConfigsResource as LegacyResource
from kraft.messages.broker_registration_request import Feature as BrokerFeature
from kraft.messages.config_record import ConfigRecord
from kraft.messages.controller_registration_request import ControllerRegistrationRequest, Feature, Listener
from kraft.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kraft.wire.errors import ErrorCode
from tests.controller.toy import ToyCluster

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
Change = tuple[str, int, str | None]


def cluster() -> ToyCluster:
    toy = ToyCluster()
    toy.start(1)
    toy.create(configs={"retention.ms": "1000", "cleanup.policy": "delete"})
    return toy


def alter(toy: ToyCluster, *changes: Change, kind: int = TOPIC, name: str = "t", validate_only: bool = False) -> Any:
    configs = [AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    return toy.ask(request).responses[0]


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ([("retention.ms", SET, "5")], {"retention.ms": "5", "cleanup.policy": "delete"}),
        ([("retention.ms", DELETE, None)], {"cleanup.policy": "delete"}),
        ([("retention.ms", DELETE, "5")], {"cleanup.policy": "delete"}),
        ([("segment.ms", DELETE, None)], {"retention.ms": "1000", "cleanup.policy": "delete"}),
        ([("no.such.key", DELETE, None)], {"retention.ms": "1000", "cleanup.policy": "delete"}),
        ([("cleanup.policy", APPEND, "compact")], {"retention.ms": "1000", "cleanup.policy": "delete,compact"}),
        ([("cleanup.policy", APPEND, "delete")], {"retention.ms": "1000", "cleanup.policy": "delete"}),
        (
            [("cleanup.policy", SET, "compact"), ("segment.ms", SET, "7")],
            {"retention.ms": "1000", "cleanup.policy": "compact", "segment.ms": "7"},
        ),
        (
            [("leader.replication.throttled.replicas", APPEND, "0:1,1:2")],
            {"retention.ms": "1000", "cleanup.policy": "delete", "leader.replication.throttled.replicas": "0:1,1:2"},
        ),
    ],
)
def test_single_changes(changes: list[Change], after: dict[str, str]) -> None:
    """KIP-339: SET, DELETE, and APPEND or SUBTRACT of list elements."""
    toy = cluster()
    assert alter(toy, *changes).error_code == ErrorCode.NONE
    assert toy.image.config(TOPIC, "t") == after


def test_subtract() -> None:
    toy = cluster()
    alter(toy, ("cleanup.policy", SET, "compact,delete"))
    alter(toy, ("cleanup.policy", SUBTRACT, "compact"))
    assert toy.image.config(TOPIC, "t")["cleanup.policy"] == "delete"


@pytest.mark.parametrize(
    ("changes", "kind", "name", "code"),
    [
        ([("retention.ms", SET, "soon")], TOPIC, "t", ErrorCode.INVALID_CONFIG),
        ([("no.such.key", SET, "1")], TOPIC, "t", ErrorCode.INVALID_CONFIG),
        ([("cleanup.policy", SUBTRACT, "delete")], TOPIC, "t", ErrorCode.NONE),
        ([("retention.ms", APPEND, "1")], TOPIC, "t", ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, None)], TOPIC, "t", ErrorCode.INVALID_REQUEST),
        ([("retention.ms", SET, "1"), ("retention.ms", SET, "2")], TOPIC, "t", ErrorCode.INVALID_REQUEST),
        ([("retention.ms", 9, "1")], TOPIC, "t", ErrorCode.INVALID_REQUEST),
        ([("retention.ms", SET, "1")], TOPIC, "u", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([("retention.ms", SET, "soon")], TOPIC, "u", ErrorCode.INVALID_CONFIG),
        ([("retention.ms", APPEND, "1")], TOPIC, "u", ErrorCode.INVALID_CONFIG),
        ([("retention.ms", SET, "1")], TOPIC, "", ErrorCode.INVALID_REQUEST),
        ([("log.retention.ms", SET, "1")], BROKER, "x", ErrorCode.INVALID_REQUEST),
        ([("log.retention.ms", SET, "1")], BROKER, "9", ErrorCode.BROKER_ID_NOT_REGISTERED),
        ([("log.retention.ms", SET, "soon")], BROKER, "9", ErrorCode.INVALID_REQUEST),
        ([("log.retention.ms", SET, "1")], BROKER, "2147483648", ErrorCode.INVALID_REQUEST),
        ([("log.retention.ms", SET, "1")], BROKER, "1" * 5000, ErrorCode.INVALID_REQUEST),
        ([("log.retention.ms", SET, "1")], BROKER, "1", ErrorCode.NONE),
        ([("log.retention.ms", SET, "soon")], BROKER, "", ErrorCode.INVALID_REQUEST),
        ([("node.id", SET, "7")], BROKER, "1", ErrorCode.INVALID_REQUEST),
        ([("log.cleanup.policy", APPEND, "compact")], BROKER, "", ErrorCode.NONE),
        ([("log.retention.ms", SET, "1")], BROKER, "", ErrorCode.NONE),
        ([("x", SET, "1")], 3, "x", ErrorCode.INVALID_REQUEST),
        ([("listeners", SET, "PLAINTEXT://:9")], BROKER, "", ErrorCode.INVALID_REQUEST),
        ([("listeners", SET, "PLAINTEXT://:9")], BROKER, "1", ErrorCode.NONE),
        ([("advertised.listeners", SET, "PLAINTEXT://:9")], BROKER, "1", ErrorCode.INVALID_REQUEST),
        ([("cordoned.log.dirs", SET, "*")], BROKER, "", ErrorCode.INVALID_REQUEST),
        ([("cordoned.log.dirs", SET, "*")], BROKER, "1", ErrorCode.INVALID_CONFIG),
        ([("cordoned.log.dirs", DELETE, None)], BROKER, "1", ErrorCode.INVALID_CONFIG),
    ],
)
def test_refusals(changes: list[Change], kind: int, name: str, code: ErrorCode) -> None:
    toy = cluster()
    before = len(toy.log)
    result = alter(toy, *changes, kind=kind, name=name)
    assert result.error_code == code
    assert (result.error_message is None) == (code is ErrorCode.NONE)
    assert (len(toy.log) > before) == (code is ErrorCode.NONE)


def test_a_controller_that_is_no_broker_has_settings_too() -> None:
    """KIP-919: a tool may send a controller a request about the nodes in its response, which are controllers."""
    toy = cluster()
    registration = ControllerRegistrationRequest(
        controller_id=3,
        incarnation_id=UUID(int=3),
        listeners=[Listener(name="CONTROLLER", host="localhost", port=9093)],
        features=[Feature(name="metadata.version", min_supported_version=1, max_supported_version=21)],
    )
    assert toy.ask(registration).error_code == ErrorCode.NONE
    assert alter(toy, ("log.cleaner.threads", SET, "2"), kind=BROKER, name="3").error_code == ErrorCode.NONE
    assert toy.image.config(BROKER, "3") == {"log.cleaner.threads": "2"}


def test_a_value_that_is_set_already_gets_no_record() -> None:
    toy = cluster()
    before = len(toy.log)
    assert alter(toy, ("retention.ms", SET, "1000")).error_code == ErrorCode.NONE
    assert len(toy.log) == before


@pytest.mark.parametrize("operation", [SET, DELETE])
def test_a_setting_of_a_broker_that_is_asked_for_gets_a_record(operation: int) -> None:
    """KAFKA-14136: "generate records even if the value is unchanged to trigger reloads" of a keystore."""
    toy = cluster()
    change = "listener.name.external.ssl.keystore.location", operation, None if operation == DELETE else "/keys"
    for _ in range(2):
        before = len(toy.log)
        assert alter(toy, change, kind=BROKER, name="1").error_code == ErrorCode.NONE
        assert [record.value for record in toy.log[before:]] == [change[2]]


@pytest.mark.parametrize(("level", "code"), [(29, ErrorCode.INVALID_CONFIG), (30, ErrorCode.NONE)])
def test_cordoned_directories_need_their_level(level: int, code: ErrorCode) -> None:
    """KIP-1066: from metadata.version 4.3-IV0 on, which is level 30."""
    toy = ToyCluster(level=level)
    features = [BrokerFeature(name="metadata.version", min_supported_version=7, max_supported_version=30)]
    toy.start(1, features=features)
    change = "cordoned.log.dirs", SET, "/data"
    assert alter(toy, change, kind=BROKER, name="1").error_code == code


def test_a_list_that_grows_beyond_a_string_is_refused_alone() -> None:
    """``ConfigurationControlManager.validateAlterConfig``: at most 32767 bytes."""
    toy = cluster()
    name, half = "leader.replication.throttled.replicas", ",".join(f"{each}:1" for each in range(10_000, 12_500))
    assert alter(toy, (name, APPEND, half)).error_code == ErrorCode.NONE
    refused = alter(toy, (name, APPEND, half.replace("1", "2", 1)), (name + "x", SET, ""))
    assert refused.error_code == ErrorCode.INVALID_CONFIG
    more = ",".join(f"{each}:1" for each in range(20_000, 22_500))
    refused = alter(toy, (name, APPEND, more))
    assert refused.error_code == ErrorCode.INVALID_CONFIG
    assert "exceeds the maximum value size of 32767 bytes" in refused.error_message


def test_names_that_only_another_version_knows_are_in_nobodys_way() -> None:
    """Kafka 3.9 has settings that Kafka 4 took out (KIP-724, KIP-937): they stay, may go, and cannot be set again."""
    names = ("message.format.version", "message.timestamp.difference.max.ms")
    records = [ConfigRecord(resource_type=TOPIC, resource_name="t", name=name, value="3") for name in names]
    toy = ToyCluster(log=[*cluster().log, *records])
    assert alter(toy, ("retention.ms", SET, "5")).error_code == ErrorCode.NONE
    assert toy.image.config(TOPIC, "t")["retention.ms"] == "5"
    assert alter(toy, (names[0], SET, "3")).error_code == ErrorCode.INVALID_CONFIG
    assert alter(toy, (names[0], DELETE, None)).error_code == ErrorCode.NONE
    assert toy.image.config(TOPIC, "t").keys() == {"retention.ms", "cleanup.policy", names[1]}


def test_validate_only() -> None:
    toy = cluster()
    before = len(toy.log)
    assert alter(toy, ("retention.ms", SET, "5"), validate_only=True).error_code == ErrorCode.NONE
    assert alter(toy, ("retention.ms", SET, "x"), validate_only=True).error_code == ErrorCode.INVALID_CONFIG
    assert len(toy.log) == before


def test_a_resource_twice_in_one_request() -> None:
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[])
    responses = cluster().ask(IncrementalAlterConfigsRequest(resources=[resource, resource])).responses
    assert [r.error_code for r in responses] == [ErrorCode.INVALID_REQUEST] * 2


def test_the_older_request_replaces_everything() -> None:
    """KIP-133: a setting that is not in the request is reset to its default."""
    toy = cluster()
    resource = LegacyResource(
        resource_type=TOPIC, resource_name="t", configs=[LegacyConfig(name="segment.ms", value="9")]
    )
    response = toy.ask(AlterConfigsRequest(resources=[resource])).responses[0]
    assert response.error_code == ErrorCode.NONE
    assert toy.image.config(TOPIC, "t") == {"segment.ms": "9"}
