"""Node configuration: Kafka's defaults, the rules between settings, and that nothing but ConfigError comes out."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kraft.config.broker import BROKER_CONFIGS, NodeConfig, broker_key, node_config
from kraft.config.defaults import DEFAULT_PROPERTIES
from kraft.config.setting import ConfigError, to_text
from tests.config import value_or_refusal


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("auto.create.topics.enable", "true"),
        ("broker.heartbeat.interval.ms", "2000"),
        ("broker.session.timeout.ms", "9000"),
        ("connections.max.idle.ms", "600000"),
        ("controller.quorum.election.timeout.ms", "1000"),
        ("controller.quorum.fetch.timeout.ms", "2000"),
        ("fetch.max.bytes", "57671680"),
        ("group.initial.rebalance.delay.ms", "3000"),
        ("group.max.session.timeout.ms", "1800000"),
        ("group.min.session.timeout.ms", "6000"),
        ("initial.broker.registration.timeout.ms", "60000"),
        ("log.retention.check.interval.ms", "300000"),
        ("max.incremental.fetch.session.cache.slots", "1000"),
        ("message.max.bytes", "1048588"),
        ("metadata.log.max.record.bytes.between.snapshots", "20971520"),
        ("num.io.threads", "8"),
        ("num.network.threads", "3"),
        ("num.partitions", "1"),
        ("offsets.retention.minutes", "10080"),
        ("offsets.topic.num.partitions", "50"),
        ("offsets.topic.replication.factor", "3"),
        ("producer.id.expiration.ms", "86400000"),
        ("queued.max.requests", "500"),
        ("socket.request.max.bytes", "104857600"),
        ("transaction.max.timeout.ms", "900000"),
        ("transactional.id.expiration.ms", "604800000"),
    ],
)
def test_defaults_are_kafkas(name: str, default: str) -> None:
    assert to_text(BROKER_CONFIGS[name].default) == default


def test_every_default_is_allowed() -> None:
    for name, key in BROKER_CONFIGS.items():
        text = to_text(key.default)
        if text is not None:
            assert key.parse(text) == key.default, name


def test_the_configuration_of_a_bare_start() -> None:
    config = node_config(DEFAULT_PROPERTIES)
    assert (config.node_id, config.is_broker, config.is_controller) == (1, True, True)
    assert config.log_dirs == config.directories == ("./kraft-data",)
    assert config.groups.group_initial_rebalance_delay_ms == 0
    assert config.groups.offsets_topic_replication_factor == 1
    assert [str(endpoint) for endpoint in config.listeners.broker] == ["PLAINTEXT://127.0.0.1:9092"]


def test_the_metadata_log_lies_in_the_first_log_directory_by_default() -> None:
    """KIP-631: metadata.log.dir, "if it is not set, the metadata log is placed in the first log directory"."""
    config = node_config({**DEFAULT_PROPERTIES, "log.dirs": "a,b"})
    assert (config.metadata_log_dir, config.directories) == ("a", ("a", "b"))
    config = node_config({**DEFAULT_PROPERTIES, "log.dirs": "a,b", "metadata.log.dir": "c"})
    assert (config.metadata_log_dir, config.directories) == ("c", ("a", "b", "c"))


def test_log_dir_counts_where_log_dirs_is_not_set() -> None:
    values = {name: text for name, text in DEFAULT_PROPERTIES.items() if name != "log.dirs"}
    assert node_config({**values, "log.dir": "one"}).log_dirs == ("one",)
    assert node_config({**values, "log.dir": "one, two"}).log_dirs == ("one", "two"), "KafkaConfig.logDirs"


def test_broker_id_stands_in_for_node_id() -> None:
    values = {name: text for name, text in DEFAULT_PROPERTIES.items() if name != "node.id"}
    assert node_config({**values, "broker.id": "1"}).node_id == 1


def test_a_listener_has_limits_of_its_own() -> None:
    config = node_config(
        {**DEFAULT_PROPERTIES, "max.connections": "100", "listener.name.controller.max.connections": "7"}
    )
    assert config.listener_limits("PLAINTEXT").max_connections == 100
    assert config.listener_limits("CONTROLLER").max_connections == 7
    assert config.listener_limits("CONTROLLER").num_network_threads == 3


def test_limits_per_address() -> None:
    config = node_config({**DEFAULT_PROPERTIES, "max.connections.per.ip.overrides": "10.0.0.1:3, host:4,::1:5"})
    assert config.connections_per_ip_overrides == {"10.0.0.1": 3, "host": 4, "::1": 5}


@pytest.mark.parametrize("most", [-7, 0])
def test_no_limit_of_the_requests_in_memory(most: int) -> None:
    """``KafkaConfig``: "queued.max.request.bytes" must be at most 0, or at least socket.request.max.bytes."""
    assert node_config({**DEFAULT_PROPERTIES, "queued.max.request.bytes": str(most)})


def test_the_metrics_listener() -> None:
    assert node_config(DEFAULT_PROPERTIES).metrics_listener is None
    config = node_config({**DEFAULT_PROPERTIES, "kraft.metrics.listener": "127.0.0.1:9404"})
    assert config.metrics_listener == ("127.0.0.1", 9404)


def test_topic_defaults_come_from_the_broker() -> None:
    assert node_config({**DEFAULT_PROPERTIES, "log.segment.bytes": "1000"}).log_defaults.segment_bytes == 1000


@pytest.mark.parametrize(
    ("changes", "key", "why"),
    [
        ({"process.roles": ""}, "process.roles", "broker, controller, or both"),
        ({"process.roles": "broker,observer"}, "process.roles", "broker or controller"),
        ({"process.roles": "broker,broker"}, "process.roles", "only once"),
        ({"node.id": "-1"}, "node.id", "at least 0"),
        ({"broker.id": "2"}, "broker.id", "the same as node.id, which is 1"),
        ({"controller.quorum.voters": ""}, "controller.quorum.voters", "must name the controllers"),
        ({"controller.quorum.voters": "2@h:1"}, "controller.quorum.voters", "Node id 1 must be a voter"),
        (
            {"process.roles": "broker", "listeners": "PLAINTEXT://h:1"},
            "controller.quorum.voters",
            "Node id 1 must not be a voter",
        ),
        ({"log.dirs": ""}, "log.dirs", "at least one directory"),
        ({"log.dirs": "a,a"}, "log.dirs", "none of them twice"),
        ({"queued.max.request.bytes": "5"}, "queued.max.request.bytes", "at least socket.request.max.bytes"),
        ({"max.connections.per.ip": "0"}, "max.connections.per.ip", "max.connections.per.ip.overrides"),
        ({"max.connections.per.ip.overrides": "host"}, "max.connections.per.ip.overrides", "host:count"),
        ({"replica.fetch.wait.max.ms": "40000"}, "replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
        ({"broker.heartbeat.interval.ms": "5000"}, "broker.heartbeat.interval.ms", "broker.session.timeout.ms"),
        ({"group.max.session.timeout.ms": "5000"}, "group.min.session.timeout.ms", "group.max.session.timeout.ms"),
        ({"authorizer.class.name": "org.Acl"}, "authorizer.class.name", "Authorization is not supported yet"),
        ({"kraft.metrics.listener": "9404"}, "kraft.metrics.listener", "host:port"),
        ({"num.io.threads": "0"}, "num.io.threads", "Value must be at least 1"),
        ({"num.io.threads": "many"}, "num.io.threads", "Not a number of type INT"),
        (
            {"listener.name.controller.max.connections": "x"},
            "listener.name.controller.max.connections",
            "Not a number of type INT",
        ),
    ],
)
def test_a_broken_rule_is_one_line(changes: dict[str, str], key: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        node_config({**DEFAULT_PROPERTIES, **changes})
    message = str(caught.value)
    assert f" configuration {key}: " in message
    assert why in message
    assert len(message.splitlines()) == 1


IN_ZOOKEEPER_MODE = {"broker.id": "3", "zookeeper.connect": "h:2181/chroot", "log.dirs": "a,b"}


def test_a_node_without_roles_is_a_broker_with_zookeeper() -> None:
    """KIP-291: without its setting, which "will have a default value of null", there is no control plane."""
    config = node_config({**IN_ZOOKEEPER_MODE, "metadata.log.dir": "c"})
    assert config.listeners.control_plane is None
    assert (config.in_zookeeper_mode, config.is_broker, config.is_controller) == (True, True, False)
    assert config.node_id == 3
    assert config.directories == ("a", "b"), "it has no metadata log"
    assert config.listeners.inter_broker == "PLAINTEXT"
    assert config.zookeeper.zookeeper_session_timeout_ms == 18_000


def test_the_control_plane_has_a_listener_of_its_own() -> None:
    """KIP-291: looked up in listeners and advertised.listeners; all endpoints are published."""
    config = node_config(
        {
            **IN_ZOOKEEPER_MODE,
            "listeners": "PLAINTEXT://:9092,CONTROLLER://:9091",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "control.plane.listener.name": "CONTROLLER",
        }
    )
    assert [each.port for each in config.listeners.of_control_plane] == [9091]
    assert [each.port for each in config.listeners.of_data_plane] == [9092]
    assert [each.port for each in config.listeners.advertised_broker] == [9092, 9091]
    assert not config.listeners.is_control_plane_forced


def test_two_settings_may_give_the_listener_between_brokers() -> None:
    """KIP-291: "decided by using either" inter.broker.listener.name or security.inter.broker.protocol."""
    settings = {
        **IN_ZOOKEEPER_MODE,
        "listeners": "PLAINTEXT://:9092,INTERNAL://:9093",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INTERNAL:PLAINTEXT",
    }
    assert node_config({**settings, "inter.broker.listener.name": "INTERNAL"}).listeners.inter_broker == "INTERNAL"
    by_protocol = node_config({**settings, "security.inter.broker.protocol": "PLAINTEXT"})
    assert by_protocol.listeners.inter_broker == "PLAINTEXT"


def test_advertised_listeners_that_are_set_need_the_control_plane_too() -> None:
    """KIP-291: if they are "explicitly configured", the new endpoint "should also be added to" them."""
    settings = {
        **IN_ZOOKEEPER_MODE,
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9091",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "control.plane.listener.name": "CONTROLLER",
    }
    both = node_config({**settings, "advertised.listeners": "PLAINTEXT://broker1:9092,CONTROLLER://broker1:9091"})
    assert [str(each) for each in both.listeners.advertised_broker] == [
        "PLAINTEXT://broker1:9092",
        "CONTROLLER://broker1:9091",
    ]
    with pytest.raises(ConfigError, match="must be a listener name defined in advertised"):
        node_config({**settings, "advertised.listeners": "PLAINTEXT://broker1:9092"})


FORCED = "control.plane.force.controller.requests.enable"


def test_the_control_plane_may_refuse_the_requests_of_clients() -> None:
    """KIP-291's extension: "default is false"; it is about the control plane alone, so it needs one."""
    settings = {
        **IN_ZOOKEEPER_MODE,
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9091",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        FORCED: "true",
    }
    assert node_config({**settings, "control.plane.listener.name": "CONTROLLER"}).listeners.is_control_plane_forced
    with pytest.raises(ConfigError, match="Value must be false without") as caught:
        node_config(settings)
    assert f"for configuration {FORCED}: " in str(caught.value)


