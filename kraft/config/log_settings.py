"""The broker settings of the log: its directories, upkeep and replication.

``kraft.config.topic`` derives the defaults of topic settings (such as ``log.retention.hours``).
"""

from __future__ import annotations

import attrs

from kraft.config.setting import (
    INT_MAX,
    Importance,
    at_least,
    between,
    boolean,
    double,
    integer,
    long,
    one_of_ignoring_case,
    short,
    string,
    words,
)

DAY_MS = 24 * 60 * 60 * 1000


@attrs.frozen(eq=False, repr=False)
class LogSettings:
    """Directories, retention checks and the cleaner."""

    log_dir: tuple[str, ...] = words(("/tmp/kafka-logs",), "The directories of the log where log.dirs is not set.")
    log_dirs: tuple[str, ...] | None = words(
        None, "The directories of the log, separated by commas.", importance=Importance.HIGH
    )
    metadata_log_dir: str | None = string(
        None, "The directory of the metadata log; not set, the first log directory (KIP-631)."
    )
    num_recovery_threads_per_data_dir: int = integer(
        2,
        "How many logs of one directory are recovered at once.",
        limit=at_least(1),
        not_honoured="logs are opened one after the other",
    )
    log_initial_task_delay_ms: int = long(
        30_000,
        "How long after start the first retention, flush and cleaning runs begin.",
        limit=at_least(0),
        not_honoured="cleaning begins at once, the others after one interval",
    )
    log_retention_check_interval_ms: int = long(
        300_000, "How often segments are checked for retention.", limit=at_least(1)
    )
    log_flush_offset_checkpoint_interval_ms: int = integer(
        60_000, "How often the recovery point is written to disk.", limit=at_least(0)
    )
    log_flush_start_offset_checkpoint_interval_ms: int = integer(
        60_000,
        "How often log start offsets are written to disk.",
        limit=at_least(0),
        not_honoured="written together with the recovery points",
    )
    log_cleaner_enable: bool = boolean(True, "Whether logs are compacted at all.")
    log_cleaner_threads: int = integer(
        1, "How many logs are compacted at once.", limit=at_least(0), not_honoured="one log is compacted at a time"
    )
    log_cleaner_backoff_ms: int = long(15_000, "How long the cleaner pauses when no log is due.", limit=at_least(0))
    log_cleaner_dedupe_buffer_size: int = long(
        128 * 2**20,
        "The memory for the key map of all cleaners together, in bytes.",
        not_honoured="the key map has room for 500,000 keys",
    )
    log_cleaner_io_buffer_size: int = integer(
        512 * 2**10,
        "The read and write buffers of all cleaners together, in bytes.",
        limit=at_least(0),
        not_honoured="the cleaner reads batch by batch",
    )
    log_cleaner_io_buffer_load_factor: float = double(
        0.9, "How full the cleaner's key map may become.", not_honoured="the key map may become full"
    )
    log_cleaner_io_max_bytes_per_second: float = double(
        1.7976931348623157e308,
        "The maximum bytes per second that the cleaners read and write.",
        not_honoured="the cleaner is not throttled",
    )


@attrs.frozen(eq=False, repr=False)
class TopicSettings:
    """Creation and deletion of topics."""

    auto_create_topics_enable: bool = boolean(
        True, "Create a topic when a producer requests its metadata.", importance=Importance.HIGH
    )
    delete_topic_enable: bool = boolean(True, "Whether topics may be deleted.", importance=Importance.HIGH)
    num_partitions: int = integer(1, "The partitions of a topic that does not say how many.", limit=at_least(1))
    default_replication_factor: int = integer(1, "The replicas of a topic that does not say how many.")


