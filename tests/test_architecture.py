"""docs/architecture.md and its chapters are true of the folders, the nurseries and the modules that they name;
docs/glossary.md of its owners. The folders of tests mirror those of the package."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from kraft.config.broker import BROKER_CONFIGS
from tests.support.mirror import ELSEWHERE

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kraft"
TESTS = ROOT / "tests"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
CHAPTERS = [path.read_text() for path in sorted((ROOT / "docs" / "architecture").glob("*.md"))]
GENERATED = PACKAGE / "messages"
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]


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
    layers = next(each["layers"] for each in CONTRACTS if each.get("exhaustive"))
    assert [sorted(line) for line in rooms()] == [sorted(layer.split(" | ")) for layer in layers]


def test_each_module_of_the_apis_has_a_row_or_a_layer() -> None:
    """The contract of the shared modules cannot be exhaustive: it would list each API's file."""
    layers = next(each["layers"] for each in CONTRACTS if each["name"] == "The shared modules of kraft.api")
    listed = [module for layer in layers for module in layer.split(" | ")]
    shared = [path.stem for path in (PACKAGE / "api").glob("[a-z]*.py") if "\nROW = Api(" not in path.read_text()]
    assert sorted(listed) == sorted(shared)


def test_each_module_has_a_test_file_or_is_tested_elsewhere_for_a_reason() -> None:
    """CONTRIBUTING.md: "A test file mirrors a module"; tests/support/mirror.py lists the exceptions."""
    modules = [path for path in PACKAGE.rglob("[a-z]*.py") if not path.read_text().startswith('"""Generated from ')]
    names = [path.relative_to(PACKAGE).with_suffix("") for path in modules]
    without = [".".join(name.parts) for name in names if not (TESTS / name.parent / f"test_{name.name}.py").exists()]
    files = [(file, listed.split()) for group in ELSEWHERE.values() for file, listed in group.items()]
    assert sorted(without) == sorted(module for _, listed in files for module in listed)
    assert [file for file, _ in files if not (TESTS / file).exists()] == []


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
    named = re.findall(r"`(?:kraft\.)?((?:\w+)(?:\.\w+)+)`", "\n".join([PAGE, *CHAPTERS]))
    dotted = [name for name in named if name.split(".")[0] in folders and name not in BROKER_CONFIGS]
    assert dotted
    assert [name for name in dotted if not _is_in_a_module(name.split("."))] == []


def _is_in_a_module(parts: list[str]) -> bool:
    return any(PACKAGE.joinpath(*parts[:end]).with_suffix(".py").is_file() for end in range(2, len(parts) + 1))


def test_the_functions_that_open_nurseries_are_listed() -> None:
    """Only the functions of the page's table open a nursery, so nobody adds one unnoticed, and no row is outdated."""
    rows = [line.split("|")[1] for line in section("The nursery tree").splitlines() if line.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`([\w.]+)`", row)]
    opening = {
        f"{'.'.join(path.relative_to(PACKAGE).with_suffix('').parts)}.{function}"
        for path in PACKAGE.rglob("*.py")
        if "open_nursery" in path.read_text() and path.parent.name not in ("simulation", "testing")
        for function in openers(ast.parse(path.read_text()))
    }
    assert sorted(listed) == sorted(opening)


def openers(node: ast.AST, *inside: str) -> Iterator[str]:
    """The functions that name ``open_nursery``, with their classes; "" is the module itself."""
    for child in ast.iter_child_nodes(node):
        if "open_nursery" in (getattr(child, "attr", ""), getattr(child, "id", "")):
            yield ".".join(inside)
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from openers(child, *inside, child.name)
        else:
            yield from openers(child, *inside)


def test_each_term_of_the_glossary_has_an_owner_that_exists() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)[1:]
    terms = [term.lower() for term, *_ in rows]
    assert terms == sorted(set(terms))
    for term, _, owners in rows:
        for owner in re.findall(r"`([^`]+)`", owners):
            path = ROOT / owner if "/" in owner else ROOT / owner.replace(".", "/")
            assert path.exists() or path.with_suffix(".py").exists(), f"{term}: {owner}"
