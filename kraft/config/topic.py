"""The settings of a topic, their defaults, and the broker settings that give these defaults.

The first source with a value counts: the topic's overrides, then its broker synonyms, strongest first, then Kafka's
default. So ``log.retention.ms`` beats ``log.retention.minutes``, which beats ``log.retention.hours``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from kraft.config.setting import (
    LONG_MAX,
    ConfigError,
    ConfigKey,
    ConfigType,
    Importance,
    Synonym,
    Validator,
    at_least,
    between,
    between_or,
    boolean,
    double,
    each_of,
    integer,
    long,
    one_line,
    one_of,
    string,
    structure,
    table,
    words,
)

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

_THROTTLED_REPLICA = re.compile(r"(?:[0-9]+:[0-9]+)?")
"""An element may be empty, as in Kafka's ThrottledReplicaListValidator."""
_THROTTLED = Validator(
    "[partition]:[broker],... or *",
    lambda replicas: (
        None
        if "".join(replicas) == "*" or all(_THROTTLED_REPLICA.fullmatch(replica) for replica in replicas)
        else "Value must be the literal '*' or a list of replicas in the form partition:broker,partition:broker,..."
    ),
)
_NO_TIERED_STORAGE = Validator(
    "[false]", lambda enabled: "Tiered storage is not supported: the only value is false" if enabled else None
)


def _from(*names: str) -> tuple[Synonym, ...]:
    """Return broker synonyms with their factors. A name that ends in minutes or hours is scaled to milliseconds."""
    factors = {"minutes": MINUTE_MS, "hours": HOUR_MS}
    return tuple(Synonym(name, factors.get(name.rpartition(".")[2], 1)) for name in names)


COMPACT: Final = "compact"


