"""The legal names of topics. A topic's name becomes the name of a directory, so replay checks it as creation does."""

from __future__ import annotations

import re

MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def topic_name_fault(name: str) -> str | None:
    """Return the reason, in Apache Kafka's words, why no topic may have this name; None for a legal one."""
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"the length of '{_printable(name[:MAX_LENGTH])}...' is longer than the max allowed length {MAX_LENGTH}"
    if not _LEGAL.fullmatch(name):
        allowed = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
        return f"'{_printable(name)}' {allowed}"
    return None


def is_valid_topic_name(name: str) -> bool:
    return topic_name_fault(name) is None


def _printable(name: str) -> str:
    return name.encode("unicode_escape").decode()
