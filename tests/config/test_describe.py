"""The response of DescribeConfigs: value, source and synonyms (KIP-226)."""

from __future__ import annotations

from kraft.config.broker import BROKER_CONFIGS
from kraft.config.describe import (
    ConfigEntry,
    ConfigSource,
    describe_all_brokers,
    describe_broker,
    describe_client_metrics,
    describe_group,
    describe_topic,
)
from kraft.config.group import group_limits, group_value
from kraft.config.log_settings import GroupSettings
from kraft.config.setting import ConfigType, structure
from kraft.config.share_settings import ShareSettings
from kraft.config.topic import TOPIC_CONFIGS

STATIC = ConfigSource.STATIC_BROKER_CONFIG
DEFAULT = ConfigSource.DEFAULT_CONFIG
TOPIC = ConfigSource.DYNAMIC_TOPIC_CONFIG


def synonyms(entry: ConfigEntry) -> list[tuple[str, str | None, ConfigSource]]:
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


def test_a_topic_value_and_all_that_it_hides() -> None:
    (entry,) = describe_topic({"retention.ms": "5"}, [(STATIC, {"log.retention.hours": "3"})], ["retention.ms"])
    assert (entry.value, entry.source, entry.is_default, entry.read_only) == ("5", TOPIC, False, False)
    assert synonyms(entry) == [
        ("retention.ms", "5", TOPIC),
        ("log.retention.hours", "3", STATIC),
        ("log.retention.hours", "168", DEFAULT),
    ]


def test_a_broker_value_is_described_in_the_topics_unit() -> None:
    (entry,) = describe_topic({}, [(STATIC, {"log.retention.hours": "3"})], ["retention.ms"])
    assert (entry.value, entry.source) == ("10800000", STATIC)


def test_a_default_is_described_in_the_topics_unit() -> None:
    (entry,) = describe_topic({}, [], ["retention.ms"])
    assert (entry.value, entry.source, entry.is_default) == ("604800000", DEFAULT, True)
    assert synonyms(entry) == [("log.retention.hours", "168", DEFAULT)]


def test_a_topic_setting_without_a_synonym_has_its_own_default() -> None:
    (entry,) = describe_topic({}, [], ["follower.replication.throttled.replicas"])
    assert (entry.value, entry.source) == ("", DEFAULT)


def test_a_broker_setting() -> None:
    static, default = describe_broker([(STATIC, {"num.io.threads": "3"})], ["num.io.threads", "num.partitions"])
    assert (static.value, static.source, static.read_only) == ("3", STATIC, True)
    assert synonyms(static) == [("num.io.threads", "3", STATIC), ("num.io.threads", "8", DEFAULT)]
    assert (default.value, default.source) == ("1", DEFAULT)


def test_a_brokers_value_is_described_as_it_is_parsed() -> None:
    """``ConfigHelper.createBrokerConfigEntry`` prints the value of the KafkaConfig, and the synonyms as written. Those
    of all brokers together, and of one listener, are texts.
    """
    written = {
        "auto.create.topics.enable": "TRUE",
        "num.io.threads": "8 ",
        "log.dirs": "/a, /b",
        "num.partitions": "+3",
        "listener.name.external.max.connections": "+100",
    }
    entries = describe_broker([(STATIC, written)], written)
    assert [entry.value for entry in entries] == ["true", "8", "/a,/b", "3", "+100"]
    assert [entry.synonyms[0].value for entry in entries] == list(written.values())
    assert [entry.value for entry in describe_all_brokers(written, written)] == list(written.values())


def test_the_types_of_log_dir_and_of_the_protocol_map_are_kafkas() -> None:
    """``AbstractKafkaConfig.CONFIG_DEF`` of Kafka 4.3.1; a list is printed without the spaces between its elements."""
    written = {"log.dir": "/a, /b", "listener.security.protocol.map": "A:PLAINTEXT, B:PLAINTEXT"}
    directory, protocols = describe_broker([(STATIC, written)], written)
    assert (directory.type, directory.value) == (ConfigType.LIST, "/a,/b")
    assert (protocols.type, protocols.value) == (ConfigType.STRING, "A:PLAINTEXT, B:PLAINTEXT")


def test_a_value_of_all_brokers_is_described_only_if_it_is_set() -> None:
    """A broker's other settings are described for its name alone."""
    (entry,) = describe_all_brokers({"num.io.threads": "9"}, ["num.partitions", "num.io.threads"])
    assert (entry.name, entry.value, entry.source) == (
        "num.io.threads",
        "9",
        ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    )
    assert describe_all_brokers({}) == []


def test_a_setting_that_is_not_set_has_no_value() -> None:
    (entry,) = describe_broker([], ["broker.rack"])
    assert (entry.value, entry.source, entry.synonyms) == (None, DEFAULT, ())


