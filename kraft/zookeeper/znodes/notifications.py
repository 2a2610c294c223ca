"""Sequential znodes by which brokers notify others: changed ISRs, failed log directories, changed configurations."""

from __future__ import annotations

from collections.abc import Iterable

from kraft.zookeeper.znodes.admin import TopicPartition
from kraft.zookeeper.znodes.fields import MalformedZnode, decode_object, encode_json

ISR_CHANGES = "/isr_change_notification"
ISR_CHANGE_PREFIX = "isr_change_"
LOG_DIR_EVENTS = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = "log_dir_event_"
CONFIG_CHANGES = "/config/changes"
CONFIG_CHANGE_PREFIX = "config_change_"
_LOG_DIR_FAILURE = 1


def encode_isr_change(partitions: Iterable[TopicPartition]) -> bytes:
    named = [{"topic": topic, "partition": index} for topic, index in partitions]
    return encode_json({"version": 1, "partitions": named})


def decode_isr_change(path: str, data: bytes | None) -> tuple[TopicPartition, ...]:
    """Raises MalformedZnode."""
    fields = decode_object(path, data)
    return tuple((each.text("topic"), each.integer("partition")) for each in fields.objects("partitions"))


def encode_log_dir_event(broker_id: int) -> bytes:
    return encode_json({"version": 1, "broker": broker_id, "event": _LOG_DIR_FAILURE})


def decode_log_dir_event(path: str, data: bytes | None) -> int:
    """The broker that lost a log directory. Raises MalformedZnode."""
    return decode_object(path, data).integer("broker")


def encode_config_change(entity_path: str) -> bytes:
    """``entity_path`` is, for example, ``topics/orders``."""
    return encode_json({"version": 2, "entity_path": entity_path})


def decode_config_change(path: str, data: bytes | None) -> str:
    """Read versions 1 and 2; version 1, of brokers before 0.10.1, has the type and the name apart.

    Raises MalformedZnode.
    """
    fields = decode_object(path, data)
    version = fields.integer("version")
    if version == 1:
        return f"{fields.text('entity_type')}/{fields.text('entity_name')}"
    if version != 2:
        raise MalformedZnode(path, f"version {version}")
    return fields.text("entity_path")
