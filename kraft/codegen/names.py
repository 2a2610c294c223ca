"""Convert Kafka's names to Python's."""

from __future__ import annotations

import keyword
import re

__all__ = ["camel_case", "constant_name", "json_name", "snake_case"]

_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(name: str) -> str:
    """``IsrNodes`` is ``isr_nodes``; ``KRaft`` is one word; Python's keywords get an underscore."""
    snake = _WORD_ENDS.sub("_", name.replace("KRaft", "Kraft")).lower()
    return f"{snake}_" if keyword.iskeyword(snake) else snake


def constant_name(name: str) -> str:
    """``DescribeQuorum`` is ``DESCRIBE_QUORUM``."""
    return snake_case(name).upper()


def json_name(name: str) -> str:
    """Return the name that Kafka's JSON tools print: the spec's name with a lower-case first letter."""
    return name[0].lower() + name[1:]


def camel_case(snake: str) -> str:
    """Return the JSON name that ``kraft.wire.schema.camel_case`` derives from an attribute."""
    head, *tail = snake.split("_")
    return head + "".join(word.capitalize() for word in tail)
