"""Options of the data sources: each is declared once, with its type, its default and a line for docs/spark.md.

Spark hands options over as text, under names without regard to case. An unknown name is an error that names the nearest
known one, because Spark itself ignores a misspelt option. Values are plain data, so readers and writers can be pickled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Generic, TypeVar, overload

import attrs

T = TypeVar("T")
D = TypeVar("D")

LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1
_SHOWN_CHARACTERS = 200

FROM_SPARK = frozenset({"checkpointlocation", "queryname"})
"""Options of Spark itself, which it hands over to the source or sink as well."""


class OptionError(ValueError):
    """An option is unknown, missing, or has a wrong value. The text is one line with its name and what is allowed."""


@attrs.frozen
class Kind(Generic[T]):
    """A type of option. ``parse`` raises ValueError for a text that is not ``allowed``."""

    name: str
    allowed: str
    parse: Callable[[str], T]


@attrs.frozen
class Option(Generic[T]):
    """An option of a data source. Without a default it is None unless it is set."""

    name: str
    kind: Kind[T]
    doc: str
    default: T | None = None
    shown_default: str = ""
    """The default in the documentation, if it is not simply ``default``."""
    has_effect: bool = True

    def read(self, text: str) -> T:
        """Return the value of a text. Raises OptionError."""
        try:
            return self.kind.parse(text)
        except (ValueError, TypeError, AttributeError, RecursionError):
            shown = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
            raise OptionError(f"Option {self.name} has the value {shown!r}. Allowed: {self.kind.allowed}") from None


@attrs.frozen
class Options:
    """The options of one reader or writer. Made by :func:`read_options`."""

    values: Mapping[str, Any]

    def __contains__(self, option: Option[Any]) -> bool:
        """Whether the user set the option."""
        return option.name in self.values

    def __getitem__(self, option: Option[T]) -> T:
        """Return the value or the default. Raises OptionError if there is neither."""
        value = self.get(option)
        if value is None:
            raise OptionError(f"Option {option.name} is missing. It is {option.kind.allowed}")
        return value

    @overload
    def get(self, option: Option[T]) -> T | None: ...
    @overload
    def get(self, option: Option[T], default: D) -> T | D: ...
    def get(self, option: Option[T], default: D | None = None) -> T | D | None:
        """Return the value, else the option's default, else ``default``."""
        value: T | None = self.values.get(option.name, option.default)
        return default if value is None else value


def read_options(source: str, given: Mapping[str, str], known: Iterable[Option[Any]]) -> Options:
    """Read the options that Spark hands to the data source ``source``.

    Raises OptionError for an unknown option, and for a value that its option does not allow.
    """
    by_name = {option.name.lower(): option for option in known}
    values = {}
    for name, text in given.items():
        option = by_name.get(name.lower())
        if option is not None:
            values[option.name] = option.read(text)
        elif name.lower() not in FROM_SPARK:
            near = get_close_matches(name.lower(), by_name, n=1)
            hint = f". The nearest one is {by_name[near[0]].name}" if near else ""
            raise OptionError(f"Format {source} has no option {name}{hint}")
    return Options(values)


def one_of(*allowed: str) -> Kind[str]:
    """Return the kind of an option that has one of these values, in any case."""

    def parse(text: str) -> str:
        (found,) = [each for each in allowed if each.lower() == text.strip().lower()]
        return found

    return Kind("string", ", ".join(allowed), parse)


def whole_number(least: int, greatest: int = LONG_MAX) -> Kind[int]:
    """Return the kind of a whole number within limits."""

    def parse(text: str) -> int:
        value = int(text) if len(text) <= 20 else LONG_MAX + 1
        if not least <= value <= greatest:
            raise ValueError
        return value

    return Kind("int" if greatest <= _INT_MAX else "long", f"a whole number from {least} to {greatest}", parse)


_UNITS_MS = {"": 1, "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,12}) *([a-z]{0,3})")


def _milliseconds(text: str) -> int:
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or found[2] not in _UNITS_MS:
        raise ValueError
    return int(found[1]) * _UNITS_MS[found[2]]


def _text(text: str) -> str:
    if not text.strip():
        raise ValueError
    return text.strip()


def _boolean(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError
    return text.strip().lower() == "true"


def _names(text: str) -> tuple[str, ...]:
    names = tuple(filter(None, (name.strip() for name in text.split(","))))
    if not names:
        raise ValueError
    return names


TEXT = Kind("string", "a text that is not empty", _text)
BOOLEAN = Kind("boolean", "true, false", _boolean)
NAMES = Kind("string", "names, separated by commas", _names)
DURATION_MS = Kind("duration", "a time such as 500ms, 30s, 15m or 2h", _milliseconds)
POSITIVE = whole_number(1)
ANY = Kind("string", "any value", str)
