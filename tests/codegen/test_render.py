"""The output of the generator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ruff")

from kraft.codegen.__main__ import MESSAGES, generate, main, stale_files

FIELDS: list[dict[str, Any]] = [
    {"name": "Number", "type": "int64", "versions": "1+", "default": "0x7f", "ignorable": True, "about": "A number."},
    {"name": "Flag", "type": "bool", "versions": "0+", "default": "true", "about": "A flag."},
    {"name": "Share", "type": "float64", "versions": "0+", "default": "0.5", "about": 'With """ and \\ in it.'},
    {"name": "Word", "type": "string", "versions": "0+", "default": "a", "about": "A word."},
]


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    """A directory with one spec of a data schema."""
    (tmp_path / "spec").mkdir()
    _write_spec(tmp_path, FIELDS)
    return tmp_path


def _write_spec(messages: Path, fields: list[dict[str, Any]]) -> None:
    spec = {"type": "data", "name": "Thing", "validVersions": "0-1", "flexibleVersions": "none", "fields": fields}
    (messages / "spec" / "Thing.json").write_text(json.dumps(spec))


def test_the_checked_in_modules_are_those_of_the_specs() -> None:
    """Regenerates all of them and compares."""
    assert stale_files(MESSAGES, generate(MESSAGES / "spec")) == []


def test_defaults_are_of_their_types(messages: Path) -> None:
    source = generate(messages / "spec")["thing.py"]
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    thing = namespace["Thing"]()
    assert (thing.number, thing.flag, thing.share, thing.word) == (127, True, 0.5, "a")
    assert "number (1+): A number." in namespace["Thing"].__doc__
    assert "With ''' and \\ in it." in namespace["Thing"].__doc__


def test_it_writes_stale_files_and_removes_files_without_a_spec(
    messages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    orphan = messages / "orphan.py"
    orphan.write_text('"""Generated from spec/Orphan.json by somebody."""\n')
    (messages / "registry.py").write_text('"""Written by hand."""\n')
    arguments = ["--messages", str(messages)]
    assert main(["--check", *arguments]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{name} does not match its spec; run python -m kraft.codegen"
        for name in ("_index.py", "orphan.py", "thing.py")
    ]
    assert main(arguments) == 0
    assert main(["--check", *arguments]) == 0
    assert sorted(path.name for path in messages.glob("*.py")) == ["_index.py", "registry.py", "thing.py"]


@pytest.mark.parametrize(
    ("kind", "default"), [("int32", "many"), ("bool", "yes"), ("float64", "x"), ("uuid", "x"), ("[]int32", "1")]
)
def test_a_default_of_another_type_is_one_line(
    messages: Path, capsys: pytest.CaptureFixture[str], kind: str, default: str
) -> None:
    _write_spec(messages, [{"name": "A", "type": kind, "versions": "0+", "default": default, "about": "It."}])
    assert main(["--messages", str(messages)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Thing.json: A: ")
