"""The listener rules of KIP-291 and KIP-631, one row each."""

from __future__ import annotations

import pytest

from kraft.config.broker import NodeConfig, node_config
from kraft.config.listeners import Endpoint, Voter, advertise
from kraft.config.setting import ConfigError

COMBINED = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@localhost:9093",
}
BROKER = COMBINED | {
    "process.roles": "broker",
    "listeners": "PLAINTEXT://localhost:9092",
    "controller.quorum.voters": "2@localhost:9093",
}
CONTROLLER = COMBINED | {"process.roles": "controller", "listeners": "CONTROLLER://localhost:9093"}

ADVERTISED = "advertised.listeners"
CONTROLLER_NAMES = "controller.listener.names"
INTER_BROKER = "inter.broker.listener.name"
PROTOCOL_MAP = "listener.security.protocol.map"


def names(endpoints: tuple[Endpoint, ...]) -> list[str]:
    return [endpoint.listener for endpoint in endpoints]


def config(base: dict[str, str], **changes: str) -> NodeConfig:
    return node_config(base | {name.replace("_", "."): text for name, text in changes.items()})


def test_a_combined_node_gives_each_role_its_listeners() -> None:
    """KIP-631: "each node has its own listeners and its own set of APIs which it exposes"."""
    listeners = config(COMBINED).listeners
    assert names(listeners.broker) == ["PLAINTEXT"]
    assert names(listeners.controller) == ["CONTROLLER"]
    assert names(listeners.advertised_broker) == ["PLAINTEXT"]
    assert names(listeners.advertised_controller) == ["CONTROLLER"]
    assert listeners.inter_broker == "PLAINTEXT"


def test_a_controller_has_no_broker_listener() -> None:
    listeners = config(CONTROLLER).listeners
    assert (listeners.broker, listeners.inter_broker) == ((), None)


def test_a_broker_listens_on_9092_of_every_interface_by_default() -> None:
    """KIP-291: without "listeners" the result is "a single endpoint, constructed using the listener name PLAINTEXT"."""
    values = {name: text for name, text in BROKER.items() if name != "listeners"}
    assert node_config(values).listeners.broker == (Endpoint("PLAINTEXT", "PLAINTEXT", "", 9092),)


def test_the_order_of_controller_listener_names_is_kept() -> None:
    """KIP-631: "the broker will always use the first listener in this list"."""
    listeners = config(COMBINED, listeners="A://h:1,B://h:2,PLAINTEXT://h:3", controller_listener_names="B,A").listeners
    assert names(listeners.advertised_controller) == ["B", "A"]


def test_an_advertised_listener_replaces_the_bound_one() -> None:
    """KIP-291: advertised.listeners "will be used directly if it's set"."""
    listeners = config(COMBINED, advertised_listeners="PLAINTEXT://public:19092").listeners
    assert [str(endpoint) for endpoint in listeners.advertised_broker] == ["PLAINTEXT://public:19092"]
    assert [str(endpoint) for endpoint in listeners.broker] == ["PLAINTEXT://localhost:9092"]
    assert [str(endpoint) for endpoint in listeners.advertised_controller] == ["CONTROLLER://localhost:9093"]


def test_a_controller_may_advertise_its_listener() -> None:
    advertised = "PLAINTEXT://public:1,CONTROLLER://public:2"
    listeners = config(COMBINED, advertised_listeners=advertised).listeners
    assert [str(endpoint) for endpoint in listeners.advertised_controller] == ["CONTROLLER://public:2"]


def test_an_ipv6_host_is_written_in_brackets() -> None:
    endpoint = config(COMBINED, listeners="PLAINTEXT://[::1]:9092,CONTROLLER://localhost:9093").listeners.broker[0]
    assert (endpoint.host, str(endpoint)) == ("::1", "PLAINTEXT://[::1]:9092")


def test_names_are_compared_in_upper_case() -> None:
    assert names(config(COMBINED, listeners="plaintext://h:1,controller://h:2").listeners.controller) == ["CONTROLLER"]


def test_an_ipv4_and_an_ipv6_listener_may_share_a_port() -> None:
    listeners = config(
        COMBINED,
        listeners="A://127.0.0.1:9092,B://[::1]:9092,CONTROLLER://localhost:9093",
        listener_security_protocol_map="A:PLAINTEXT,B:PLAINTEXT,CONTROLLER:PLAINTEXT",
        inter_broker_listener_name="A",
    ).listeners
    assert names(listeners.broker) == ["A", "B"]