@attrs.frozen(eq=False, repr=False)
class ReplicationSettings:
    """Followers, in-sync replicas and leader balance."""

    num_replica_fetchers: int = integer(
        1, "The fetchers for each leader that this broker follows.", not_honoured="one fetcher for each leader"
    )
    replica_lag_time_max_ms: int = long(
        30_000, "A follower that has not caught up for this long leaves the in-sync replicas."
    )
    replica_socket_timeout_ms: int = integer(30_000, "How long a follower waits for its leader's response.")
    replica_socket_receive_buffer_bytes: int = integer(
        64 * 2**10, "SO_RCVBUF of a follower's connection.", not_honoured="left to the system"
    )
    replica_fetch_max_bytes: int = integer(
        2**20, "The bytes that a follower requests per partition.", limit=at_least(0)
    )
    replica_fetch_wait_max_ms: int = integer(500, "How long a leader may hold a follower's Fetch.")
    replica_fetch_min_bytes: int = integer(
        1, "The bytes for which a leader answers a follower's Fetch before the wait ends."
    )
    replica_fetch_response_max_bytes: int = integer(
        10 * 2**20, "The bytes that a follower requests in one Fetch.", limit=at_least(0)
    )
    replica_fetch_backoff_ms: int = integer(1000, "How long a follower pauses after an error.", limit=at_least(0))
    replica_high_watermark_checkpoint_interval_ms: int = long(5000, "How often high watermarks are written to disk.")
    replication_quota_window_num: int = integer(
        11, "The windows over which the rate of throttled replication is measured.", limit=at_least(1)
    )
    replication_quota_window_size_seconds: int = integer(1, "The length of each of these windows.", limit=at_least(1))
    alter_log_dirs_replication_quota_window_num: int = integer(
        11, "The windows over which the rate of moves between directories is measured.", limit=at_least(1)
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = integer(
        1, "The length of each of these windows.", limit=at_least(1)
    )
    auto_leader_rebalance_enable: bool = boolean(True, "Move leadership back to preferred replicas.")
    leader_imbalance_check_interval_seconds: int = long(
        300, "How often leader imbalance is checked.", limit=at_least(1)
    )
    leader_imbalance_per_broker_percentage: int = integer(
        10,
        "The percentage of a broker's preferred leaderships that may be elsewhere. Only with ZooKeeper: else none may.",
    )
    controlled_shutdown_enable: bool = boolean(True, "Move leaders away before the broker stops.")
    controlled_shutdown_max_retries: int = integer(
        3,
        "How often a controlled shutdown is tried again. Only with ZooKeeper: else it is one, for at most 10 s, that "
        "ends with the first failed heartbeat.",
    )
    controlled_shutdown_retry_backoff_ms: int = long(5000, "The pause between those tries. Only with ZooKeeper.")


@attrs.frozen(eq=False, repr=False)
class GroupSettings:
    """Consumer groups and ``__consumer_offsets``. The settings ``group.consumer.*`` are those of KIP-848, and
    ``group.share.*`` those of KIP-932.
    """

    group_min_session_timeout_ms: int = integer(6000, "The shortest session timeout that a member may request.")
    group_max_session_timeout_ms: int = integer(1_800_000, "The longest session timeout that a member may request.")
    group_initial_rebalance_delay_ms: int = integer(
        3000, "How long the first rebalance of an empty group waits for more members."
    )
    group_max_size: int = integer(INT_MAX, "The maximum number of members of a group.", limit=at_least(1))
    group_consumer_session_timeout_ms: int = integer(
        45_000, "The session timeout of members that use the consumer protocol.", limit=at_least(1)
    )
    group_consumer_heartbeat_interval_ms: int = integer(
        5000, "How often members that use the consumer protocol send heartbeats.", limit=at_least(1)
    )
    group_consumer_min_session_timeout_ms: int = integer(
        45_000, "The shortest session timeout that a group may set with consumer.session.timeout.ms.", limit=at_least(1)
    )
    group_consumer_max_session_timeout_ms: int = integer(
        60_000, "The longest session timeout that a group may set with consumer.session.timeout.ms.", limit=at_least(1)
    )
    group_consumer_min_heartbeat_interval_ms: int = integer(
        5000, "The shortest interval that a group may set with consumer.heartbeat.interval.ms.", limit=at_least(1)
    )
    group_consumer_max_heartbeat_interval_ms: int = integer(
        15_000, "The longest interval that a group may set with consumer.heartbeat.interval.ms.", limit=at_least(1)
    )
    group_consumer_max_size: int = integer(
        INT_MAX, "The maximum number of members of a group that uses the consumer protocol.", limit=at_least(1)
    )
    group_consumer_assignment_interval_ms: int = integer(
        1000, "The least time between two assignments of a group that uses the consumer protocol.", limit=at_least(0)
    )
    group_consumer_min_assignment_interval_ms: int = integer(
        0, "The shortest interval that a group may set with consumer.assignment.interval.ms.", limit=at_least(0)
    )
    group_consumer_max_assignment_interval_ms: int = integer(
        15_000, "The longest interval that a group may set with consumer.assignment.interval.ms.", limit=at_least(0)
    )
    group_consumer_migration_policy: str = string(
        "bidirectional",
        "Whether a group with members may go from the classic protocol to the consumer protocol (upgrade), back "
        "(downgrade), or both. Case is ignored.",
        limit=one_of_ignoring_case("disabled", "downgrade", "upgrade", "bidirectional"),
    )
    group_consumer_regex_refresh_interval_ms: int = integer(
        600_000,
        "How often the coordinator searches again for the topics that match regular expressions.",
        limit=at_least(10_000),
    )
    group_share_session_timeout_ms: int = integer(
        45_000, "The session timeout of members of share groups.", limit=at_least(1)
    )
    group_share_heartbeat_interval_ms: int = integer(
        5000, "How often members of share groups send heartbeats.", limit=at_least(1)
    )
    group_share_min_session_timeout_ms: int = integer(
        45_000, "The shortest session timeout that a group may set with share.session.timeout.ms.", limit=at_least(1)
    )
    group_share_max_session_timeout_ms: int = integer(
        60_000, "The longest session timeout that a group may set with share.session.timeout.ms.", limit=at_least(1)
    )
    group_share_min_heartbeat_interval_ms: int = integer(
        5000, "The shortest interval that a group may set with share.heartbeat.interval.ms.", limit=at_least(1)
    )
    group_share_max_heartbeat_interval_ms: int = integer(
        15_000, "The longest interval that a group may set with share.heartbeat.interval.ms.", limit=at_least(1)
    )
    group_share_max_size: int = integer(200, "The maximum number of members of a share group.", limit=between(1, 1000))
    group_share_assignment_interval_ms: int = integer(
        1000, "The least time between two assignments of a share group.", limit=at_least(0)
    )
    group_share_min_assignment_interval_ms: int = integer(
        0, "The shortest interval that a group may set with share.assignment.interval.ms.", limit=at_least(0)
    )
    group_share_max_assignment_interval_ms: int = integer(
        15_000, "The longest interval that a group may set with share.assignment.interval.ms.", limit=at_least(0)
    )
    group_share_initialize_retry_interval_ms: int = integer(
        30_000,
        "The pause before the state of a partition is asked for again; at least offsets.commit.timeout.ms.",
        limit=at_least(1),
    )
    offset_metadata_max_bytes: int = integer(4096, "The longest metadata text that may go with a committed offset.")
    offsets_load_buffer_size: int = integer(
        5 * 2**20,
        "How much of the offsets log is read at once when a coordinator loads it.",
        limit=at_least(1),
        not_honoured="the log is read in pieces of 1 MiB",
    )
    offsets_commit_timeout_ms: int = integer(5000, "How long a commit waits for its replicas.", limit=at_least(1))
    offsets_topic_num_partitions: int = integer(
        50, "The partitions of __consumer_offsets; not to be changed later.", limit=at_least(1)
    )
    offsets_topic_replication_factor: int = short(
        3, "The replicas of __consumer_offsets.", limit=at_least(1), importance=Importance.HIGH
    )
    offsets_topic_segment_bytes: int = integer(
        100 * 2**20, "The segment size of __consumer_offsets.", limit=at_least(1)
    )
    offsets_topic_compression_codec: int = integer(
        0,
        "The codec of batches in __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        limit=between(0, 4),
        not_honoured="written uncompressed",
    )
    offsets_retention_minutes: int = integer(
        10_080, "How long the offsets of an empty group are kept.", limit=at_least(1)
    )
    offsets_retention_check_interval_ms: int = long(
        600_000, "How often offsets are checked for expiry.", limit=at_least(1)
    )


@attrs.frozen(eq=False, repr=False)
class TransactionSettings:
    """Producer ids, transactions and ``__transaction_state``."""

    producer_id_expiration_ms: int = integer(
        DAY_MS, "How long a partition keeps the state of an idle producer.", limit=at_least(1)
    )
    producer_id_expiration_check_interval_ms: int = integer(
        600_000, "How often partitions drop the state of idle producers.", limit=at_least(1)
    )
    transactional_id_expiration_ms: int = integer(
        7 * DAY_MS,
        "How long the coordinator keeps an unused transactional id.",
        limit=at_least(1),
    )
    transaction_max_timeout_ms: int = integer(
        900_000,
        "The longest transaction timeout that a producer may request.",
        limit=at_least(1),
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = integer(
        10_000,
        "How often transactions are checked for their timeout.",
        limit=at_least(1),
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = integer(
        3_600_000,
        "How often transactional ids are checked for expiry.",
        limit=at_least(1),
    )
    transaction_partition_verification_enable: bool = boolean(
        True,
        "Check with the coordinator that a transactional write belongs to an open transaction.",
    )
    add_partitions_to_txn_retry_backoff_ms: int = integer(
        20,
        "The pause before a broker adds partitions to a transaction again, while the last one is not yet complete.",
        limit=at_least(1),
        importance=Importance.HIGH,
    )
    add_partitions_to_txn_retry_backoff_max_ms: int = integer(
        100,
        "How long a broker tries to add partitions to a transaction.",
        limit=at_least(0),
        importance=Importance.HIGH,
    )
    transaction_state_log_load_buffer_size: int = integer(
        5 * 2**20,
        "How much of the transaction log is read at once when a coordinator loads it.",
        limit=at_least(1),
        not_honoured="the log is read in pieces of 1 MiB",
    )
    transaction_state_log_num_partitions: int = integer(
        50,
        "The partitions of __transaction_state; not to be changed later.",
        limit=at_least(1),
    )
    transaction_state_log_replication_factor: int = short(
        3,
        "The replicas of __transaction_state.",
        limit=at_least(1),
        importance=Importance.HIGH,
    )
    transaction_state_log_min_isr: int = integer(2, "min.insync.replicas of __transaction_state.", limit=at_least(1))
    transaction_state_log_segment_bytes: int = integer(
        100 * 2**20,
        "The segment size of __transaction_state.",
        limit=at_least(1),
    )
