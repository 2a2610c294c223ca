"""docs/kip-291.md maps each sentence of the KIP to code and to a test: all of them exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraft.config.zookeeper_settings import REPLACED

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "kip-291.md").read_text()
SECTIONS = ("Public interfaces", "Proposed changes", "Compatibility and migration", "The extension")


def rows(title: str) -> list[tuple[str, list[str], list[str]]]:
    """The sentence of each row, its names in the code, and its tests."""
    section = PAGE[PAGE.index(f"\n## {title}\n") :].split("\n## ", 2)[1]
    cells = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    return [
        (sentence, re.findall(r"`([^`]+)`", code), re.findall(r"`([^`]+)`", test)) for sentence, code, test in cells
    ]


def code_is_there(dotted: str) -> bool:
    """Whether a module of the package exists, and has the name behind it."""
    module, _, name = dotted.rpartition(".")
    path = ROOT / "kraft" / dotted.replace(".", "/")
    if path.with_suffix(".py").is_file():
        return True
    source = (ROOT / "kraft" / module.replace(".", "/")).with_suffix(".py")
    return source.is_file() and re.search(rf"\b{re.escape(name)}\b", source.read_text()) is not None


def has_test(name: str) -> bool:
    path, _, function = name.partition("::")
    return (ROOT / path).is_file() and re.search(
        rf"^(?:async )?def {function}\(", (ROOT / path).read_text(), re.M
    ) is not None


@pytest.mark.parametrize("title", SECTIONS)
def test_each_sentence_has_code_and_a_test(title: str) -> None:
    found = rows(title)
    assert len(found) >= 5
    for sentence, code, tests in found:
        assert code, sentence
        assert tests, sentence
        assert [each for each in code if not code_is_there(each)] == []
        assert [each for each in tests if not has_test(each)] == []


def test_a_lost_name_is_found() -> None:
    assert not code_is_there("rpc.plane.NoSuchName")
    assert not code_is_there("rpc.nothing.Plane")
    assert not has_test("tests/test_kip_291.py::test_nothing")


def test_the_settings_of_the_earlier_revision_are_in_the_table() -> None:
    """Under the names of the KIP; Kafka called two of them host.name and advertised.host.name."""
    table = PAGE[PAGE.index("## The revisions of the KIP") :]
    assert {name for name in REPLACED if f"`{name}`" not in table} == {"host.name", "advertised.host.name"}


def test_the_tests_outside_of_the_tables_exist() -> None:
    assert [each for each in re.findall(r"`(tests/[^`]+::[^`]+)`", PAGE) if not has_test(each)] == []
