"""``python -m tests.support.apis_page`` writes docs/apis.md from the rows of the APIs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kraft.api.index import rows
from kraft.api.row import Api, ListenerType, Quota, Versions
from kraft.messages.registry import ApiKey, request_class

PAGE = Path(__file__).parents[2] / "docs" / "apis.md"
SERVED = (ListenerType.BROKER, ListenerType.CONTROLLER)

_HEAD = """# APIs

A listener advertises the APIs in this table, and closes the connection after a request for any other one, as in Apache
Kafka. "Specified" is the range of versions in the message's spec. `python -m tests.support.apis_page` makes this page
from the rows of the APIs, from which a node also makes its ApiVersions response. A test compares the two.

Notes:

- A broker advertises Produce 0–2 and responds with UNSUPPORTED_VERSION: an old librdkafka does not compress if the
  minimum is higher. Apache Kafka 4 advertises them too, and closes the connection.
- Producers whose epoch rises with each transaction (KIP-890) need `transaction.version` 2. Other producers keep the
  first protocol at every level.
- The consumer group protocol of KIP-848 needs `group.version` 1, without which a heartbeat gets UNSUPPORTED_VERSION.
- Share groups (KIP-932) need `share.version` 1, without which their requests get UNSUPPORTED_VERSION.
- Only PLAINTEXT listeners exist yet, and no ACLs and no quotas. The columns "needs" and "quota" have the operation that
  Apache Kafka authorizes, and the client quota that it charges.
"""
_SERVED = """## Served

"Broker" and "controller" are the versions offered at a listener of that kind. Several pairs in "needs" are for several
resources in a request, or the second is an alternative to the first. Each quota includes the request quota (KIP-124).
"Forwarded": a broker may pass the request on to the active controller in an Envelope (KIP-590).
"""


_ABSENT = """## Not there

If the message spec of an API names brokers or controllers, their listeners serve it. These APIs of Apache Kafka 4.3
have no spec here:
"""
ABSENT = {
    range(38, 42): (
        "CreateDelegationToken, RenewDelegationToken, ExpireDelegationToken, DescribeDelegationToken",
        "Delegation tokens (KIP-48) need SASL.",
    ),
    range(71, 73): (
        "GetTelemetrySubscriptions, PushTelemetry",
        "No plugin receives the metrics of clients (KIP-714). Their subscriptions can be configured.",
    ),
    range(88, 90): ("StreamsGroupHeartbeat, StreamsGroupDescribe", "Streams groups (KIP-1071)."),
}
"""The keys of Apache Kafka 4.3 without a spec: the APIs' names, and the reason."""


def render() -> str:
    return "\n".join([_HEAD, _SERVED, *_table(rows()), "", _ABSENT, *_absent(), ""])


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


def _absent() -> Iterator[str]:
    yield "| keys | APIs | why |"
    yield "|---|---|---|"
    for keys, (names, why) in ABSENT.items():
        yield f"| {keys[0]}–{keys[-1]} | {names} | {why} |"


def _name(key: ApiKey) -> str:
    return request_class(key).__name__.removesuffix("Request")


def _specified(key: ApiKey) -> str:
    return _range(request_class(key).VALID_VERSIONS)


def _range(versions: Versions) -> str:
    oldest, newest = versions
    return str(oldest) if oldest == newest else f"{oldest}–{newest}"


if __name__ == "__main__":
    PAGE.write_text(render())
