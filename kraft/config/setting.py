"""The description of a Kafka setting, and the declaration of classes of settings.

A setting is declared once, as a field of an attrs class: ``num_network_threads: int = setting(...)``. Its Kafka name is
the field name with dots (``num.network.threads``). The field's metadata holds a ConfigKey: type, default, limits and
documentation. The tables (``TOPIC_CONFIGS``, ``BROKER_CONFIGS``) and the parser of properties files are derived from
these classes. Values of broker settings are neither compared nor printed. Their classes declare ``eq=False,
repr=False``, because attrs would compile the methods at each start of a node.

A setting that is accepted for compatibility, but has no effect here, says so in its declaration (``not_honoured``). A
node warns if such a setting is set, and docs/settings.md lists them.

A refused value is always a ConfigError of one line in Kafka's own form: ``Invalid value X for configuration Y: <what is
allowed>``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum, IntEnum
from functools import partial
from typing import Any, NoReturn, TypeVar

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, override

Value = bool | int | float | str | tuple[str, ...] | None
T = TypeVar("T")

SHORT_MAX = 2**15 - 1
INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
_LIMITS = {"SHORT": SHORT_MAX + 1, "INT": INT_MAX + 1, "LONG": LONG_MAX + 1}
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_DOUBLE = re.compile(r"[+-]?([0-9]{1,300}\.?[0-9]{0,300}|\.[0-9]{1,300})([eE][+-]?[0-9]{1,4})?")
_COMMA = re.compile(r"\s*,\s*")
_SHOWN_CHARACTERS = 200


class ConfigError(ValueError):
    """A setting cannot be used. The message is one line with the name, the value and what is allowed."""


class ConfigType(IntEnum):
    """The type of a setting, numbered as in DescribeConfigs responses."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class Importance(Enum):
    """The importance of a setting to an operator. Only the documentation shows it."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@attrs.frozen
class Validator:
    """A limit on a parsed value. ``refusal`` returns the text of the error, or None if the value is allowed."""

    allowed: str
    refusal: Callable[[Any], str | None]


@attrs.frozen
class Synonym:
    """A broker setting that gives a topic setting its value. One unit of it is ``factor`` milliseconds."""

    name: str
    factor: int = 1


@attrs.frozen
class ConfigKey:
    """One setting as Kafka defines it. ``synonyms`` are the broker settings behind a topic setting, strongest first.

    ``not_honoured`` says why the setting has no effect here. It is empty for a setting with an effect.
    """

    name: str
    type: ConfigType
    default: Value
    validator: Validator | None
    importance: Importance
    doc: str
    synonyms: tuple[Synonym, ...] = ()
    not_honoured: str = ""

    @property
    def sensitive(self) -> bool:
        return self.type in (ConfigType.PASSWORD, ConfigType.UNKNOWN)

    def parse(self, text: str) -> Value:
        """Return the typed value of ``text``. Raises ConfigError if Kafka would refuse it."""
        stripped = text.strip()
        value = _PARSERS[self.type](self, stripped)
        if self.validator is not None:
            refusal = self.validator.refusal(value)
            if refusal is not None:
                invalid(self.name, stripped, refusal)
        return value

    def takes(self, text: str) -> bool:
        """Whether Kafka would take ``text`` as a value."""
        try:
            self.parse(text)
        except ConfigError:
            return False
        return True


def invalid(name: str, value: object, why: str) -> NoReturn:
    """Raise ConfigError with Kafka's message."""
    reason = why if why.isprintable() else repr(why)
    raise ConfigError(f"Invalid value {one_line(value)} for configuration {name}: {reason}")


