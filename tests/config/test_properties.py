"""Reading server.properties: the file, the overrides, the warnings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraft.config.defaults import DEFAULT_PROPERTIES
from kraft.config.properties import from_mapping, load, parse_properties, read_properties
from kraft.config.setting import ConfigError
from tests.config import value_or_refusal

EXAMPLES = Path(__file__).parents[2] / "examples"


def write(directory: Path, text: str) -> Path:
    path = directory / "server.properties"
    path.write_text(text)
    return path


def test_a_file_and_its_overrides(tmp_path: Path) -> None:
    path = write(tmp_path, "".join(f"{name}={text}\n" for name, text in DEFAULT_PROPERTIES.items()))
    loaded = load(path, ["num.io.threads=2", "log.dirs = elsewhere"])
    assert loaded.config.network.num_io_threads == 2
    assert loaded.config.log_dirs == ("elsewhere",)
    assert loaded.warnings == ()


def test_the_syntax_is_javas(tmp_path: Path) -> None:
    path = write(tmp_path, "# comment\n! comment\nnode.id : 7\nlisteners=A://h:1,\\\n    B://h:2\nname=caf\\u00e9\n")
    assert read_properties(path) == {"node.id": "7", "listeners": "A://h:1,B://h:2", "name": "café"}


def test_the_bytes_of_a_file_are_latin_1(tmp_path: Path) -> None:
    """``Properties.load(InputStream)``: "the input stream is in ISO 8859-1 character encoding"."""
    path = tmp_path / "server.properties"
    path.write_bytes(b"broker.rack=Z\xfcrich\n")
    assert read_properties(path) == {"broker.rack": "Zürich"}


def test_an_unknown_name_is_a_warning_with_the_nearest_known_one() -> None:
    loaded = from_mapping({**DEFAULT_PROPERTIES, "num.network.thread": "3", "entirely.my.own": "x"})
    near, far = loaded.warnings
    assert near.startswith("The configuration num.network.thread was supplied but is not a setting")
    assert near.endswith("; did you mean num.network.threads?")
    assert far == "The configuration entirely.my.own was supplied but is not a setting that this node knows"


def test_a_listener_prefix_is_known() -> None:
    assert from_mapping({**DEFAULT_PROPERTIES, "listener.name.plaintext.max.connections": "1"}).warnings == ()


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^Cannot read the configuration file .*nowhere: No such file or directory$"):
        load(tmp_path / "nowhere")


def test_a_nul_in_the_file_name_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^Cannot read the configuration file"):
        load("a\0b")


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="larger than"):
        load(write(tmp_path, "#" * (2 << 20)))


@pytest.mark.parametrize("override", ["node.id", "=1", " =1", ""])
def test_an_override_is_key_and_value(tmp_path: Path, override: str) -> None:
    with pytest.raises(ConfigError, match=r"it must be key=value$"):
        load(write(tmp_path, ""), [override])


def test_a_bad_escape_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"Invalid escape .* in the configuration file f"):
        parse_properties("a=\\u12", "f")


def test_the_example_configuration_is_valid_and_has_no_unknown_name() -> None:
    loaded = load(EXAMPLES / "server.properties")
    assert loaded.warnings == ()
    assert loaded.config.is_broker
    assert loaded.config.is_controller


@given(st.text())
def test_any_text_is_properties_or_a_config_error(text: str) -> None:
    outcome = value_or_refusal(lambda: parse_properties(text, "f"))
    assert isinstance(outcome, dict) or len(outcome.splitlines()) == 1
