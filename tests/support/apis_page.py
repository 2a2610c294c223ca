"""docs/apis.md, made from the rows of the APIs: ``python -m tests.support.apis_page`` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kraft.api.index import rows
from kraft.api.row import Api, ListenerType, Quota, Versions
from kraft.messages.registry import ApiKey, listeners, request_class

PAGE = Path(__file__).parents[2] / "docs" / "apis.md"
SERVED = (ListenerType.BROKER, ListenerType.CONTROLLER)

_HEAD = """# APIs

Made by `python -m tests.support.apis_page` from the rows of the APIs, as the table that ApiVersions is answered from;
a test compares. "Specified" is the range of versions in the message's spec. A listener advertises only the APIs that it
offers, and a request for another one closes the connection, as in Apache Kafka.

Notes:

- Produce 0–2 are advertised and answered UNSUPPORTED_VERSION: an old librdkafka takes a higher minimum as a sign that
  it may not compress. Apache Kafka 4 advertises them too, and closes the connection.
- Transactions are not served yet: a transactional id is refused by InitProducerId and Produce, and FindCoordinator for
  a transaction is an INVALID_REQUEST.
- The consumer group protocol of KIP-848 is not served yet: `group.protocol=consumer` is refused by the client itself.
- Only PLAINTEXT listeners can be served yet. There are no ACLs and no quotas: the columns "needs" and "quota" say what
  Apache Kafka asks its authorizer, and which client quota it charges.
"""
_SERVED = """## Served

"Broker" and "controller" are the versions offered at a listener of that kind. Several pairs in "needs" are for several
resources in a request, or the second stands in for the first. Each quota includes the request quota (KIP-124).
"Forwarded": a broker may pass the request on to the active controller in an Envelope (KIP-590).
"""


def render() -> str:
    served = rows()
    return "\n".join([_HEAD, _SERVED, *_table(served), "", *_missing(served), ""])


def _table(served: Sequence[Api]) -> Iterator[str]:
    yield "| key | API | broker | controller | specified | needs | quota | forwarded |"
    yield "|---|---|---|---|---|---|---|---|"
    for api in served:
        link = f"[{_name(api.key)}](../kraft/api/{api.key.name.lower()}.py)"
        offered = (_range(api.versions[each]) if each in api.versions else "" for each in SERVED)
        needs = ", ".join(f"{operation.name} on {resource.name}" for operation, resource in api.permissions)
        quota = "" if api.quota is Quota.NONE else api.quota
        cells = (int(api.key), link, *offered, _specified(api.key), needs, quota, "yes" if api.forwardable else "")
        yield f"| {' | '.join(map(str, cells))} |"


def _missing(served: Sequence[Api]) -> Iterator[str]:
    yield from ("## Not there yet", "", "| key | API | specified | would be at |", "|---|---|---|---|")
    versions = {api.key: api.versions for api in served}
    for key in sorted(ApiKey):
        missing = [each for each in SERVED if each in listeners(key) and each not in versions.get(key, {})]
        if missing:
            yield f"| {int(key)} | {_name(key)} | {_specified(key)} | {', '.join(missing)} |"


def _name(key: ApiKey) -> str:
    return request_class(key).__name__.removesuffix("Request")


def _specified(key: ApiKey) -> str:
    return _range(request_class(key).VALID_VERSIONS)


def _range(versions: Versions) -> str:
    oldest, newest = versions
    return str(oldest) if oldest == newest else f"{oldest}–{newest}"


if __name__ == "__main__":
    PAGE.write_text(render())