def one_line(value: object) -> str:
    """Return ``value`` as text on one line of bounded length."""
    text = str(value)
    if not text.isprintable():
        text = repr(text)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def to_text(value: Value) -> str | None:
    """Return ``value`` in the form of a properties file and of DescribeConfigs."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (tuple, frozenset)):
        return ",".join(value)
    return str(value)


def _boolean(key: ConfigKey, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        invalid(key.name, text, "Expected value to be either true or false")
    return text.lower() == "true"


def _integer(key: ConfigKey, text: str) -> int:
    limit = _LIMITS[key.type.name]
    if not _INTEGER.fullmatch(text) or not -limit <= int(text) < limit:
        invalid(key.name, text, f"Not a number of type {key.type.name}")
    return int(text)


def _double(key: ConfigKey, text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        invalid(key.name, text, f"Not a number of type {key.type.name}")
    return float(text)


def _text(key: ConfigKey, text: str) -> str:
    return text


def _list(key: ConfigKey, text: str) -> tuple[str, ...]:
    return tuple(_COMMA.split(text)) if text else ()


_PARSERS: dict[ConfigType, Callable[[ConfigKey, str], Value]] = {
    ConfigType.BOOLEAN: _boolean,
    ConfigType.STRING: _text,
    ConfigType.INT: _integer,
    ConfigType.SHORT: _integer,
    ConfigType.LONG: _integer,
    ConfigType.DOUBLE: _double,
    ConfigType.LIST: _list,
    ConfigType.CLASS: _text,
    ConfigType.PASSWORD: _text,
}


def at_least(low: float) -> Validator:
    """The value must be ``low`` or more."""
    return Validator(f"[{low},...]", lambda value: None if value >= low else f"Value must be at least {low}")


def between(low: float, high: float) -> Validator:
    """The value must lie in ``low`` to ``high``, both included."""

    def refusal(value: float) -> str | None:
        if not value >= low:
            return f"Value must be at least {low}"
        return None if value <= high else f"Value must be no more than {high}"

    return Validator(f"[{low},...,{high}]", refusal)


def between_or(low: int, high: int, special: int) -> Validator:
    """The value must lie in ``low`` to ``high``, or be ``special``."""
    sentence = f"Value must be between {low} and {high} or equal to {special}"
    return Validator(
        f"[{low},...,{high}] or {special}",
        lambda value: None if value == special or low <= value <= high else sentence,
    )


def one_of(*allowed: str) -> Validator:
    """The value must be one of these words."""
    sentence = f"String must be one of: {', '.join(allowed)}"
    return Validator(f"[{', '.join(allowed)}]", lambda value: None if value in allowed else sentence)


def one_of_ignoring_case(*allowed: str) -> Validator:
    """The value must be one of these words, in any case (Kafka's ``CaseInsensitiveValidString``)."""
    sentence = f"String must be one of (case insensitive): {', '.join(word.upper() for word in allowed)}"
    return Validator(
        f"(case insensitive) [{', '.join(word.upper() for word in allowed)}]",
        lambda value: None if value.lower() in allowed else sentence,
    )


def each_of(*allowed: str) -> Validator:
    """Each element of the list must be one of these words. The list may be empty."""
    sentence = f"String must be one of: {', '.join(allowed)}"
    return Validator(f"[{', '.join(allowed)}]", lambda value: None if set(value) <= set(allowed) else sentence)


def setting(
    type: ConfigType,
    default: Value,
    doc: str,
    *,
    limit: Validator | None = None,
    importance: Importance = Importance.MEDIUM,
    synonyms: tuple[Synonym, ...] = (),
    name: str | None = None,
    as_set: bool = False,
    not_honoured: str = "",
) -> Any:
    """Declare a setting as a field of an attrs class. ``name`` is needed only if Kafka's name is not the field's with
    dots.
    """
    metadata = {
        "type": type,
        "default": default,
        "doc": doc,
        "limit": limit,
        "importance": importance,
        "synonyms": synonyms,
        "name": name,
        "not_honoured": not_honoured,
    }
    stored = frozenset(default) if as_set and isinstance(default, tuple) else default
    return attrs.field(default=stored, metadata=metadata, kw_only=True)


boolean = partial(setting, ConfigType.BOOLEAN)
string = partial(setting, ConfigType.STRING)
short = partial(setting, ConfigType.SHORT)
integer = partial(setting, ConfigType.INT)
long = partial(setting, ConfigType.LONG)
double = partial(setting, ConfigType.DOUBLE)
words = partial(setting, ConfigType.LIST)


def field_key(field: attrs.Attribute[Any]) -> ConfigKey:
    """Return the ConfigKey that a field made by ``setting`` declares."""
    declared = field.metadata
    return ConfigKey(
        name=declared["name"] or field.name.replace("_", "."),
        type=declared["type"],
        default=declared["default"],
        validator=declared["limit"],
        importance=declared["importance"],
        doc=declared["doc"],
        synonyms=declared["synonyms"],
        not_honoured=declared["not_honoured"],
    )


def table(*classes: type[Any]) -> dict[str, ConfigKey]:
    """Return the settings that these classes declare, by Kafka's name."""
    keys = [field_key(field) for cls in classes for field in attrs.fields(cls)]
    return {key.name: key for key in keys}


_converter = cattrs.Converter(detailed_validation=False)


@_converter.register_structure_hook_factory(attrs.has)
def _structure_settings(cls: type[Any]) -> Callable[[Mapping[str, Any], Any], Any]:
    """Make cattrs structure a class of settings from Kafka's names. Each text is parsed by its ConfigKey."""
    overrides: dict[str, Any] = {}
    for field in attrs.fields(cls):
        key = field_key(field)
        as_set = isinstance(field.default, frozenset)

        def parse(text: str, _: Any, key: ConfigKey = key, as_set: bool = as_set) -> Any:
            value = key.parse(text)
            return frozenset(value) if as_set and isinstance(value, tuple) else value

        overrides[field.name] = override(rename=key.name, struct_hook=parse)
    return make_dict_structure_fn(cls, _converter, **overrides)


def structure(values: Mapping[str, str], cls: type[T]) -> T:
    """Build ``cls`` from ``values``, which maps Kafka's names to texts. Absent settings get their defaults.

    Raises ConfigError for the first value that is not allowed.
    """
    return _converter.structure(values, cls)


def usable(values: Mapping[str, str], keys: Mapping[str, ConfigKey]) -> dict[str, str]:
    """Return ``values`` without those that their settings refuse.

    The metadata can have such values: Apache Kafka's controller leaves the check of a broker's settings to the brokers.
    """
    return {name: text for name, text in values.items() if name not in keys or keys[name].takes(text)}
