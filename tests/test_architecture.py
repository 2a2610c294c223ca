"""docs/architecture.md is true of the folders, the nurseries and the modules that it names; docs/glossary.md of its
owners."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from kraft.config.broker import BROKER_CONFIGS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kraft"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
GENERATED = PACKAGE / "messages"


def section(title: str) -> str:
    return PAGE[PAGE.index(f"\n## {title}\n") :].split("\n## ", 2)[1]


def rooms() -> list[list[str]]:
    """The rooms of the page's table, a list for each line."""
    table = section("The rooms").split("\n### ")[0]
    return [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines() if line.startswith("| `")]


def test_the_map_is_the_folders() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    listed = [room for line in rooms() for room in line]
    assert sorted(listed) == sorted(folders)


def test_the_map_is_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each.get("exhaustive"))
    assert [sorted(line) for line in rooms()] == [sorted(layer.split(" | ")) for layer in layers]


def test_no_room_is_over_a_third_of_the_lines() -> None:
    """Design: "no room over a third of the hand-written lines"."""
    lines: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        if not (path.parent == GENERATED and path.read_text().startswith('"""Generated from ')):
            room = path.relative_to(PACKAGE).parts[0]
            lines[room] = lines.get(room, 0) + len(path.read_text().splitlines())
    assert max(lines.values()) < sum(lines.values()) / 3


def test_each_module_that_it_names_exists() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    named = re.findall(r"`(?:kraft\.)?((?:\w+)(?:\.\w+)+)`", PAGE)
    dotted = [name for name in named if name.split(".")[0] in folders and name not in BROKER_CONFIGS]
    assert dotted
    assert [name for name in dotted if not _is_in_a_module(name.split("."))] == []


def _is_in_a_module(parts: list[str]) -> bool:
    return any(PACKAGE.joinpath(*parts[:end]).with_suffix(".py").is_file() for end in range(2, len(parts) + 1))


def test_the_functions_that_open_long_lived_nurseries_are_named() -> None:
    """ "Only `node` composes; no object stores a nursery": the page lists the files that open one."""
    text = section("The nursery tree")
    opening = {
        path
        for path in PACKAGE.rglob("*.py")
        if "open_nursery(" in path.read_text() and path.parent.name not in ("simulation", "testing")
    }
    for path in opening - {PACKAGE / "node" / "command.py"}:
        classes = set(re.findall(r"^class (\w+)", path.read_text(), re.MULTILINE))
        assert any(f"`{name}.run`" in text for name in classes) or f"{path.parent.name}.{path.stem}" in text, path


def test_each_term_of_the_glossary_has_an_owner_that_exists() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)[1:]
    terms = [term.lower() for term, *_ in rows]
    assert terms == sorted(set(terms))
    for term, _, owners in rows:
        for owner in re.findall(r"`([^`]+)`", owners):
            path = ROOT / owner if "/" in owner else ROOT / owner.replace(".", "/")
            assert path.exists() or path.with_suffix(".py").exists(), f"{term}: {owner}"
