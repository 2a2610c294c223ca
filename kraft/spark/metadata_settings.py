"""The options of ``format("kraft-metadata")``."""

from __future__ import annotations

import json
from collections.abc import Mapping

import attrs

from kraft.spark.options import BOOLEAN, TEXT, Kind, Option, OptionError, read_options, whole_number
from kraft.spark.segment_scan import MODE, QUARANTINE

NAME = "kraft-metadata"
ROWS_PER_BATCH = 10_000
"""Rows from which an Arrow batch is handed to Spark."""


@attrs.frozen
class LogPlace:
    """A place in the log. ``offset`` is None for its present end; ``epoch`` None if it is not known."""

    offset: int | None
    epoch: int | None = None


EARLIEST, LATEST = LogPlace(0, 0), LogPlace(None)


def _begin(text: str) -> LogPlace:
    if text.strip().lower() == "earliest":
        return EARLIEST
    return _end(text)


def _end(text: str) -> LogPlace:
    if text.strip().lower() == "latest":
        return LATEST
    found = json.loads(text)
    if not isinstance(found, dict) or not {"offset"} <= found.keys() <= {"offset", "epoch"}:
        raise ValueError
    numbers = [found["offset"], found.get("epoch", 0)]
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        raise ValueError
    return LogPlace(found["offset"], found.get("epoch")) if found["offset"] else EARLIEST


_JSON_PLACE = 'latest, or JSON such as {"offset": 100} or {"offset": 100, "epoch": 3}'
CONTROLLERS = Option(
    "kafka.bootstrap.controllers", TEXT, "Controllers of a live quorum, as `host:port`, separated by commas."
)
PATH = Option(
    "path",
    TEXT,
    "A log directory with `__cluster_metadata-0`, that partition's directory, or one `.checkpoint` snapshot.",
)
STARTING = Option(
    "startingOffsets",
    Kind("offset", f"earliest, {_JSON_PLACE}", _begin),
    "Where to begin. If the log begins later, the rows of a snapshot come first.",
    EARLIEST,
    shown_default="earliest",
)
ENDING = Option(
    "endingOffsets",
    Kind("offset", _JSON_PLACE, _end),
    "Where a batch query ends (exclusive). `latest` is the high watermark, or the end of the files.",
    LATEST,
    shown_default="latest",
)
CONTROL_RECORDS = Option(
    "includeControlRecords",
    BOOLEAN,
    "Whether the control records of the quorum are rows too: leader changes, snapshot headers and footers, voters.",
    False,
)
MAX_OFFSETS = Option(
    "maxOffsetsPerTrigger",
    whole_number(1),
    "The most records of the log in one micro-batch. A snapshot is always one micro-batch.",
)
OPTIONS = (CONTROLLERS, PATH, STARTING, ENDING, MODE, CONTROL_RECORDS, MAX_OFFSETS)


@attrs.frozen
class Settings:
    """The options of one query. Either ``controllers`` or ``path`` is set."""

    controllers: str | None
    path: str | None
    starting: LogPlace
    ending: LogPlace
    quarantine: bool
    control_records: bool
    max_offsets: int | None

    @classmethod
    def read(cls, given: Mapping[str, str]) -> Settings:
        """Read the options that Spark hands over. Raises OptionError."""
        options = read_options(NAME, given, OPTIONS)
        if (CONTROLLERS in options) == (PATH in options):
            raise OptionError(f"Format {NAME} needs one of the options {CONTROLLERS.name} and {PATH.name}")
        return cls(
            options.get(CONTROLLERS),
            options.get(PATH),
            options[STARTING],
            options[ENDING],
            options[MODE] == QUARANTINE,
            options[CONTROL_RECORDS],
            options.get(MAX_OFFSETS),
        )
