"""metadata.version names and levels."""

from __future__ import annotations

import pytest

from kraft.config.features import LEVEL_OF_NAME, NAME_OF_LEVEL, parse_release


@pytest.mark.parametrize(
    ("level", "name"),
    [
        (1, "3.0-IV1"),
        (4, "3.3-IV0"),
        (7, "3.3-IV3"),
        (8, "3.4-IV0"),
        (14, "3.6-IV2"),
        (19, "3.7-IV4"),
        (20, "3.8-IV0"),
        (21, "3.9-IV0"),
        (25, "4.0-IV3"),
        (27, "4.1-IV1"),
        (29, "4.2-IV1"),
        (30, "4.3-IV0"),
    ],
)
def test_a_level_has_kafkas_name(level: int, name: str) -> None:
    assert NAME_OF_LEVEL[level] == name
    assert LEVEL_OF_NAME[name] == level


def test_levels_have_no_gap() -> None:
    assert sorted(NAME_OF_LEVEL) == list(range(1, 31))


@pytest.mark.parametrize(
    ("text", "level"),
    [("3.9", 21), ("3.9-IV0", 21), ("3.9.1", 21), ("3.7", 19), ("3.3-IV3", 7), ("4.0", 25), ("4.3.1", 30)],
)
def test_a_release_is_its_last_version(text: str, level: int) -> None:
    assert parse_release(text) == level


@pytest.mark.parametrize("text", ["", "3", "3.10", "9.9", "3.9-IV1", "3.9.x", "\n", "3.9-IV0.1"])
def test_an_unknown_release_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^Unknown metadata\.version .* 3\.3-IV3, .*, 4\.3-IV0$"):
        parse_release(text)


@pytest.mark.parametrize("text", ["3.0", "3.2"])
def test_a_release_that_cannot_run_here_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^Unsupported metadata\.version"):
        parse_release(text)
