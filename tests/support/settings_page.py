"""``python -m tests.support.settings_page`` writes docs/settings.md from the declarations of the settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from kraft.config.accepted_settings import AcceptedSettings
from kraft.config.broker import BROKER_CONFIGS, NodeConfig
from kraft.config.dynamic import APPLIED_AT_ONCE, CHANGEABLE, ONLY_WITH_ZOOKEEPER
from kraft.config.network_settings import ListenerLimits, ListenerSettings
from kraft.config.setting import ConfigKey, table, to_text
from kraft.config.topic import TOPIC_CONFIGS

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"

_HEAD = """# Settings

Names, types, limits and defaults are Apache Kafka's. But `socket.send.buffer.bytes` is -1 here, and a segment may have
as few bytes as in Kafka 3.9, where Kafka 4 requires 1 MiB (its brokers refuse such a topic). Names with `kraft.`
belong to this project. Of these
{count} settings, {ignored} are **not honoured**: the node accepts and validates them, so that a `server.properties` of
Apache Kafka is valid here, but they have no effect. A node logs a warning at its start if one of them has another value
than the default. A node also logs a warning for an unknown name, and ignores it.

`python -m tests.support.settings_page` makes this page from the declarations in [kraft/config](../kraft/config). A test
compares the two, and another test checks that the code reads each setting or marks it as not honoured.
"""

_BROKER_HEAD = """## Settings of a node

"Dynamic" describes a change by `kafka-configs` while brokers run (KIP-226). *Kept*: the controller writes the change to
the metadata, for brokers of Apache Kafka in the same cluster; a node here keeps the value of its file. If the column is
empty, the controller refuses the change.
"""

_TOPIC_HEAD = """## Settings of a topic

All of them may change at any time, and take effect at once. A topic without its own value uses the first configured one
of the broker settings in the same row. The first of these is dynamic as well.
"""


def setting_classes() -> Mapping[str, type[Any]]:
    """The classes whose fields are broker settings, by the name that NodeConfig has for them, if it has one."""
    hints = get_type_hints(NodeConfig).items()
    held = {name: hint for name, hint in hints if isinstance(hint, type) and hint.__name__.endswith("Settings")}
    return {
        **held,
        "listener_settings": ListenerSettings,
        "listener_limits": ListenerLimits,
        "accepted": AcceptedSettings,
    }


def render() -> str:
    keys = [*BROKER_CONFIGS.values(), *TOPIC_CONFIGS.values()]
    ignored = sum(bool(key.not_honoured) for key in keys)
    sections = [_HEAD.format(count=len(keys), ignored=ignored), _BROKER_HEAD]
    sections += ["\n".join(_of_a_class(cls)) for cls in setting_classes().values()]
    sections += [_TOPIC_HEAD, "\n".join(_of_topics())]
    return "\n".join(sections)


def _of_a_class(cls: type[Any]) -> Iterator[str]:
    first, *others = re.findall("ZooKeeper|[A-Z][a-z]+", cls.__name__.removesuffix("Settings"))
    yield f"### {' '.join([first, *map(str.lower, others)])}"
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
    if name in ONLY_WITH_ZOOKEEPER:
        return "kept, only with ZooKeeper"
    return "at once" if name in APPLIED_AT_ONCE else "kept" if name in CHANGEABLE else ""


def _honoured(key: ConfigKey) -> str:
    return f"**no**: {_text(key.not_honoured)}" if key.not_honoured else "yes"


def _text(text: str) -> str:
    """``text`` as the cell of a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(render())
