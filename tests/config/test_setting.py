"""The code reads each declared setting, or marks it as not honoured, and the docs agree."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from kraft.config.defaults import DEFAULT_PROPERTIES
from kraft.config.properties import from_mapping
from kraft.config.setting import ConfigError, field_key
from kraft.config.topic import LogConfig
from tests.support.settings_page import PAGE, render, setting_classes
from tests.support.sweep import sweep

PACKAGE = Path(__file__).parents[2] / "kraft"
ONLY_THE_DEFAULT = {"authorizer.class.name": "x.Y", "remote.storage.enable": "true"}
"""Settings with a single allowed value, which no code needs to read; and another value, which the node refuses."""

Found = set[tuple[type[Any], str]]
CLASSES: Mapping[str, type[Any]] = {**setting_classes(), "config": LogConfig, "log_defaults": LogConfig}
"""The classes of settings, by the name of the attribute, or of the function, that one comes from."""
BY_NAME = {cls.__name__: cls for cls in CLASSES.values()}


class Reads(ast.NodeVisitor):
    """Return the fields of each class of settings that some code reads. A validation does not count."""

    def __init__(self) -> None:
        self.found: Found = set()
        self._known: dict[str, type[Any]] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name.startswith("_check"):
            return
        outer, self._known = self._known, dict(self._known)
        for argument in (*node.args.args, *node.args.kwonlyargs):
            if isinstance(argument.annotation, ast.Name) and argument.annotation.id in BY_NAME:
                self._known[argument.arg] = BY_NAME[argument.annotation.id]
        self.generic_visit(node)
        self._known = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        for target, value in _pairs(node):
            if isinstance(target, ast.Name) and (cls := self._class_of(value)) is not None:
                self._known[target.id] = cls

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and (cls := self._class_of(node.value)) is not None:
            self.found.add((cls, node.attr))

    def _class_of(self, value: ast.expr) -> type[Any] | None:
        """Return the class of settings that ``value`` is an instance of, as far as names show it."""
        match value:
            case ast.Name(id=name):
                return self._known.get(name)
            case ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                if name == "structure" and isinstance(value, ast.Call) and isinstance(value.args[-1], ast.Name):
                    return BY_NAME.get(value.args[-1].id)
                return LogConfig if name == "log_config" else CLASSES.get(name)
        return None


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    (target,) = node.targets[:1]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        yield from zip(target.elts, node.value.elts, strict=False)
    else:
        yield target, node.value


def reads(source: str) -> Found:
    visitor = Reads()
    visitor.visit(ast.parse(source))
    return visitor.found


@pytest.fixture(scope="module")
def found() -> Found:
    return set[tuple[type[Any], str]]().union(*(reads(path.read_text()) for path in PACKAGE.rglob("*.py")))


FIELDS = [(cls, field) for cls in dict.fromkeys(CLASSES.values()) for field in attrs.fields(cls)]


@sweep(("cls", "field"), FIELDS)
def test_a_setting_is_read_or_marked(found: Found, cls: type[Any], field: attrs.Attribute[Any]) -> None:
    """A setting that is accepted, checked and then forgotten is a promise that is not kept."""
    key = field_key(field)
    if key.name in ONLY_THE_DEFAULT:
        with pytest.raises(ConfigError):
            key.parse(ONLY_THE_DEFAULT[key.name])
        return
    is_read = (cls, field.name) in found
    assert is_read is not bool(key.not_honoured), "read and marked" if is_read else "nothing in kraft/ reads it"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("def f(config): return config.network.num_io_threads", "num_io_threads"),
        ("def f(self):\n  a, b = self.config.logs, self.config.network\n  b.fetch_max_bytes", "fetch_max_bytes"),
        ("async def f(network: NetworkSettings): network.num_io_threads", "num_io_threads"),
        ("def f(values):\n  x = structure(values, NetworkSettings)\n  x.num_io_threads", "num_io_threads"),
    ],
)
def test_a_read_is_found(source: str, name: str) -> None:
    assert (CLASSES["network"], name) in reads(source)


@pytest.mark.parametrize(
    "source",
    [
        "def f(config): return config.logs.num_io_threads",
        "def f(config, network): return network.num_io_threads",
        "def _check_numbers(config): return config.network.num_io_threads",
        "def f(config): config.network.num_io_threads = 1",
    ],
)
def test_an_access_that_is_not_a_read_does_not_count(source: str) -> None:
    assert (CLASSES["network"], "num_io_threads") not in reads(source)


def test_a_setting_that_changes_nothing_is_a_warning() -> None:
    given = {
        "num.replica.fetchers": "4",
        "log.cleaner.threads": "1",  # the default
        "offsets.topic.compression.codec": "1",
        "num.io.threads": "2",
    }
    assert from_mapping({**DEFAULT_PROPERTIES, **given}).warnings == (
        "The configuration num.replica.fetchers was supplied but changes nothing here: one fetcher for each leader",
        "The configuration offsets.topic.compression.codec was supplied but changes nothing here: written uncompressed",
    )


def test_the_page_of_settings_agrees_with_the_declarations() -> None:
    assert PAGE.read_text() == render(), "run: python -m tests.support.settings_page"