def test_all_settings_and_no_unknown_one() -> None:
    assert [entry.name for entry in describe_topic({}, [])] == list(TOPIC_CONFIGS)
    assert [entry.name for entry in describe_broker([])] == list(BROKER_CONFIGS)
    assert describe_topic({}, [], ["no.such.setting"]) == []


def test_a_setting_that_was_given_is_described_whatever_its_name() -> None:
    """``kafka-configs --delete-config`` wants it described. A value of an unknown type may be a secret."""
    dynamic, name = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, "listener.name.external.max.connections"
    layers = [(dynamic, {name: "100", "my.reporter.key": "secret"})]
    limit, unknown = describe_broker(layers, [name, "my.reporter.key"])
    assert (limit.value, limit.source, limit.type) == ("100", dynamic, ConfigType.INT)
    assert (unknown.value, unknown.source, unknown.type) == (None, dynamic, ConfigType.UNKNOWN)
    assert {name, "my.reporter.key"} < {entry.name for entry in describe_broker(layers)}


def test_a_value_that_only_another_controller_accepts_is_described_as_it_is() -> None:
    match = r"client_id=\p{Alnum}+"
    [entry] = describe_client_metrics({"match": match}, ["match"])
    assert entry.value == match
    groups, share = structure({}, GroupSettings), structure({}, ShareSettings)
    session, reset = "consumer.session.timeout.ms", "share.auto.offset.reset"
    found = describe_group({session: "soon", reset: " earliest"}, (groups, share), [], [session, reset])
    assert [entry.value for entry in found] == ["soon", "earliest"]


def test_a_setting_of_a_group_falls_back_to_the_broker() -> None:
    """``ConfigHelper.createGroupConfigEntry``: below the group's own value are those of the broker's setting, and its
    default. A setting that no broker has keeps its own name.
    """
    session, broker_session = "consumer.session.timeout.ms", "group.consumer.session.timeout.ms"
    reset, dynamic = "share.auto.offset.reset", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    given = {broker_session: "50000"}
    broker = structure(given, GroupSettings), structure({}, ShareSettings)
    layers = [(dynamic, {broker_session: "55000"}), (STATIC, given)]
    fallback = [(broker_session, "50000", STATIC), (broker_session, "45000", DEFAULT)]
    entry, plain = describe_group({}, broker, layers[1:], [session, reset])
    assert (entry.value, entry.source, synonyms(entry)) == ("50000", STATIC, fallback)
    assert (plain.value, plain.source, synonyms(plain)) == ("latest", DEFAULT, [(reset, "latest", DEFAULT)])
    (own,) = describe_group({session: "60000"}, broker, layers, [session])
    above = [(session, "60000", ConfigSource.GROUP_CONFIG), (broker_session, "55000", dynamic)]
    assert (own.value, own.source, synonyms(own)) == ("60000", ConfigSource.GROUP_CONFIG, above + fallback)


def test_a_value_of_a_group_stays_within_the_limits_of_the_broker() -> None:
    """``GroupConfig.evaluate``: the limits may have changed since the value was set."""
    limits = {"group.consumer.min.heartbeat.interval.ms": "10000", "group.share.max.delivery.count.limit": "6"}
    found = group_limits((structure(limits, GroupSettings), structure(limits, ShareSettings)))
    values = {"consumer.heartbeat.interval.ms": "5000", "share.delivery.count.limit": "9", "share.isolation.level": "x"}
    assert group_value(values, "consumer.heartbeat.interval.ms", found) == 10_000
    assert group_value(values, "share.delivery.count.limit", found) == 6
    assert group_value(values, "share.delivery.count.limit") == 9
    assert group_value(values, "share.isolation.level", found) is None
    assert group_value({"consumer.heartbeat.interval.ms": "11000"}, "consumer.heartbeat.interval.ms", found) == 11_000


def test_a_rate_is_described_where_it_is_set() -> None:
    """ConfigHelper: the rates are dynamic settings, and none has a default."""
    rate, dynamic = "leader.replication.throttled.rate", ConfigSource.DYNAMIC_BROKER_CONFIG
    assert describe_broker([], [rate]) == []
    (entry,) = describe_broker([(STATIC, {}), (dynamic, {rate: "1000"})], [rate])
    assert (entry.value, entry.source, entry.read_only) == ("1000", dynamic, False)
    assert synonyms(entry) == [(rate, "1000", dynamic)]


def test_a_value_that_this_version_refuses_is_described_as_it_is() -> None:
    """Another controller may have accepted it, and a user looks for it."""
    (own,) = describe_topic({"retention.ms": "soon"}, [], ["retention.ms"])
    (inherited,) = describe_topic({}, [(STATIC, {"log.retention.hours": "soon"})], ["retention.ms"])
    assert (own.value, inherited.value) == ("soon", "soon")
