"""Broker settings of Apache Kafka 4.3 that nothing here reads: accepted, checked, described, and without effect.

So a ``server.properties`` of Apache Kafka is valid here. The settings of TLS, SASL, tokens, tiered storage and streams
groups are not among them: a node that does not serve these calls them unknown.
"""

from __future__ import annotations

from functools import partial

import attrs

from kraft.config.setting import (
    ConfigType,
    at_least,
    boolean,
    each_of,
    integer,
    long,
    setting,
    string,
    words,
)

_plugin = partial(setting, ConfigType.CLASS, None)
_NO_PURGATORY = "a response is removed once it is sent"
_ONE_LOOP = "one loop runs everything"
_NO_QUOTAS = "there are no quotas of clients yet"
_NO_REPORTERS = "metrics are served by kraft.metrics.listener only"
_NO_WINDOWS = "each metric has a window of its own"
_NO_BATCHES = "each decision is a batch of its own"


@attrs.frozen(eq=False, repr=False)
class AcceptedSettings:
    """The settings, by topic: groups, quorum, requests, metrics, quotas, plugins."""

    group_coordinator_rebalance_protocols: tuple[str, ...] = words(
        ("classic", "consumer", "streams"),
        "The protocols of groups.",
        limit=each_of("consumer", "classic", "share", "streams"),
        not_honoured="the levels of group.version and share.version decide",
    )
    group_consumer_assignors: tuple[str, ...] = words(
        ("uniform", "range"),
        "The assignors of the coordinator; the first one is the default.",
        not_honoured="both are there, and uniform is the default",
    )
    group_share_assignors: tuple[str, ...] = words(
        ("simple",), "The assignor of share groups.", not_honoured="there is only simple"
    )
    group_coordinator_threads: int = integer(
        4, "The threads of the group coordinator.", limit=at_least(1), not_honoured=_ONE_LOOP
    )
    group_coordinator_background_threads: int = integer(
        2,
        "The threads for expensive work of the group coordinator.",
        limit=at_least(1),
        not_honoured="worker threads are shared by the node",
    )
    group_coordinator_append_linger_ms: int = integer(
        -1, "How long a write of a group waits for others; -1 adapts.", limit=at_least(-1), not_honoured=_NO_BATCHES
    )
    group_coordinator_cached_buffer_max_bytes: int = integer(
        2**20 + 12,
        "The largest buffer of the group coordinator that is used again.",
        limit=at_least(512 * 1024),
        not_honoured="buffers are not used again",
    )
    share_coordinator_cached_buffer_max_bytes: int = integer(
        2**20 + 12,
        "The largest buffer of the share coordinator that is used again.",
        limit=at_least(512 * 1024),
        not_honoured="buffers are not used again",
    )
    transaction_two_phase_commit_enable: bool = boolean(
        False, "Whether producers may prepare transactions (KIP-939).", not_honoured="transactions have one phase"
    )
    controller_quorum_bootstrap_servers: tuple[str, ...] = words(
        (),
        "Addresses by which a node finds the quorum (KIP-853).",
        not_honoured="controller.quorum.voters names the controllers",
    )
    controller_quorum_auto_join_enable: bool = boolean(
        False, "Whether a controller becomes a voter by itself (KIP-853).", not_honoured="the voters are static"
    )
    controller_quorum_fetch_max_bytes: int = integer(
        2**20,
        "The bytes that a follower of the quorum requests in one Fetch.",
        limit=at_least(1),
        not_honoured="it requests up to 8 MiB",
    )
    controller_quorum_fetch_snapshot_max_bytes: int = integer(
        2**20,
        "The bytes that a follower of the quorum requests in one FetchSnapshot.",
        limit=at_least(1),
        not_honoured="the leader limits a piece",
    )
    controller_socket_timeout_ms: int = integer(
        30_000,
        "How long a broker waits for a response of the controller.",
        not_honoured="each request has its own time",
    )
    log_dir_failure_timeout_ms: int = long(
        30_000,
        "How long a broker goes on whose controller does not know of a failed directory.",
        limit=at_least(1),
        not_honoured="it goes on, and repeats its request to the controller",
    )
    cordoned_log_dirs: tuple[str, ...] = words(
        (), "Directories that get no new replicas (KIP-1066).", not_honoured="every directory gets replicas"
    )
    num_replica_alter_log_dirs_threads: int | None = integer(
        None, "The threads that move replicas between directories.", not_honoured=_ONE_LOOP
    )
    replica_selector_class: str | None = string(
        None,
        "Which replica a client fetches from (KIP-392).",
        not_honoured="a leader names no other replica; a follower serves consumers that Apache's leader sends to it",
    )
    socket_connection_setup_timeout_ms: int = long(
        10_000,
        "How long a broker waits for a connection to another.",
        not_honoured="a connect has the time of its request",
    )
    socket_connection_setup_timeout_max_ms: int = long(
        30_000, "The longest such wait after failures.", not_honoured="a connect has the time of its request"
    )
    early_start_listeners: tuple[str, ...] | None = words(
        None, "Listeners that accept before the authorizer is ready.", not_honoured="there is no authorizer yet"
    )
    producer_purgatory_purge_interval_requests: int = integer(
        1000, "After how many requests finished Produces are removed.", not_honoured=_NO_PURGATORY
    )
    fetch_purgatory_purge_interval_requests: int = integer(
        1000, "After how many requests finished Fetches are removed.", not_honoured=_NO_PURGATORY
    )
    share_fetch_purgatory_purge_interval_requests: int = integer(
        1000, "After how many requests finished ShareFetches are removed.", not_honoured=_NO_PURGATORY
    )
    delete_records_purgatory_purge_interval_requests: int = integer(
        1, "After how many requests finished DeleteRecords are removed.", not_honoured=_NO_PURGATORY
    )
    metric_reporters: tuple[str, ...] = words(
        ("org.apache.kafka.common.metrics.JmxReporter",), "The classes that report metrics.", not_honoured=_NO_REPORTERS
    )
    kafka_metrics_reporters: tuple[str, ...] = words(
        (), "The classes that report metrics of the older kind.", not_honoured=_NO_REPORTERS
    )
    kafka_metrics_polling_interval_secs: int = integer(
        10, "How often such a reporter runs.", limit=at_least(1), not_honoured=_NO_REPORTERS
    )
    metrics_num_samples: int = integer(
        2, "The samples of a measured rate.", limit=at_least(1), not_honoured=_NO_WINDOWS
    )
    metrics_sample_window_ms: int = long(30_000, "The time of one sample.", limit=at_least(1), not_honoured=_NO_WINDOWS)
    metrics_recording_level: str = string("INFO", "The level of the metrics.", not_honoured="all metrics are measured")
    telemetry_max_bytes: int = integer(
        2**20,
        "The largest push of a client's metrics (KIP-714).",
        limit=at_least(1),
        not_honoured="no plugin receives metrics of clients",
    )
    quota_window_num: int = integer(11, "The windows of a client's quota.", limit=at_least(1), not_honoured=_NO_QUOTAS)
    quota_window_size_seconds: int = integer(
        1, "The length of each of these windows.", limit=at_least(1), not_honoured=_NO_QUOTAS
    )
    controller_quota_window_num: int = integer(
        11, "The windows of the quota of mutations.", limit=at_least(1), not_honoured=_NO_QUOTAS
    )
    controller_quota_window_size_seconds: int = integer(
        1, "The length of each of these windows.", limit=at_least(1), not_honoured=_NO_QUOTAS
    )
    client_quota_callback_class: str | None = _plugin("Computes the quotas of clients.", not_honoured=_NO_QUOTAS)
    create_topic_policy_class_name: str | None = _plugin(
        "Checks new topics (KIP-108).", not_honoured="no class of Java is loaded"
    )
    alter_config_policy_class_name: str | None = _plugin(
        "Checks changes of settings (KIP-133).", not_honoured="no class of Java is loaded"
    )
    config_providers: tuple[str, ...] = words(
        (), "Classes that resolve references in settings (KIP-297).", not_honoured="settings have no references"
    )