def test_an_id_may_be_high_where_no_broker_generates_its_own() -> None:
    """KafkaConfig: "broker.id must be … not greater than reserved.broker.max.id" only while ids are generated."""
    high = {**IN_ZOOKEEPER_MODE, "broker.id": "5000"}
    assert node_config({**high, "broker.id.generation.enable": "false"}).node_id == 5000
    assert node_config({**high, "reserved.broker.max.id": "5000"}).node_id == 5000


@pytest.mark.parametrize(
    ("changes", "key", "why"),
    [
        ({"zookeeper.connect": " "}, "zookeeper.connect", "host:port"),
        ({"broker.id": "-1", "broker.id.generation.enable": "false"}, "broker.id", "at least 0 while"),
        ({"node.id": "4"}, "node.id", "the same as broker.id, which is 3"),
        ({"controller.listener.names": "PLAINTEXT"}, "controller.listener.names", "empty without process.roles"),
        (
            {"control.plane.listener.name": "control"},
            "control.plane.listener.name",
            "Listener with CONTROL defined in control.plane.listener.name not found in listener.security.protocol.map.",
        ),
        (
            {"control.plane.listener.name": "SSL"},
            "control.plane.listener.name",
            (
                "control.plane.listener.name must be a listener name defined in advertised.listeners. "
                "The valid options based on currently configured listeners are PLAINTEXT"
            ),
        ),
        (
            {"control.plane.listener.name": "PLAINTEXT"},
            "control.plane.listener.name",
            (
                "control.plane.listener.name, when defined, should have a different value from the inter broker "
                "listener name. Currently they both have the value PLAINTEXT"
            ),
        ),
        ({"zookeeper.session.timeout.ms": "0"}, "zookeeper.session.timeout.ms", "at least 1"),
        ({FORCED: "perhaps"}, FORCED, "either true or false"),
        ({"zookeeper.set.acl": "true"}, "zookeeper.set.acl", "must be false: this node has no SASL and no TLS"),
        ({"zookeeper.ssl.client.enable": "true"}, "zookeeper.ssl.client.enable", "must be false: this node has no TLS"),
        ({"zookeeper.max.in.flight.requests": "0"}, "zookeeper.max.in.flight.requests", "at least 1"),
        ({"broker.id": "1001"}, "broker.id", "no more than reserved.broker.max.id (1000)"),
        ({"broker.id": "8", "reserved.broker.max.id": "7"}, "broker.id", "no more than reserved.broker.max.id (7)"),
        (
            {"controller.listener.name": "CONTROL"},
            "controller.listener.name",
            "set control.plane.listener.name instead",
        ),
        ({"host": "h"}, "host", "set listeners instead"),
        ({"host.name": "h"}, "host.name", "set listeners instead"),
        ({"port": "9092"}, "port", "set listeners instead"),
        ({"advertised.host": "h"}, "advertised.host", "set advertised.listeners instead"),
        ({"advertised.host.name": "h"}, "advertised.host.name", "set advertised.listeners instead"),
        ({"advertised.port": "9092"}, "advertised.port", "set advertised.listeners instead"),
    ],
)
def test_a_broken_rule_of_zookeeper_mode_is_one_line(changes: dict[str, str], key: str, why: str) -> None:
    """KIP-291: "we will validate its value and make sure it's different from the inter-broker-listener-name value"."""
    with pytest.raises(ConfigError) as caught:
        node_config({**IN_ZOOKEEPER_MODE, **changes})
    message = str(caught.value)
    assert f" configuration {key}: " in message
    assert why in message
    assert len(message.splitlines()) == 1


NAMES = st.sampled_from([*sorted(BROKER_CONFIGS), "listener.name.controller.max.connections"])
WORDS = st.text() | st.integers().map(str) | st.lists(st.text("ABP://:.,[]@0123456789"), max_size=3).map(",".join)


@given(NAMES, WORDS)
@example("listeners", "\ud800://h:1")
@example("log.dirs", "\0")
@example("controller.quorum.voters", "1@h:" + "9" * 5000)
@example("max.connections.per.ip.overrides", "h:" + "9" * 5000)
@example("max.connections.per.ip.overrides", "h:²")
@example("log.cleaner.io.max.bytes.per.second", "1e9999")
def test_any_text_gives_a_configuration_or_a_config_error_of_one_line(name: str, text: str) -> None:
    outcome = value_or_refusal(lambda: node_config({**DEFAULT_PROPERTIES, name: text}))
    assert isinstance(outcome, NodeConfig) or (len(outcome.splitlines()) == 1 and len(outcome) < 1000)


@given(st.text())
def test_any_text_is_a_known_or_an_unknown_name(name: str) -> None:
    assert broker_key(name) is None or name in BROKER_CONFIGS
