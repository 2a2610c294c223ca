"""kraft.zookeeper.znodes.controllers."""

from __future__ import annotations

import pytest

from kraft.zookeeper.znodes.controllers import (
    ControllerZnode,
    decode_controller,
    decode_controller_epoch,
    encode_controller,
    encode_controller_epoch,
)
from kraft.zookeeper.znodes.fields import MalformedZnode


def test_the_controller_is_written_in_version_2() -> None:
    """ControllerZNode.encode of 3.9: four fields, and a timestamp in text."""
    controller = ControllerZnode(3, 1700000000000)
    written = b'{"version":2,"brokerid":3,"timestamp":"1700000000000","kraftControllerEpoch":-1}'
    assert encode_controller(controller) == written
    assert decode_controller(written) == controller


def test_version_1_has_no_kraft_epoch() -> None:
    assert decode_controller(b'{"version":1,"brokerid":3,"timestamp":"5"}') == ControllerZnode(3, 5)


def test_the_epoch_is_a_plain_number() -> None:
    assert encode_controller_epoch(12) == b"12"
    assert decode_controller_epoch(b"12") == 12


@pytest.mark.parametrize("data", [None, b"", b"1.5", b"--1", b"one", b"9" * 40, "\u0663".encode()])
def test_a_malformed_epoch_is_one_clear_error(data: bytes | None) -> None:
    with pytest.raises(MalformedZnode, match="malformed data in the znode /controller_epoch"):
        decode_controller_epoch(data)