def test_the_protocol_map_may_have_spaces() -> None:
    """``Csv.parseCsvMap`` ignores those around a name and around a protocol."""
    mapped = config(COMBINED, listener_security_protocol_map=" PLAINTEXT : PLAINTEXT , controller:plaintext ").listeners
    assert (names(mapped.broker), names(mapped.controller)) == (["PLAINTEXT"], ["CONTROLLER"])
    with pytest.raises(ConfigError, match=f"Invalid value A:TLS for configuration {PROTOCOL_MAP}"):
        config(COMBINED, listener_security_protocol_map="PLAINTEXT:PLAINTEXT, A:TLS")


def test_port_0_may_be_there_twice() -> None:
    assert len(config(COMBINED, listeners="PLAINTEXT://h:0,CONTROLLER://h:0").listeners.broker) == 1


def test_no_host_is_advertised_as_the_machine_and_port_0_as_bound() -> None:
    """KIP-291: else "the next step is to use the value for the listeners endpoints"."""
    endpoints = (Endpoint("A", "PLAINTEXT", "", 0), Endpoint("B", "PLAINTEXT", "b.example", 7))
    assert [str(endpoint) for endpoint in advertise(endpoints, "box", {"A": 4711})] == [
        "A://box:4711",
        "B://b.example:7",
    ]


