"""Replaces a function for one test only, in a process where a node that other tests share may be at work."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any


def in_this_thread(replacement: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    """``replacement`` for who calls in the thread that asks for this here, ``original`` for everybody else."""
    mine = threading.get_ident()

    @functools.wraps(original)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return (replacement if threading.get_ident() == mine else original)(*arguments, **keywords)

    return call
