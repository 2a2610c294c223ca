"""Error codes."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from kraft.wire.errors import ErrorCode, KafkaError


def test_codes_are_those_of_kio() -> None:
    """kio generates its list from Apache Kafka."""
    ours = {code.name.lower(): int(code) for code in ErrorCode}
    assert ours == {code.name: int(code) for code in KioErrorCode}


def test_every_code_has_a_message() -> None:
    assert all(code.message.endswith(".") for code in ErrorCode)


def test_codes_are_looked_up_by_number() -> None:
    assert ErrorCode(3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_code_of_the_future_is_an_unknown_error() -> None:
    assert ErrorCode(9999) is ErrorCode.UNKNOWN_SERVER_ERROR
    with pytest.raises(ValueError, match="not an error code"):
        ErrorCode("3")


def test_errors_carry_their_code_and_a_sentence() -> None:
    error = KafkaError(ErrorCode.NOT_CONTROLLER)
    assert str(error) == "NOT_CONTROLLER: This node is not the active controller."
    assert KafkaError(ErrorCode.INVALID_CONFIG, "no such key").message == "no such key"
