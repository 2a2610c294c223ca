"""``python -m tests.support.apis_page`` writes docs/apis.md from the rows of the APIs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kraft.api.index import rows
from kraft.api.row import Api, ListenerType, Quota, Versions
from kraft.messages.registry import ApiKey, listeners, request_class

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
- Only PLAINTEXT listeners exist yet, and no ACLs and no client quotas. The columns "needs" and "quota" have the
  operation that Apache Kafka authorizes, and the client quota that it charges.
"""
_SERVED = """## Served

"Broker" and "controller" are the versions offered at a listener of that kind. Several pairs in "needs" are for several
resources in a request, or the second is an alternative to the first. Each quota includes the request quota (KIP-124).
"Forwarded": a broker may pass the request on to the active controller in an Envelope (KIP-590), and offers the versions
that this controller serves, too.
A broker with ZooKeeper also serves the requests of its controller, and some APIs in other versions; it has no column.
"""


_ABSENT = """## Not there

These APIs of Apache Kafka 4.3 are not served, or not at each listener that Kafka has them at:
"""
_TOKENS = "delegation tokens (KIP-48) need SASL"
_TELEMETRY = "as Apache Kafka without a plugin for metrics of clients (KIP-714); subscriptions can be configured"
_STREAMS = "streams groups (KIP-1071) are missing"
ABSENT = {
    38: ("CreateDelegationToken", _TOKENS),
    39: ("RenewDelegationToken", _TOKENS),
    40: ("ExpireDelegationToken", _TOKENS),
    41: ("DescribeDelegationToken", _TOKENS),
    71: ("GetTelemetrySubscriptions", _TELEMETRY),
    72: ("PushTelemetry", _TELEMETRY),
    88: ("StreamsGroupHeartbeat", _STREAMS),
    89: ("StreamsGroupDescribe", _STREAMS),
}
"""The name of each API of Apache Kafka 4.3 without a spec, and the reason. The page leaves out those that have one."""


def render() -> str:
    served = rows()
    return "\n".join([_HEAD, _SERVED, *_table(served), "", _ABSENT, *_absent(served), ""])


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


def _absent(served: Sequence[Api]) -> Iterator[str]:
    yield "| key | API | why |"
    yield "|---|---|---|"
    for key, (name, why) in ABSENT.items():
        if key not in set(ApiKey):
            yield f"| {key} | {name} | {why} |"
    versions = {api.key: api.versions for api in served}
    for specified in sorted(ApiKey):
        for listener in SERVED:
            if listener in listeners(specified) and listener not in versions.get(specified, {}):
                yield f"| {int(specified)} | {_name(specified)} | not served yet by a {listener} |"


def _name(key: ApiKey) -> str:
    return request_class(key).__name__.removesuffix("Request")


def _specified(key: ApiKey) -> str:
    return _range(request_class(key).VALID_VERSIONS)


def _range(versions: Versions) -> str:
    oldest, newest = versions
    return str(oldest) if oldest == newest else f"{oldest}–{newest}"


if __name__ == "__main__":
    PAGE.write_text(render())
