"""The settings of the controller quorum, the metadata log, and broker registration (KIP-595, KIP-630, KIP-631)."""

from __future__ import annotations

import attrs

from kraft.config.setting import LONG_MAX, Importance, at_least, integer, long, words

_DAY_MS = 24 * 60 * 60 * 1000


@attrs.frozen(eq=False, repr=False)
class QuorumSettings:
    """Elections and replication of the metadata log."""

    controller_quorum_voters: tuple[str, ...] = words(
        (), "The voters: id@host:port, separated by commas.", importance=Importance.HIGH
    )
    controller_quorum_election_timeout_ms: int = integer(
        1000,
        "How long a candidate waits for votes before it tries again.",
        importance=Importance.HIGH,
        limit=at_least(1),
    )
    controller_quorum_fetch_timeout_ms: int = integer(
        2000,
        "A voter that could not fetch for this long starts an election; a leader that no majority fetches from for 1.5 "
        "times that steps down.",
        importance=Importance.HIGH,
        limit=at_least(1),
    )
    controller_quorum_election_backoff_max_ms: int = integer(1000, "The longest pause between two candidacies.")
    controller_quorum_append_linger_ms: int = integer(
        25,
        "How long the leader gathers records before it writes.",
        not_honoured="the leader appends a change at once; one fsync covers all appends during the previous one",
    )
    controller_quorum_request_timeout_ms: int = integer(
        2000, "How long a voter waits for another's response.", limit=at_least(1)
    )
    controller_quorum_retry_backoff_ms: int = integer(20, "The pause before a failed request is tried again.")


@attrs.frozen(eq=False, repr=False)
class MetadataLogSettings:
    """Segments, snapshots and retention of ``__cluster_metadata-0`` (KIP-630)."""

    metadata_log_segment_bytes: int = integer(2**30, "The segment size of the metadata log.", limit=at_least(12))
    metadata_log_segment_ms: int = long(7 * _DAY_MS, "The longest that a segment of the metadata log is active.")
    metadata_log_max_record_bytes_between_snapshots: int = long(
        20 * 2**20, "Write a snapshot after this many bytes of new records.", limit=at_least(1)
    )
    metadata_log_max_snapshot_interval_ms: int = long(
        3_600_000, "Write a snapshot after this long if there are new records; 0 is never.", limit=at_least(0)
    )
    metadata_max_idle_interval_ms: int = integer(
        500, "The active controller writes an empty record after this long; 0 is never.", limit=at_least(0)
    )
    metadata_max_retention_bytes: int = long(100 * 2**20, "Old metadata beyond this size is deleted; -1 is no limit.")
    metadata_max_retention_ms: int = long(7 * _DAY_MS, "Metadata older than this is deleted; -1 is no limit.")


@attrs.frozen(eq=False, repr=False)
class LeaseSettings:
    """A broker's registration and the heartbeats that keep it unfenced."""

    broker_heartbeat_interval_ms: int = integer(2000, "The interval between two heartbeats of a broker.")
    broker_session_timeout_ms: int = integer(9000, "A broker without a heartbeat for this long is fenced.")
    initial_broker_registration_timeout_ms: int = integer(
        60_000, "A broker that could not register for this long gives up."
    )
    server_max_startup_time_ms: int = long(
        LONG_MAX,
        "A node that is not ready after this long gives up.",
        not_honoured="a node retries without a limit; initial.broker.registration.timeout.ms bounds a broker's start",
    )
