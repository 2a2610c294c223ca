"""Load Kafka's ``server.properties`` and overrides as a NodeConfig and its warnings."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs
import javaproperties

from kraft.config.broker import BROKER_CONFIGS, NodeConfig, broker_key, node_config
from kraft.config.setting import ConfigError, one_line

MAX_FILE_BYTES = 1 << 20


@attrs.frozen
class Loaded:
    """A configuration, and one warning for each setting in it that has no effect. The caller prints the warnings."""

    config: NodeConfig
    warnings: tuple[str, ...]


def load(path: str | Path, overrides: Iterable[str] = ()) -> Loaded:
    """Read a properties file, apply the ``key=value`` overrides, and check the result.

    Raises ConfigError if the file cannot be read, is not a properties file, or holds a value that is not allowed.
    """
    return from_mapping({**read_properties(path), **parse_overrides(overrides)})


def from_mapping(values: Mapping[str, str]) -> Loaded:
    """Check settings that are already a mapping of names to texts. Raises ConfigError as ``load``."""
    return Loaded(node_config(values), (*unknown_key_warnings(values), *not_honoured_warnings(values)))


def read_properties(path: str | Path) -> dict[str, str]:
    """Return the names and texts of a properties file. Raises ConfigError with its path if it cannot be read."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"Cannot read the configuration file {one_line(path)}: {reason}") from None
    if len(content) > MAX_FILE_BYTES:
        raise ConfigError(f"The configuration file {one_line(path)} is larger than {MAX_FILE_BYTES} bytes")
    return parse_properties(content.decode("latin-1"), str(path))  # as Java's Properties.load


def parse_properties(text: str, source: str) -> dict[str, str]:
    """Return the names and texts in ``text``. A ConfigError calls the file ``source``."""
    try:
        return javaproperties.loads(text)
    except javaproperties.InvalidUEscapeError as error:
        raise ConfigError(f"Invalid escape {one_line(error.escape)} in the configuration file {source}") from None


def parse_overrides(overrides: Iterable[str]) -> dict[str, str]:
    """Return ``key=value`` arguments as a mapping. Raises ConfigError for one without a key or an equals sign."""
    values: dict[str, str] = {}
    for override in overrides:
        name, separator, text = override.partition("=")
        if not name.strip() or not separator:
            raise ConfigError(f"Invalid override {one_line(override)}: it must be key=value")
        values[name.strip()] = text
    return values


def unknown_key_warnings(values: Iterable[str]) -> Iterable[str]:
    """Yield one line for each unknown name, with the nearest known name."""
    for name in values:
        if broker_key(name) is None:
            near = difflib.get_close_matches(name, BROKER_CONFIGS, n=1, cutoff=0.75)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield f"The configuration {one_line(name)} was supplied but is not a setting that this node knows{hint}"


def not_honoured_warnings(values: Mapping[str, str]) -> Iterable[str]:
    """Yield one line for each setting that has no effect here, but differs from its default."""
    for name, text in values.items():
        key = broker_key(name)
        if key is not None and key.not_honoured and key.parse(text) != key.default:
            yield f"The configuration {name} was supplied but changes nothing here: {key.not_honoured}"
