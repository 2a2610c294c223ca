"""/cluster/id, /config, /feature and /latest_producer_id_block, and the znodes that a broker creates at its start."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kraft.config.dynamic import check_dynamic_configs
from kraft.config.setting import ConfigError
from kraft.config.topic import TOPIC_CONFIGS
from kraft.zookeeper.znodes.admin import DELETE_TOPICS
from kraft.zookeeper.znodes.brokers import BROKER_IDS
from kraft.zookeeper.znodes.fields import MalformedZnode, decode_object, encode_json
from kraft.zookeeper.znodes.notifications import CONFIG_CHANGES, ISR_CHANGES, LOG_DIR_EVENTS
from kraft.zookeeper.znodes.properties import in_order_of_properties
from kraft.zookeeper.znodes.topics import TOPICS

CLUSTER_ID = "/cluster/id"
CONFIG = "/config"
FEATURE = "/feature"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
PRODUCER_ID_BLOCK_SIZE = 1000
BROKER_ID_SEQUENCE = "/brokers/seqid"
"""Its version is the number of broker ids that were generated."""
Entity = tuple[str, str]
"""The type and the name of what has settings: ``("topics", "orders")``, ``("brokers", "<default>")``."""
TOPIC_ENTITIES, BROKER_ENTITIES = "topics", "brokers"
ENTITY_TYPES = (TOPIC_ENTITIES, "clients", "users", BROKER_ENTITIES, "ips")
DEFAULT_ENTITY = "<default>"
PERSISTENT_PATHS = (
    "/consumers",
    BROKER_IDS,
    TOPICS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_ID_SEQUENCE,
    ISR_CHANGES,
    PRODUCER_ID_BLOCK,
    LOG_DIR_EVENTS,
    *(f"{CONFIG}/{each}" for each in ENTITY_TYPES),
)
"""Each broker creates these at its start, with their parents, unless they exist."""


@attrs.frozen
class ZkProducerIdBlock:
    """The data of /latest_producer_id_block: the last block, both ends included, and the broker that has it."""

    broker_id: int
    first: int
    last: int


@attrs.frozen
class FinalizedFeatures:
    """The data of /feature (KIP-584)."""

    is_enabled: bool
    levels: Mapping[str, int] = attrs.Factory(dict)


def encode_cluster_id(cluster_id: str) -> bytes:
    return encode_json({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes | None) -> str:
    """Raises MalformedZnode."""
    return decode_object(CLUSTER_ID, data).text("id")


def encode_producer_id_block(block: ZkProducerIdBlock) -> bytes:
    return encode_json(
        {"version": 1, "broker": block.broker_id, "block_start": str(block.first), "block_end": str(block.last)}
    )


def decode_producer_id_block(data: bytes | None) -> ZkProducerIdBlock:
    """Raises MalformedZnode."""
    fields = decode_object(PRODUCER_ID_BLOCK, data)
    block = ZkProducerIdBlock(
        fields.integer("broker"), fields.long_in_text("block_start"), fields.long_in_text("block_end")
    )
    if not 0 <= block.first <= block.last < 2**63:
        raise MalformedZnode(PRODUCER_ID_BLOCK, f"no block begins at {block.first} and ends at {block.last}")
    return block


def config_path(entity_type: str, entity: str) -> str:
    return f"{CONFIG}/{entity_type}/{entity}"


def encode_config(values: Mapping[str, str]) -> bytes:
    return encode_json({"version": 1, "config": in_order_of_properties(values)})


def decode_config(path: str, data: bytes | None) -> dict[str, str]:
    """Raises MalformedZnode."""
    config = decode_object(path, data).object("config")
    return {name: config.text(name) for name in config.values}


def usable_settings(entity: Entity, values: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings without those that a broker cannot use, and a line about each of the others.

    Kafka's DynamicBrokerConfig.removeInvalidConfigs, for topics as well: one bad setting has no effect on the others.
    """
    used, ignored = {}, []
    for name, text in values.items():
        try:
            if entity[0] == BROKER_ENTITIES:
                check_dynamic_configs({name: text})
            elif name in TOPIC_CONFIGS:
                TOPIC_CONFIGS[name].parse(text)
        except ConfigError as error:
            ignored.append(f"a setting in {config_path(*entity)} is ignored: {error}")
        else:
            used[name] = text
    return used, ignored


def encode_features(features: FinalizedFeatures) -> bytes:
    levels = {name: {"max_version_level": level} for name, level in features.levels.items()}
    return encode_json({"features": levels, "version": 2, "status": int(features.is_enabled)})


def decode_features(data: bytes | None) -> FinalizedFeatures:
    """Read versions 1 and 2; version 1 also has minimum levels, which have no effect. Raises MalformedZnode."""
    fields = decode_object(FEATURE, data)
    version, status = fields.integer("version"), fields.integer("status")
    if version not in (1, 2) or status not in (0, 1):
        raise MalformedZnode(FEATURE, f"version {version} with status {status}")
    features = fields.object("features")
    levels = {name: features.object(name).integer("max_version_level") for name in features.values}
    if any(level < 1 for level in levels.values()):
        raise MalformedZnode(FEATURE, "a level is below 1")
    return FinalizedFeatures(status == 1, levels)
