"""docs/apis.md, made from the tables that the node answers from: ``python -m tests.support.apis_page`` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kraft.api.apis import BROKER_APIS, BROKER_HANDLERS, CONTROLLER_APIS, CONTROLLER_HANDLERS, Api
from kraft.messages.registry import ApiKey, listeners, request_class

PAGE = Path(__file__).parents[2] / "docs" / "apis.md"

_HEAD = """# APIs

Made by `python -m tests.support.apis_page` from the tables that ApiVersions is answered from; a test compares.
"Specified" is the range of versions in the message's spec. What a listener does not offer it does not advertise, and
a request for it closes the connection, as in Apache Kafka.

Notes:

- Produce 0–2 are advertised and answered UNSUPPORTED_VERSION: an old librdkafka takes a higher minimum as a sign that
  it may not compress. Apache Kafka 4 advertises them too, and closes the connection.
- Transactions are not served yet: a transactional id is refused by InitProducerId and Produce, and FindCoordinator for
  a transaction is an INVALID_REQUEST.
- The consumer group protocol of KIP-848 is not served yet: `group.protocol=consumer` is refused by the client itself.
- Only PLAINTEXT listeners can be served yet; there are no ACLs and no quotas.
"""


def render() -> str:
    sections = [_HEAD]
    sections.append(_served("At a broker's listener", BROKER_APIS, BROKER_HANDLERS))
    sections.append(_served("At a controller's listener", CONTROLLER_APIS, CONTROLLER_HANDLERS))
    sections.append(_missing())
    return "\n".join(sections)


def _served(title: str, apis: Mapping[ApiKey, Api], package: str) -> str:
    lines = [f"## {title}", "", "| key | API | versions offered | specified | handler |", "|---|---|---|---|---|"]
    for key in sorted(apis):
        api = apis[key]
        path = f"{package}.{api.module}".replace(".", "/") + ".py"
        offered = _range((api.oldest, api.newest))
        handler = api.module.rpartition(".")[2]
        lines.append(f"| {int(key)} | {_name(key)} | {offered} | {_specified(key)} | [{handler}](../{path}) |")
    return "\n".join([*lines, ""])


def _missing() -> str:
    lines = ["## Not there yet", "", "| key | API | specified | would be at |", "|---|---|---|---|"]
    for key in sorted(ApiKey):
        missing = [
            side
            for side, apis in (("broker", BROKER_APIS), ("controller", CONTROLLER_APIS))
            if side in listeners(key) and key not in apis
        ]
        if missing:
            lines.append(f"| {int(key)} | {_name(key)} | {_specified(key)} | {', '.join(missing)} |")
    return "\n".join([*lines, ""])


def _name(key: ApiKey) -> str:
    return request_class(key).__name__.removesuffix("Request")


def _specified(key: ApiKey) -> str:
    return _range(request_class(key).VALID_VERSIONS)


def _range(versions: tuple[int, int]) -> str:
    oldest, newest = versions
    return str(oldest) if oldest == newest else f"{oldest}–{newest}"


if __name__ == "__main__":
    PAGE.write_text(render())
