"""/brokers/ids: the registrations of the brokers (KIP-291, "Broker Info exposed to Zookeeper").

Version 4 has the endpoints and the security protocol of each listener, version 5 also the supported features (KIP-584).
``host`` and ``port`` are those of the first PLAINTEXT endpoint, for clients that know no endpoints.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from kraft.config.listeners import PLAINTEXT, PROTOCOLS, Endpoint
from kraft.zookeeper.znodes.fields import MAX_DIGITS, Fields, MalformedZnode, check_text, decode_object, encode_json

BROKER_IDS = "/brokers/ids"
FEATURES_VERSION = 5
NO_JMX = -1
_MIN_VERSION = 2
_DEFAULT_PROTOCOLS = {name: name for name in PROTOCOLS}


@attrs.frozen
class BrokerRegistration:
    """The data of /brokers/ids/N. ``features`` has the supported range of each feature."""

    broker_id: int
    endpoints: tuple[Endpoint, ...]
    timestamp_ms: int = 0
    rack: str | None = None
    features: Mapping[str, tuple[int, int]] = attrs.Factory(dict)
    jmx_port: int = NO_JMX
    version: int = FEATURES_VERSION

    def endpoint(self, listener: str) -> Endpoint | None:
        """Where the broker listens under this name; None if it does not."""
        return next((each for each in self.endpoints if each.listener == listener), None)


def broker_path(broker_id: int) -> str:
    return f"{BROKER_IDS}/{broker_id}"


def encode_broker(broker: BrokerRegistration) -> bytes:
    plaintext = next((each for each in broker.endpoints if each.security_protocol == PLAINTEXT), None)
    values: dict[str, object] = {}
    if broker.version >= FEATURES_VERSION:
        values["features"] = {
            name: {"min_version": least, "max_version": most} for name, (least, most) in broker.features.items()
        }
    values["listener_security_protocol_map"] = {each.listener: each.security_protocol for each in broker.endpoints}
    values["endpoints"] = [str(each) for each in broker.endpoints]
    if broker.rack is not None:
        values["rack"] = broker.rack
    values["jmx_port"] = broker.jmx_port
    values["port"] = -1 if plaintext is None else plaintext.port
    values["host"] = None if plaintext is None else plaintext.host
    values["version"] = broker.version
    values["timestamp"] = str(broker.timestamp_ms)
    return encode_json(values)


def decode_broker(broker_id: int, data: bytes | None) -> BrokerRegistration:
    """Read versions 2 and newer. Raises MalformedZnode."""
    fields = decode_object(broker_path(broker_id), data)
    version = fields.integer("version")
    if version < _MIN_VERSION:
        raise MalformedZnode(fields.path, f"version {version} has no endpoints")
    protocols = _DEFAULT_PROTOCOLS
    if "listener_security_protocol_map" in fields:
        mapped = fields.object("listener_security_protocol_map")
        protocols = {name: mapped.text(name) for name in mapped.values}
    features = fields.object("features")
    rack = fields.text("rack") if "rack" in fields else None
    for each in (rack or "", *fields.texts("endpoints")):
        check_text(fields.path, each)
    return BrokerRegistration(
        broker_id=broker_id,
        endpoints=tuple(_endpoint(fields.path, text, protocols) for text in fields.texts("endpoints")),
        timestamp_ms=fields.long_in_text("timestamp") if "timestamp" in fields else 0,
        rack=rack,
        features={name: _range(features.object(name)) for name in features.values},
        jmx_port=fields.integer("jmx_port"),
        version=version,
    )


def _range(fields: Fields) -> tuple[int, int]:
    return fields.integer("min_version"), fields.integer("max_version")


def _endpoint(path: str, text: str, protocols: Mapping[str, str]) -> Endpoint:
    name, separator, rest = text.partition("://")
    host, colon, port = rest.rpartition(":")
    is_number = port.isdecimal() and len(port) <= MAX_DIGITS
    if not separator or not colon or not is_number or int(port) > 65535:
        raise MalformedZnode(path, f"{text[:80]!r} is no endpoint")
    if protocols.get(name) not in PROTOCOLS:
        raise MalformedZnode(path, f"no security protocol for the listener {name[:80]!r}")
    return Endpoint(name, protocols[name], host.removeprefix("[").removesuffix("]"), int(port))
