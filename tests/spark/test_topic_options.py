"""The options of ``format("kraft")``, and their page."""

from __future__ import annotations

import pytest

from kraft.spark.options import OptionError
from kraft.spark.topic_options import (
    ASSIGN,
    EARLIEST,
    ENDING_OFFSETS,
    FAIL_ON_DATA_LOSS,
    LATEST,
    STARTING_OFFSETS,
    SUBSCRIBE,
    check_source,
    topic_options,
)
from tests.support.spark_page import PAGE, render

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
SOURCE = {**SERVERS, "subscribe": "t"}


def test_offsets_have_the_connectors_forms() -> None:
    options = topic_options(
        {
            **SERVERS,
            "assign": '{"b":[1,0],"a":[2]}',
            "subscribe": " x, y ",
            "startingOffsets": '{"t":{"0":23,"1":-1,"2":-2}}',
        }
    )
    assert options[ASSIGN] == (("a", 2), ("b", 0), ("b", 1))
    assert options[SUBSCRIBE] == ("x", "y")
    assert options[STARTING_OFFSETS] == {("t", 0): 23, ("t", 1): LATEST, ("t", 2): EARLIEST}
    assert topic_options({**SERVERS, "startingOffsets": "Earliest"})[STARTING_OFFSETS] == EARLIEST
    assert (options[ENDING_OFFSETS], options[FAIL_ON_DATA_LOSS]) == (LATEST, True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("assign", '["t"]'),
        ("assign", "{}"),
        ("assign", '{"t":[-1]}'),
        ("assign", '{"t":["0"]}'),
        ("startingOffsets", "first"),
        ("startingOffsets", "{}"),
        ("startingOffsets", '{"t":{"x":1}}'),
        ("startingOffsets", '{"t":{"0":1.5}}'),
        ("startingOffsets", '{"t":{"0":true}}'),
        ("startingOffsets", '{"t":{"0":-3}}'),
        ("startingOffsets", '{"t":{"0":9223372036854775808}}'),
        ("startingOffsets", "[" * 100_000),
        ("startingOffsetsByTimestamp", '{"t":{"0":-1}}'),
        ("subscribePattern", "("),
        ("kafka.security.protocol", "SASL_SSL"),
        ("kafka.isolation.level", "serializable"),
        ("kafka.acks", "1"),
    ],
)
def test_a_wrong_value_names_its_option(name: str, text: str) -> None:
    with pytest.raises(OptionError, match=rf"Option {name} has the value .*Allowed: "):
        topic_options({**SOURCE, name: text})


def test_the_brokers_are_required() -> None:
    with pytest.raises(OptionError, match=r"Option kafka\.bootstrap\.servers is missing"):
        topic_options({"subscribe": "t"})


def test_a_client_setting_without_meaning_here_passes_and_an_unknown_one_does_not() -> None:
    topic_options({**SOURCE, "kafka.session.timeout.ms": "10000", "kafka.group.id": "g"})
    with pytest.raises(OptionError, match=r"has no option kafka\.sasl\.jaas\.config"):
        topic_options({**SOURCE, "kafka.sasl.jaas.config": "secret"})


@pytest.mark.parametrize("chosen", [{}, {"subscribe": "a", "assign": '{"a":[0]}'}])
def test_exactly_one_way_to_choose_topics(chosen: dict[str, str]) -> None:
    """KafkaSourceProvider: "Only one of the following options can be specified for Kafka source"."""
    with pytest.raises(OptionError, match="Exactly one of the options assign, subscribe and subscribePattern"):
        check_source(topic_options({**SERVERS, **chosen}), streaming=False)


@pytest.mark.parametrize(
    ("given", "streaming", "says"),
    [
        ({"endingOffsets": "latest"}, True, "endingOffsets is not valid in a streaming query"),
        ({"endingTimestamp": "5"}, True, "endingTimestamp is not valid in a streaming query"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "5"}, True, "minOffsetsPerTrigger .9. is above"),
        ({"startingOffsets": "latest"}, False, "startingOffsets may not be latest"),
        ({"startingOffsets": '{"t":{"0":-1}}'}, False, "startingOffsets may not be latest"),
        ({"endingOffsets": "earliest"}, False, "endingOffsets may not be earliest"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, False, "endingOffsets may not be earliest"),
    ],
)
def test_options_that_contradict_the_query(given: dict[str, str], streaming: bool, says: str) -> None:
    """KafkaSourceProvider.validateBatchOptions and validateStreamOptions."""
    options = topic_options({**SOURCE, **given})
    with pytest.raises(OptionError, match=says):
        check_source(options, streaming=streaming)
    if "may not" in says and streaming is False and "starting" in says:
        check_source(options, streaming=True)


def test_the_page_has_the_options() -> None:
    page = PAGE.read_text()
    assert render(page) == page, "run python -m tests.support.spark_page"