@pytest.mark.parametrize(
    ("base", "changes", "key", "why"),
    [
        pytest.param(COMBINED, {"listeners": "localhost:9092"}, "listeners", "NAME://host:port", id="form"),
        pytest.param(COMBINED, {"listeners": "PLAINTEXT://localhost"}, "listeners", "NAME://host:port", id="no port"),
        pytest.param(
            COMBINED, {"listeners": "PLAINTEXT://h:65536"}, "listeners", "NAME://host:port", id="port too high"
        ),
        pytest.param(COMBINED, {"listeners": "PLAINTEXT://::1:9092"}, "listeners", "NAME://host:port", id="bare IPv6"),
        pytest.param(
            COMBINED, {"listeners": "PLAINTEXT://[host]:9092"}, "listeners", "NAME://host:port", id="not IPv6"
        ),
        pytest.param(
            COMBINED, {"listeners": "PLAINTEXT://h:1,PLAINTEXT://h:2"}, "listeners", "different name", id="name twice"
        ),
        pytest.param(
            COMBINED, {"listeners": "PLAINTEXT://h:1,CONTROLLER://h:1"}, "listeners", "different port", id="port twice"
        ),
        pytest.param(
            COMBINED,
            {"listeners": "PLAINTEXT://h:1,X://h:2"},
            "listeners",
            "No security protocol defined for listener X",
            id="unmapped name",
        ),
        pytest.param(
            COMBINED,
            {PROTOCOL_MAP: "PLAINTEXT:TLS"},
            PROTOCOL_MAP,
            "a protocol of PLAINTEXT, SSL",
            id="unknown protocol",
        ),
        pytest.param(COMBINED, {PROTOCOL_MAP: "A:SSL,A:PLAINTEXT"}, PROTOCOL_MAP, "more than once", id="mapped twice"),
        pytest.param(
            COMBINED,
            {PROTOCOL_MAP: "PLAINTEXT:PLAINTEXT"},
            "listeners",
            "No security protocol defined for listener CONTROLLER",
            id="written map lacks the controller",
        ),
        pytest.param(
            COMBINED,
            {
                "listeners": "SSL://h:1,CONTROLLER://h:2",
                PROTOCOL_MAP: "SSL:SSL,CONTROLLER:PLAINTEXT",
                INTER_BROKER: "SSL",
            },
            PROTOCOL_MAP,
            "Only PLAINTEXT listeners are supported",
            id="SSL",
        ),
        pytest.param(
            COMBINED,
            {PROTOCOL_MAP: "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"},
            PROTOCOL_MAP,
            "Only PLAINTEXT listeners are supported",
            id="SASL",
        ),
        pytest.param(
            BROKER,
            {PROTOCOL_MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL"},
            PROTOCOL_MAP,
            "Only PLAINTEXT listeners are supported",
            id="SSL controller elsewhere",
        ),
        pytest.param(
            COMBINED,
            {"control.plane.listener.name": "X"},
            "control.plane.listener.name",
            "control.plane.listener.name is not supported in KRaft mode.",
            id="KIP-291 in KRaft",
        ),
        pytest.param(
            COMBINED,
            {"control.plane.force.controller.requests.enable": "true"},
            "control.plane.force.controller.requests.enable",
            "control.plane.force.controller.requests.enable is not supported in KRaft mode.",
            id="KIP-291's extension in KRaft",
        ),
        pytest.param(
            COMBINED,
            {ADVERTISED: "SSL://h:1"},
            ADVERTISED,
            "Listener SSL is not defined in listeners",
            id="advertised is not bound",
        ),
        pytest.param(
            COMBINED,
            {ADVERTISED: "PLAINTEXT://h:1,PLAINTEXT://h:2"},
            ADVERTISED,
            "different name",
            id="advertised twice",
        ),
        pytest.param(
            COMBINED,
            {ADVERTISED: "PLAINTEXT://0.0.0.0:1"},
            ADVERTISED,
            "Others cannot connect to 0.0.0.0",
            id="advertised 0.0.0.0",
        ),
        pytest.param(
            COMBINED,
            {"listeners": "PLAINTEXT://0.0.0.0:1,CONTROLLER://h:2"},
            ADVERTISED,
            "Others cannot connect to 0.0.0.0",
            id="bound to 0.0.0.0, nothing advertised",
        ),
        pytest.param(
            COMBINED,
            {ADVERTISED: "CONTROLLER://h:1"},
            ADVERTISED,
            "at least one listener that is not the controller's",
            id="advertised has no broker listener",
        ),
        pytest.param(
            COMBINED,
            {"listeners": "CONTROLLER://h:1"},
            "listeners",
            "at least one listener that is not the controller's",
            id="all listeners are the controller's",
        ),
        pytest.param(
            COMBINED,
            {"listeners": "PLAINTEXT://h:1"},
            CONTROLLER_NAMES,
            "at least one name that appears in listeners",
            id="no controller listener",
        ),
        pytest.param(
            CONTROLLER,
            {"listeners": "PLAINTEXT://h:1,CONTROLLER://h:2"},
            "listeners",
            "only contain listeners of controller.listener.names",
            id="controller has a broker listener",
        ),
        pytest.param(
            BROKER, {CONTROLLER_NAMES: ""}, CONTROLLER_NAMES, "at least one name", id="broker without controller names"
        ),
        pytest.param(
            BROKER,
            {"listeners": "PLAINTEXT://h:1,CONTROLLER://h:2"},
            CONTROLLER_NAMES,
            "must not contain a name that appears in listeners",
            id="broker binds the controller's",
        ),
        pytest.param(
            BROKER,
            {"listeners": "PLAINTEXT://h:1,CONTROLLER://h:2", ADVERTISED: "CONTROLLER://h:2"},
            ADVERTISED,
            "must not contain controller listeners",
            id="broker advertises the controller's",
        ),
        pytest.param(
            COMBINED,
            {INTER_BROKER: "CONTROLLER"},
            INTER_BROKER,
            "must not be one of controller.listener.names",
            id="inter-broker is the controller's",
        ),
        pytest.param(
            COMBINED,
            {INTER_BROKER: "SSL"},
            INTER_BROKER,
            "must be a listener that is advertised",
            id="inter-broker is not advertised",
        ),
        pytest.param(
            COMBINED,
            {INTER_BROKER: "X"},
            INTER_BROKER,
            "not defined in listener.security.protocol.map",
            id="inter-broker is not mapped",
        ),
        pytest.param(
            COMBINED,
            {INTER_BROKER: "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
            INTER_BROKER,
            "Only one of",
            id="inter-broker is named twice",
        ),
    ],
)
def test_a_broken_rule_is_one_line(base: dict[str, str], changes: dict[str, str], key: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        node_config(base | changes)
    message = str(caught.value)
    assert f"for configuration {key}: " in message
    assert why in message
    assert len(message.splitlines()) == 1


def test_voters_are_parsed() -> None:
    voters = config(COMBINED, controller_quorum_voters="1@a:1,2@[::1]:2").voters
    assert voters == (Voter(1, "a", 1), Voter(2, "::1", 2))
    assert [str(voter) for voter in voters] == ["1@a:1", "2@[::1]:2"]


@pytest.mark.parametrize(
    "text", ["1", "a@h:1", "1@h", "1@:1", "1@h:0", "-1@h:1", "1@h:1,1@i:2", "99999999999@h:1", "1@h:1,,2@i:2"]
)
def test_malformed_voters_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"for configuration controller\.quorum\.voters: "):
        config(COMBINED, controller_quorum_voters=text)
