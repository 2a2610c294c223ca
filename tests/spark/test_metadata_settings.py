"""Options of kraft-metadata, and the tables of its page."""

from __future__ import annotations

import pytest

from kraft.spark.metadata_settings import EARLIEST, LATEST, LogPlace, Settings
from kraft.spark.options import OptionError
from tests.support import spark_files_page


def test_the_tables_of_the_page_are_those_of_the_code() -> None:
    page = spark_files_page.PAGE.read_text()
    assert spark_files_page.render(page) == page, "run python -m tests.support.spark_files_page"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Earliest", EARLIEST),
        ("latest", LATEST),
        ('{"offset": 7}', LogPlace(7)),
        ('{"offset": 7, "epoch": 3}', LogPlace(7, 3)),
        ('{"offset": 0}', EARLIEST),
    ],
)
def test_offsets_are_words_or_json(text: str, place: LogPlace) -> None:
    assert Settings.read({"path": "x", "startingOffsets": text}).starting == place


def test_one_of_path_and_controllers_is_needed() -> None:
    for given in ({}, {"path": "x", "kafka.bootstrap.controllers": "y:1"}):
        with pytest.raises(OptionError, match=r"needs one of the options kafka.bootstrap.controllers and path"):
            Settings.read(given)
    with pytest.raises(OptionError, match="The nearest one is startingOffsets"):
        Settings.read({"path": "x", "startingOffset": "earliest"})
    for text in ("begin", "5", '{"offset": -1}', '{"offset": 1, "Epoch": 2}', "[]", '{"offset": true}'):
        with pytest.raises(OptionError, match="startingOffsets has the value"):
            Settings.read({"path": "x", "startingOffsets": text})
