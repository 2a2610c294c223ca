"""Options of data sources: names, types, defaults, and errors that say what to write instead."""

from __future__ import annotations

import pickle

import pytest

from kraft.spark.options import (
    BOOLEAN,
    DURATION_MS,
    NAMES,
    POSITIVE,
    TEXT,
    Kind,
    Option,
    OptionError,
    one_of,
    read_options,
    whole_number,
)

FAIL = Option("failOnDataLoss", BOOLEAN, "Fail.", default=True)
LIMIT = Option("maxOffsetsPerTrigger", POSITIVE, "A limit.")
KNOWN = (FAIL, LIMIT)


def test_names_are_without_case_and_values_have_types() -> None:
    """Spark's maps of options ignore case."""
    options = read_options("kraft", {"FAILONDATALOSS": "False", "maxoffsetspertrigger": "7"}, KNOWN)
    assert (options[FAIL], options[LIMIT]) == (False, 7)
    assert FAIL in options
    assert pickle.loads(pickle.dumps(options)) == options


def test_an_option_that_is_not_set_has_its_default() -> None:
    options = read_options("kraft", {}, KNOWN)
    assert (options[FAIL], options.get(LIMIT), options.get(LIMIT, 3)) == (True, None, 3)
    assert FAIL not in options
    with pytest.raises(OptionError, match=r"Option maxOffsetsPerTrigger is missing. It is a whole number"):
        options[LIMIT]


def test_an_unknown_option_is_an_error_that_names_the_nearest_one() -> None:
    """Spark ignores a misspelt option without a word."""
    with pytest.raises(OptionError, match=r"Format kraft has no option failOnDatLoss\..*failOnDataLoss"):
        read_options("kraft", {"failOnDatLoss": "true"}, KNOWN)
    with pytest.raises(OptionError, match=r"no option zzz$"):
        read_options("kraft", {"zzz": "true"}, KNOWN)


def test_options_of_spark_itself_pass() -> None:
    """Spark hands checkpointLocation to the source as well, and the name of a query to its sink."""
    assert read_options("kraft", {"checkpointLocation": "/somewhere", "queryName": "counts"}, KNOWN).values == {}


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (BOOLEAN, "yes"),
        (POSITIVE, "0"),
        (POSITIVE, "1.5"),
        (POSITIVE, "9" * 30),
        (whole_number(0, 10), "11"),
        (NAMES, " , "),
        (TEXT, " "),
        (DURATION_MS, "5 parsecs"),
        (one_of("error", "latest"), "later"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_option_and_value(kind: Kind[object], text: str) -> None:
    with pytest.raises(OptionError, match=rf"Option the\.name has the value '.*'\. Allowed: {kind.allowed}"):
        Option("the.name", kind, "").read(text)


def test_a_long_wrong_value_is_cut() -> None:
    with pytest.raises(OptionError) as caught:
        LIMIT.read("x" * 10_000)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (NAMES, " a, b ,,c", ("a", "b", "c")),
        (DURATION_MS, "15m", 900_000),
        (DURATION_MS, "2 h", 7_200_000),
        (DURATION_MS, "30", 30),
        (one_of("error", "latest"), "Latest", "latest"),
        (TEXT, " x ", "x"),
    ],
)
def test_values(kind: Kind[object], text: str, value: object) -> None:
    assert Option("o", kind, "").read(text) == value
