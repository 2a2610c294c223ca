from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kraft.config.setting import ConfigError

T = TypeVar("T")


def value_or_refusal(parse: Callable[[], T]) -> T | str:
    """Return what ``parse`` returns, or the message of its ConfigError; any other exception is a failure."""
    try:
        return parse()
    except ConfigError as error:
        return str(error)
