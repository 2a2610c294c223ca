"""docs/settings.md, made from the declarations of the settings: ``python -m tests.support.settings_page`` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from kraft.config.broker import BROKER_CONFIGS, NodeConfig
from kraft.config.dynamic import APPLIED_AT_ONCE, CHANGEABLE
from kraft.config.network_settings import ListenerLimits, ListenerSettings
from kraft.config.setting import ConfigKey, table, to_text
from kraft.config.topic import TOPIC_CONFIGS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"

_HEAD = """# Settings

Made by `python -m tests.support.settings_page` from the declarations in [kraft/config](../kraft/config); a test
compares, and another one sees to it that each setting is read by the code or marked as not honoured.

Names, types, limits and defaults are Apache Kafka's; those that begin with `kraft.` are of this project. Of these
{count} settings, {ignored} are **not honoured**: they are accepted and checked, so that a `server.properties` made for
Apache Kafka is a valid one, and change nothing. A node whose configuration gives one another value than the default
says so in a line at its start. A name that is not on this page is unknown: it is warned of, and left alone.
"""

_BROKER_HEAD = """## Settings of a node

"Dynamic" is what becomes of a change by `kafka-configs` while brokers run (KIP-226). *Kept*: the change is written to
the metadata, for brokers of Apache Kafka in the same cluster; a node here goes on with what its file says. Where
nothing is said, the change is refused.
"""

_TOPIC_HEAD = """## Settings of a topic

All of them may be changed at any time, and take effect at once. A topic that does not set one takes it from the broker
settings beside it, the first that is set; of these the first is dynamic as well.
"""


def setting_classes() -> Mapping[str, type[Any]]:
    """The classes whose fields are broker settings, by the name that NodeConfig has for them, if it has one."""
    hints = get_type_hints(NodeConfig).items()
    held = {name: hint for name, hint in hints if isinstance(hint, type) and hint.__name__.endswith("Settings")}
    return {**held, "listener_settings": ListenerSettings, "listener_limits": ListenerLimits}


def render() -> str:
    keys = [*BROKER_CONFIGS.values(), *TOPIC_CONFIGS.values()]
    ignored = sum(bool(key.not_honoured) for key in keys)
    sections = [_HEAD.format(count=len(keys), ignored=ignored), _BROKER_HEAD]
    sections += ["\n".join(_of_a_class(cls)) for cls in setting_classes().values()]
    sections += [_TOPIC_HEAD, "\n".join(_of_topics())]
    return "\n".join(sections)


def _of_a_class(cls: type[Any]) -> Iterator[str]:
    words = re.findall("[A-Z][a-z]+", cls.__name__.removesuffix("Settings"))
    yield f"### {' '.join(words).capitalize()}"
    yield ""
    yield "| setting | default | dynamic | what it is for | honoured |"
    yield "|---|---|---|---|---|"
    for key in table(cls).values():
        yield f"| `{key.name}` | {_default(key)} | {_dynamic(key.name)} | {_text(key.doc)} | {_honoured(key)} |"
    yield ""


def _of_topics() -> Iterator[str]:
    yield "| setting | default | broker settings behind it | what it is for | honoured |"
    yield "|---|---|---|---|---|"
    for key in TOPIC_CONFIGS.values():
        behind = "<br>".join(f"`{synonym.name}`" for synonym in key.synonyms)
        yield f"| `{key.name}` | {_default(key)} | {behind} | {_text(key.doc)} | {_honoured(key)} |"


def _default(key: ConfigKey) -> str:
    text = to_text(key.default)
    return f"`{text.replace(',', ', ')}`" if text else ""


def _dynamic(name: str) -> str:
    return "at once" if name in APPLIED_AT_ONCE else "kept" if name in CHANGEABLE else ""


def _honoured(key: ConfigKey) -> str:
    return f"**no**: {_text(key.not_honoured)}" if key.not_honoured else "yes"


def _text(text: str) -> str:
    """``text`` as the cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(render())
