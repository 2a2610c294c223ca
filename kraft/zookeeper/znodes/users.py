"""The settings of users, client ids and addresses below /config: SCRAM credentials (KIP-84) and quotas (KIP-546)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote

from kraft.metadata.image import QuotaEntity
from kraft.zookeeper.znodes.cluster import DEFAULT_ENTITY, Entity, config_path
from kraft.zookeeper.znodes.fields import MAX_DIGITS, MAX_INTEGER, MAX_SHOWN, MalformedZnode

USER_ENTITIES, CLIENT_ENTITIES, IP_ENTITIES = "users", "clients", "ips"
_QUOTA_TYPES: Final = {USER_ENTITIES: "user", CLIENT_ENTITIES: "client-id", IP_ENTITIES: "ip"}
SCRAM_MECHANISMS: Final = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
_OF_CLIENTS = frozenset({"producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"})
_OF_ADDRESSES = frozenset({"connection_creation_rate"})


def entity_name(name: str) -> str:
    """Return the znode's name for a user or a client id (Kafka's Sanitizer.sanitize).

    A znode cannot have the names ``.`` and ``..``. They are escaped here; Apache Kafka cannot store them.
    """
    escaped = quote(name, safe="").replace("~", "%7E")
    return escaped if escaped.strip(".") else escaped.replace(".", "%2E")


def named(znode: str) -> str:
    """Return the user or the client id that a znode stands for (Sanitizer.desanitize)."""
    return unquote(znode)


def under_user(user: str) -> str:
    """Return the parent of a user's client ids, below the znode of all users."""
    return f"{user}/{CLIENT_ENTITIES}"


def quota_entity(entity: Entity) -> QuotaEntity:
    """Return the entity that the quotas of a znode are for, with None as the name of a default."""
    kind, name = entity
    first, *nested = name.split("/")
    whole = (_QUOTA_TYPES[kind], _quota_name(first))
    return ((_QUOTA_TYPES[CLIENT_ENTITIES], _quota_name(nested[-1])), whole) if nested else (whole,)


def _quota_name(znode: str) -> str | None:
    return None if znode == DEFAULT_ENTITY else named(znode)


def scram_iterations(entity: Entity, settings: Mapping[str, str]) -> dict[int, int]:
    """Return the iterations of each SCRAM mechanism that a user has credentials for.

    Raises MalformedZnode, which shows no part of a credential.
    """
    found = {}
    for mechanism, number in SCRAM_MECHANISMS.items():
        if mechanism in settings:
            parts = dict(part.partition("=")[::2] for part in settings[mechanism].split(","))
            iterations = parts.get("iterations", "")
            is_number = iterations.isascii() and iterations.isdigit() and len(iterations) <= MAX_DIGITS
            is_right = is_number and int(iterations) <= MAX_INTEGER
            if parts.keys() != {"salt", "stored_key", "server_key", "iterations"} or not is_right:
                raise MalformedZnode(config_path(*entity), f"the credential for {mechanism} is malformed")
            found[number] = int(iterations)
    return found


def quotas(entity: Entity, settings: Mapping[str, str]) -> dict[str, float]:
    """Return the quotas among the settings of a user, a client id or an address. Raises MalformedZnode."""
    names = _OF_ADDRESSES if entity[0] == IP_ENTITIES else _OF_CLIENTS
    try:
        return {name: float(text) for name, text in settings.items() if name in names}
    except ValueError as error:
        raise MalformedZnode(config_path(*entity), str(error)[:MAX_SHOWN]) from None
