"""kraft.zookeeper.znodes.brokers."""

from __future__ import annotations

import json

import pytest

from kraft.config.listeners import Endpoint
from kraft.zookeeper.znodes.brokers import BrokerRegistration, broker_path, decode_broker, encode_broker
from kraft.zookeeper.znodes.fields import MalformedZnode

CONTROLLER = Endpoint("CONTROLLER", "PLAINTEXT", "broker1.example.com", 9091)
EXTERNAL = Endpoint("EXTERNAL", "SSL", "host1.example.com", 9093)


def test_a_registration_has_every_advertised_endpoint() -> None:
    """KIP-291: "a broker should maintain the existing behavior by publishing all the endpoints in
    advertised-listeners to Zookeeper"."""
    broker = BrokerRegistration(1, (CONTROLLER, EXTERNAL), 1532467569343, version=4)
    assert json.loads(encode_broker(broker)) == {
        "listener_security_protocol_map": {"CONTROLLER": "PLAINTEXT", "EXTERNAL": "SSL"},
        "endpoints": ["CONTROLLER://broker1.example.com:9091", "EXTERNAL://host1.example.com:9093"],
        "jmx_port": -1,
        "host": "broker1.example.com",
        "port": 9091,
        "timestamp": "1532467569343",
        "version": 4,
    }
    assert decode_broker(1, encode_broker(broker)) == broker


def test_version_5_has_features_and_a_rack_only_if_there_is_one() -> None:
    broker = BrokerRegistration(7, (EXTERNAL,), rack="a", features={"kraft.version": (0, 1)})
    values = json.loads(encode_broker(broker))
    assert values["features"] == {"kraft.version": {"min_version": 0, "max_version": 1}}
    assert (values["host"], values["port"], values["rack"]) == (None, -1, "a")
    assert decode_broker(7, encode_broker(broker)).features == broker.features
    assert "rack" not in json.loads(encode_broker(BrokerRegistration(7, (EXTERNAL,))))


def test_a_rack_may_have_any_character() -> None:
    """Jackson reads an escaped surrogate pair, as tools in Java write it, as one character."""
    data = b'{"version":5,"jmx_port":-1,"endpoints":[],"rack":"\\ud83d\\ude80"}'
    assert decode_broker(4, data).rack == "\U0001f680"


def test_older_versions_name_listeners_by_their_protocol() -> None:
    """BrokerIdZNode.decode: versions 2 and 3 have no listener_security_protocol_map."""
    data = (
        b'{"version":2,"host":"localhost","port":9092,"jmx_port":9999,"timestamp":"2233345666",'
        b'"endpoints":["PLAINTEXT://host1:9092","SSL://[::1]:9093"]}'
    )
    broker = decode_broker(3, data)
    assert broker.endpoints == (
        Endpoint("PLAINTEXT", "PLAINTEXT", "host1", 9092),
        Endpoint("SSL", "SSL", "::1", 9093),
    )
    assert (broker.endpoint("SSL"), broker.endpoint("CONTROLLER")) == (broker.endpoints[1], None)


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"7",
        b"{}",
        b'{"version":1,"host":"h","port":1,"jmx_port":-1}',
        b'{"version":true,"jmx_port":-1,"endpoints":[]}',
        b'{"version":5,"jmx_port":-1,"endpoints":"PLAINTEXT://h:1"}',
        b'{"version":5,"jmx_port":-1,"endpoints":["PLAINTEXT://h:99999"]}',
        b'{"version":5,"jmx_port":-1,"endpoints":["CLIENT://h:1"]}',
        b'{"version":5,"jmx_port":-1,"endpoints":[],"listener_security_protocol_map":{"A":4}}',
        b'{"version":5,"jmx_port":-1,"endpoints":[],"features":{"x":{"min_version":1}}}',
        b'{"version":' + b"9" * 5000 + b"}",
        b'{"version":5,"jmx_port":-1,"endpoints":["PLAINTEXT://h:' + b"1" * 5000 + b'"]}',
        b'{"version":5,"jmx_port":-1,"endpoints":[],"rack":"\\ud800"}',
        b'{"version":5,"jmx_port":-1,"endpoints":[],"rack":"\xed\xa0\x80"}',
    ],
)
def test_a_malformed_registration_is_one_clear_error(data: bytes | None) -> None:
    with pytest.raises(MalformedZnode, match="malformed data in the znode /brokers/ids/4: ") as raised:
        decode_broker(4, data)
    assert len(str(raised.value)) < 250
    assert raised.value.path == broker_path(4)
