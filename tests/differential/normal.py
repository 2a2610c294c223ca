"""Remove the parts of a response that may differ between two brokers without a difference in meaning.

Member ids become numbers in order of their first occurrence, so that each member keeps its identity. Other generated
ids, times and texts become "some", because only their presence matters. All else must be equal.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

INVENTED = frozenset({"memberId", "leader", "memberID"})
SOME = frozenset(
    {
        "topicId",
        "sessionId",
        "producerId",
        "producerIdStart",
        "brokerEpoch",
        "errorMessage",
        "batchIndexErrorMessage",
        "port",
        "logDir",
        "totalBytes",
        "usableBytes",
        "documentation",
    }
    | {"logAppendTimeMs", "finalizedFeaturesEpoch", "lastTimestamp"}
)
NOTHING = (None, "", -1, 0, "AAAAAAAAAAAAAAAAAAAAAA")


@attrs.define
class Normaliser:
    """Remembers the ids of one transcript."""

    _numbers: dict[Any, str] = attrs.Factory(dict)

    def normal(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self.normal(each, key) for key, each in value.items()}
        if isinstance(value, list):
            items = [self.normal(each, name) for each in value]
            # The order in which topics, partitions, groups or members are listed carries no meaning.
            return sorted(items, key=_sort_key) if items and isinstance(items[0], dict) else items
        if value in NOTHING or isinstance(value, bool):
            return value
        if name in INVENTED:
            return self._numbers.setdefault(value, f"member {len(self._numbers) + 1}")
        return "some" if name in SOME else value


def _sort_key(item: Any) -> str:
    return json.dumps(item, sort_keys=True)
