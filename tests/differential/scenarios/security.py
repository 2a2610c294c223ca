"""Access control, client quotas and SCRAM credentials at nodes without an authorizer, a quota or a user."""

from __future__ import annotations

from kraft.messages.registry import ApiKey
from tests.differential.talk import Body, Talk

ANY, TOPIC, CLUSTER = 1, 2, 4
ALLOW, READ, LITERAL = 3, 3, 3
EXACT, DEFAULT, OF_ANY = range(3)
SHA_256, SHA_512 = 1, 2
UNKNOWN_FIELDS_OF_FILTERS = ("resourceTypeFilter", "patternTypeFilter", "operation", "permissionType")
UNKNOWN_FIELDS_OF_RULES = ("resourceType", "resourcePatternType", "operation", "permissionType")


def acls(talk: Talk) -> None:
    everything = {
        "resourceTypeFilter": ANY,
        "resourceNameFilter": None,
        "patternTypeFilter": ANY,
        "principalFilter": None,
        "hostFilter": None,
        "operation": ANY,
        "permissionType": ANY,
    }
    rule = {
        "resourceType": TOPIC,
        "resourceName": "acls",
        "resourcePatternType": LITERAL,
        "principal": "User:somebody",
        "host": "*",
        "operation": READ,
        "permissionType": ALLOW,
    }
    filters: dict[str, Body] = {
        "everything": {},
        "a topic": {"resourceTypeFilter": TOPIC, "resourceNameFilter": "acls", "patternTypeFilter": LITERAL},
        "a principal": {"principalFilter": "User:somebody"},
        "a principal without a type": {"principalFilter": "somebody"},
        "an operation": {"operation": READ, "permissionType": ALLOW},
        **{f"{field} {kind}": {field: kind} for field in UNKNOWN_FIELDS_OF_FILTERS for kind in (0, 99)},
    }
    for case, more in filters.items():
        talk.sweep(case, ApiKey.DESCRIBE_ACLS, {**everything, **more})
        talk.sweep(case, ApiKey.DELETE_ACLS, {"filters": [{**everything, **more}]})
    for case, more in {
        "good": {},
        "on the cluster": {"resourceType": CLUSTER, "resourceName": "kafka-cluster"},
        "a cluster of another name": {"resourceType": CLUSTER},
        "no name": {"resourceName": ""},
        "no host": {"host": ""},
        "a principal without a type": {"principal": "somebody"},
        **{f"{field} {kind}": {field: kind} for field in UNKNOWN_FIELDS_OF_RULES for kind in (0, ANY, 99)},
    }.items():
        talk.sweep(case, ApiKey.CREATE_ACLS, {"creations": [{**rule, **more}]})
    talk.sweep("two", ApiKey.CREATE_ACLS, {"creations": [rule, {**rule, "resourceName": "acls-2"}]})
    talk.sweep("two", ApiKey.DELETE_ACLS, {"filters": [everything, everything]})
    talk.sweep("nothing", ApiKey.CREATE_ACLS, {"creations": []})
    talk.sweep("nothing", ApiKey.DELETE_ACLS, {"filters": []})


def client_quotas(talk: Talk) -> None:
    """No quota is set. An alteration is validated and not applied: a quota would delay the other scenarios."""

    def part(kind: str, match_type: int, match: str | None = None) -> Body:
        return {"entityType": kind, "matchType": match_type, "match": match}

    for case, parts in {
        "all": [],
        "a user": [part("user", EXACT, "somebody")],
        "the default user": [part("user", DEFAULT)],
        "any client of any user": [part("user", OF_ANY), part("client-id", OF_ANY)],
        "an address": [part("ip", EXACT, "127.0.0.1")],
        "no address": [part("ip", EXACT, "nowhere at all")],
        "an address and a user": [part("ip", OF_ANY), part("user", OF_ANY)],
        "a kind twice": [part("user", OF_ANY), part("user", DEFAULT)],
        "no kind": [part("", OF_ANY)],
        "an unknown kind": [part("topic", OF_ANY)],
        "exact without a name": [part("user", EXACT)],
        "the default with a name": [part("user", DEFAULT, "somebody")],
        "any with a name": [part("user", OF_ANY, "somebody")],
        "an unknown match": [part("user", 3)],
        "a negative match": [part("user", -1)],
    }.items():
        for strict in (False, True):
            body = {"components": parts, "strict": strict}
            talk.sweep(f"{case}, {strict}", ApiKey.DESCRIBE_CLIENT_QUOTAS, body)
    entry = {
        "entity": [{"entityType": "user", "entityName": "somebody"}],
        "ops": [{"key": "producer_byte_rate", "value": 1e9, "remove": False}],
    }
    talk.sweep("a rate", ApiKey.ALTER_CLIENT_QUOTAS, {"entries": [entry], "validateOnly": True})
    talk.sweep("nothing", ApiKey.ALTER_CLIENT_QUOTAS, {"entries": [], "validateOnly": True})


def scram_credentials(talk: Talk) -> None:
    """No user has credentials, and no alteration is good."""
    for case, names in {
        "everybody": None,
        "nobody": [],
        "an unknown user": ["nobody"],
        "two unknown users": ["nobody", "nobody-else"],
        "a user twice": ["nobody", "nobody"],
        "no name": [""],
    }.items():
        users = None if names is None else [{"name": name} for name in names]
        talk.sweep(case, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": users})
    removed = {"name": "nobody", "mechanism": SHA_256}
    few = {"name": "nobody", "mechanism": SHA_512, "iterations": 1, "salt": "c2FsdA==", "saltedPassword": "cGFzcw=="}
    for case, body in {
        "removes what is not there": {"deletions": [removed], "upsertions": []},
        "too few iterations": {"deletions": [], "upsertions": [few]},
        "nothing": {"deletions": [], "upsertions": []},
    }.items():
        talk.sweep(case, ApiKey.ALTER_USER_SCRAM_CREDENTIALS, body)
