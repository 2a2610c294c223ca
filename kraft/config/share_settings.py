"""The broker settings of share partitions and of their coordinator (KIP-932)."""

from __future__ import annotations

import attrs

from kraft.config.setting import at_least, between, integer, short


@attrs.frozen(eq=False, repr=False)
class ShareSettings:
    """Share partitions, share sessions, and ``__share_group_state``."""

    group_share_delivery_count_limit: int = integer(
        5, "How often a record is delivered to a share group at most.", limit=between(2, 10)
    )
    group_share_min_delivery_count_limit: int = integer(
        2, "The lowest value that a group may set for share.delivery.count.limit.", limit=between(2, 5)
    )
    group_share_max_delivery_count_limit: int = integer(
        10, "The highest value that a group may set for share.delivery.count.limit.", limit=between(5, 25)
    )
    group_share_record_lock_duration_ms: int = integer(
        30_000, "How long a member of a share group holds a record.", limit=between(1000, 3_600_000)
    )
    group_share_min_record_lock_duration_ms: int = integer(
        15_000, "The lowest value that a group may set for share.record.lock.duration.ms.", limit=between(1000, 30_000)
    )
    group_share_max_record_lock_duration_ms: int = integer(
        60_000,
        "The highest value that a group may set for share.record.lock.duration.ms.",
        limit=between(30_000, 3_600_000),
    )
    group_share_partition_max_record_locks: int = integer(
        2000, "The records of a partition that a share group has in flight at most.", limit=between(100, 10_000)
    )
    group_share_min_partition_max_record_locks: int = integer(
        100, "The lowest value that a group may set for share.partition.max.record.locks.", limit=between(100, 2000)
    )
    group_share_max_partition_max_record_locks: int = integer(
        4000,
        "The highest value that a group may set for share.partition.max.record.locks.",
        limit=between(2000, 10_000),
    )
    group_share_max_share_sessions: int = integer(
        2000, "The share sessions that a broker keeps at most.", limit=at_least(1)
    )
    share_coordinator_state_topic_num_partitions: int = integer(
        50, "The partitions of __share_group_state; not to be changed later.", limit=at_least(1)
    )
    share_coordinator_state_topic_replication_factor: int = short(
        3, "The replicas of __share_group_state.", limit=at_least(1)
    )
    share_coordinator_state_topic_min_isr: int = short(
        2, "min.insync.replicas of __share_group_state.", limit=at_least(1)
    )
    share_coordinator_state_topic_segment_bytes: int = integer(
        100 * 2**20, "The segment size of __share_group_state.", limit=at_least(1)
    )
    share_coordinator_snapshot_update_records_per_snapshot: int = integer(
        500, "The updates of a share partition's state after which a snapshot follows.", limit=between(0, 500)
    )
    share_coordinator_write_timeout_ms: int = integer(
        5000, "How long a write of a share partition's state waits for its replicas.", limit=at_least(1)
    )
    share_coordinator_load_buffer_size: int = integer(
        5 * 2**20,
        "How much of the state log is read at once when a coordinator loads it.",
        limit=at_least(1),
        not_honoured="the log is read in pieces of 1 MiB",
    )
    share_coordinator_state_topic_compression_codec: int = integer(
        0,
        "The codec of batches in __share_group_state: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        limit=between(0, 4),
        not_honoured="written uncompressed",
    )
    share_coordinator_append_linger_ms: int = integer(
        -1,
        "How long a write waits for others.",
        limit=at_least(-1),
        not_honoured="a write waits for no other",
    )
    share_coordinator_threads: int = integer(
        1, "The threads of the share coordinator.", limit=at_least(1), not_honoured="one loop runs everything"
    )
