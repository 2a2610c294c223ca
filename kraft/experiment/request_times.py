"""The times of the controller's requests, from the request logs of both kinds of brokers.

Apache Kafka's request logger and this project's request log have the same times of each request
(``kafka.network.RequestChannel.Request``): both begin when the broker has read the request from its socket.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from kraft.messages.registry import request_class
from kraft.story.experiments.control_plane import CONTROLLER_REQUESTS, TimedRequest

_JSON_OF_APACHE = "Completed request:"


def of_kraft(broker: int, directory: Path) -> list[TimedRequest]:
    """Read the request log of a node of this project. Raises OSError."""
    paths = sorted((*directory.glob("requests-*.jsonl"), *directory.glob("requests-*.open")))
    return [found for path in paths for found in kraft_requests(broker, path.read_text().splitlines())]


def of_apache(broker: int, path: Path) -> list[TimedRequest]:
    """Read the request log of a node of Apache Kafka. Raises OSError."""
    return list(apache_requests(broker, path.read_text().splitlines()))


def kraft_requests(broker: int, lines: Iterable[str]) -> Iterator[TimedRequest]:
    """Yield the controller's requests of these lines."""
    for text in lines:
        line = _object(text)
        if line.get("kind") == "request" and line["api"] in CONTROLLER_REQUESTS:
            times = line["ms"], line["queueMs"], line["totalMs"]
            yield TimedRequest(broker, line["api"], line["listener"], *times)


def apache_requests(broker: int, lines: Iterable[str]) -> Iterator[TimedRequest]:
    """Yield the controller's requests of these lines, each with the time in UTC before Kafka's message."""
    for text in lines:
        time, mark, found = text.partition(_JSON_OF_APACHE)
        line = _object(found)
        header = line.get("requestHeader")
        if not mark or header is None:
            continue
        api = request_class(header["requestApiKey"]).__name__.removesuffix("Request")
        if api in CONTROLLER_REQUESTS:
            done_ms = datetime.fromisoformat(time.split()[0]).timestamp() * 1000
            yield TimedRequest(broker, api, line["listener"], done_ms, line["requestQueueTimeMs"], line["totalTimeMs"])


def _object(text: str) -> dict[str, Any]:
    """Return the JSON object of a line; an empty one for a line that a writer has not finished."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