@attrs.frozen
class LogConfig:
    """The effective settings of one partition's log. The last word of each name is the unit."""

    cleanup_policy: frozenset[str] = words(
        ("delete",),
        "What happens to old segments: delete by age and size, compact to the last value of a key, both, or nothing.",
        limit=each_of(COMPACT, "delete"),
        synonyms=_from("log.cleanup.policy"),
        as_set=True,
    )
    compression_type: str = string(
        "producer",
        "The codec in which batches are stored; producer keeps each batch as it was sent.",
        limit=one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        synonyms=_from("compression.type"),
    )
    compression_gzip_level: int = integer(
        -1,
        "The gzip level when the log is stored with compression.type gzip; -1 is the library's own default.",
        limit=between_or(1, 9, -1),
        synonyms=_from("compression.gzip.level"),
    )
    compression_lz4_level: int = integer(
        9,
        "The lz4 level when the log is stored with compression.type lz4.",
        limit=between(1, 17),
        synonyms=_from("compression.lz4.level"),
    )
    compression_zstd_level: int = integer(
        3,
        "The zstd level when the log is stored with compression.type zstd.",
        limit=between(-131072, 22),
        synonyms=_from("compression.zstd.level"),
    )
    delete_retention_ms: int = long(
        DAY_MS,
        "How long a compacted log keeps a delete marker, so that slow readers still see it.",
        limit=at_least(0),
        synonyms=_from("log.cleaner.delete.retention.ms"),
    )
    file_delete_delay_ms: int = long(
        MINUTE_MS,
        "How long files of deleted segments and partitions wait. Compaction deletes what it replaces at once.",
        limit=at_least(0),
        synonyms=_from("log.segment.delete.delay.ms"),
    )
    flush_messages: int = long(
        LONG_MAX,
        "Force an fsync once this many records were appended since the last one.",
        limit=at_least(1),
        synonyms=_from("log.flush.interval.messages"),
    )
    flush_ms: int = long(
        LONG_MAX,
        "Force an fsync once a record has waited this long in memory.",
        limit=at_least(0),
        synonyms=_from("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    )
    follower_replication_throttled_replicas: tuple[str, ...] = words(
        (),
        "The replicas whose replication is throttled on the follower side: partition:broker,... or * for all.",
        limit=_THROTTLED,
    )
    index_interval_bytes: int = integer(
        4096,
        "Add an entry to the offset index once about this many bytes were appended, at most 256 KiB.",
        limit=at_least(0),
        synonyms=_from("log.index.interval.bytes"),
    )
    leader_replication_throttled_replicas: tuple[str, ...] = words(
        (),
        "The replicas whose replication is throttled on the leader side: partition:broker,... or * for all.",
        limit=_THROTTLED,
    )
    max_compaction_lag_ms: int = long(
        LONG_MAX,
        "The longest that a record of a compacted log may stay out of reach of the cleaner.",
        limit=at_least(1),
        synonyms=_from("log.cleaner.max.compaction.lag.ms"),
    )
    max_message_bytes: int = integer(
        1_048_588,
        "The largest batch that is accepted, after compression, its header included.",
        limit=at_least(0),
        synonyms=_from("message.max.bytes"),
    )
    message_downconversion_enable: bool = boolean(
        True,
        "Whether batches are rewritten for consumers that know only an older format.",
        importance=Importance.LOW,
        not_honoured="the broker serves batches only in their stored format",
        synonyms=_from("log.message.downconversion.enable"),
    )
    message_timestamp_after_max_ms: int = long(
        HOUR_MS,
        "How far a record's timestamp may lie after the broker's clock; only checked with CreateTime.",
        limit=at_least(0),
        synonyms=_from("log.message.timestamp.after.max.ms"),
    )
    message_timestamp_before_max_ms: int = long(
        LONG_MAX,
        "How far a record's timestamp may lie before the broker's clock; only checked with CreateTime.",
        limit=at_least(0),
        synonyms=_from("log.message.timestamp.before.max.ms"),
    )
    message_timestamp_type: str = string(
        "CreateTime",
        "Whether a record's timestamp is the producer's or the time of the append.",
        limit=one_of("CreateTime", "LogAppendTime"),
        synonyms=_from("log.message.timestamp.type"),
    )
    min_cleanable_dirty_ratio: float = double(
        0.5,
        "The cleaner takes a compacted log once more than this share of it is uncompacted.",
        limit=between(0, 1),
        synonyms=_from("log.cleaner.min.cleanable.ratio"),
    )
    min_compaction_lag_ms: int = long(
        0,
        "The least time that a record of a compacted log stays out of reach of the cleaner.",
        limit=at_least(0),
        synonyms=_from("log.cleaner.min.compaction.lag.ms"),
    )
    min_insync_replicas: int = integer(
        1,
        "A write with acks=all is refused while fewer replicas than this are in sync.",
        limit=at_least(1),
        synonyms=_from("min.insync.replicas"),
    )
    preallocate: bool = boolean(
        False,
        "Give a new segment its full size on disk when it is created.",
        synonyms=_from("log.preallocate"),
        not_honoured="the node does not preallocate segments",
    )
    remote_storage_enable: bool = boolean(
        False,
        "Tiered storage of this topic; known so that its default can be described, and always off.",
        limit=_NO_TIERED_STORAGE,
    )
    retention_bytes: int = long(
        -1,
        "Delete old segments of a partition that is larger than this; -1 is no limit.",
        synonyms=_from("log.retention.bytes"),
    )
    retention_ms: int = long(
        7 * DAY_MS,
        "Delete segments whose newest record is older than this; -1 is no limit.",
        limit=at_least(-1),
        synonyms=_from("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    segment_bytes: int = integer(
        2**30,
        "Start a new segment once the active one would grow beyond this.",
        limit=at_least(14),
        synonyms=_from("log.segment.bytes"),
    )
    segment_index_bytes: int = integer(
        10 * 2**20,
        "The largest index file of a segment; a full index starts a new segment.",
        limit=at_least(4),
        synonyms=_from("log.index.size.max.bytes"),
    )
    segment_jitter_ms: int = long(
        0,
        "The most that is taken off segment.ms at random, so that segments do not all roll at once.",
        limit=at_least(0),
        synonyms=_from("log.roll.jitter.ms", "log.roll.jitter.hours"),
    )
    segment_ms: int = long(
        7 * DAY_MS,
        "Start a new segment once the active one is this old, full or not.",
        limit=at_least(1),
        synonyms=_from("log.roll.ms", "log.roll.hours"),
    )
    unclean_leader_election_enable: bool = boolean(
        False,
        "Let a replica that is out of sync lead when no other is left, at the price of lost records.",
        synonyms=_from("unclean.leader.election.enable"),
    )


TOPIC_CONFIGS: dict[str, ConfigKey] = table(LogConfig)


def _broker_key(topic_key: ConfigKey, synonym: Synonym) -> ConfigKey:
    """Return the broker setting behind a topic setting. Only the weakest of several has a default, as in Kafka."""
    default = topic_key.default if synonym == topic_key.synonyms[-1] else None
    config_type, validator = topic_key.type, topic_key.validator
    if synonym.factor != 1:
        config_type = ConfigType.INT
        validator = validator and _in_units(validator, synonym.factor)
        if isinstance(default, int):
            default //= synonym.factor
    doc = f"The default of the topic setting {topic_key.name}. {topic_key.doc}"
    why_not = topic_key.not_honoured
    return ConfigKey(synonym.name, config_type, default, validator, topic_key.importance, doc, not_honoured=why_not)


def _in_units(limit: Validator, factor: int) -> Validator:
    """Return the limit of a topic setting for a setting in minutes or hours. -1 keeps its meaning in every unit."""
    return Validator(limit.allowed, lambda value: limit.refusal(value if value == -1 else value * factor))


#: The broker settings that give topic defaults (such as ``log.retention.hours``), by name.
TOPIC_DEFAULT_CONFIGS: dict[str, ConfigKey] = {
    synonym.name: _broker_key(key, synonym) for key in TOPIC_CONFIGS.values() for synonym in key.synonyms
}


def topic_key(name: str) -> ConfigKey:
    """Return the topic setting called ``name``. Raises ConfigError if Kafka has none."""
    if name not in TOPIC_CONFIGS:
        raise ConfigError(f"Unknown topic config name: {one_line(name)}")
    return TOPIC_CONFIGS[name]


def validate_topic_configs(overrides: Mapping[str, str], broker_values: Mapping[str, str]) -> LogConfig:
    """Check the overrides of a topic from a client, and return the effective settings.

    Raises ConfigError for an unknown name, a refused value, or values that contradict each other.
    """
    for name in overrides:
        topic_key(name)
    config = log_config(overrides, broker_values)
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise ConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({config.min_compaction_lag_ms}) > "
            f"max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )
    return config


def log_config(overrides: Mapping[str, str], broker_values: Mapping[str, str]) -> LogConfig:
    """Return the effective settings of a topic: its overrides, else the broker's values, else Kafka's defaults.

    Both mappings have Kafka's names and texts. Names that are not topic settings or their synonyms are ignored. Raises
    ConfigError for a value that Kafka would refuse.
    """
    return structure(dict(_effective_texts(overrides, broker_values)), LogConfig)


def _effective_texts(overrides: Mapping[str, str], broker_values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in TOPIC_CONFIGS:
        text = effective_text(name, overrides, broker_values)
        if text is not None:
            yield name, text


def effective_text(name: str, overrides: Mapping[str, str], broker_values: Mapping[str, str]) -> str | None:
    """Return the text of one topic setting from the strongest source, or None if only Kafka's default is left.

    Raises ConfigError if the unit of a broker's setting is another, and its text is not allowed.
    """
    if name in overrides:
        return overrides[name]
    synonym = next((each for each in TOPIC_CONFIGS[name].synonyms if each.name in broker_values), None)
    return None if synonym is None else in_topic_units(synonym, broker_values[synonym.name])


def in_topic_units(synonym: Synonym, text: str) -> str:
    """Convert a broker setting's text to the topic setting's unit: hours become milliseconds, -1 stays.

    Raises ConfigError, which names the broker setting, if the text is not allowed there.
    """
    value = TOPIC_DEFAULT_CONFIGS[synonym.name].parse(text)
    if synonym.factor == 1 or value == -1 or not isinstance(value, int):
        return text
    return str(value * synonym.factor)
