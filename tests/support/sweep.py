"""One test that loops over many cases, and reports each case that failed.

A parametrized test is an item for each case; seven hundred versions of messages make the list of tests unreadable and
cost more in pytest than in the check.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

_SHOWN = 5
"""The number of failed cases whose tracebacks are shown."""


def sweep(names: tuple[str, ...], cases: Iterable[tuple[Any, ...]]) -> Callable[[Callable[..., None]], Any]:
    """Call the decorated check with each of ``cases`` as the arguments ``names``; its other arguments are fixtures.

    Raises:
        ExceptionGroup: from the test, with a note on each exception that names its case.
        ValueError: from the decorator, if there is no case: such a test could not fail.
    """
    listed = list(cases)
    if not listed:
        raise ValueError("a sweep without a case")

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(check)
        def test(**fixtures: Any) -> None:
            failures = []
            for case in listed:
                try:
                    check(**dict(zip(names, case, strict=True)), **fixtures)
                except Exception as failure:
                    failure.add_note("case: " + " ".join(_label(value) for value in case))
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(listed)} cases failed", failures[:_SHOWN])

        signature = inspect.signature(check)
        fixtures = [each for name, each in signature.parameters.items() if name not in names]
        test.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        del test.__wrapped__  # type: ignore[attr-defined]
        return test

    return decorate


def _label(value: object) -> str:
    return value.__name__ if isinstance(value, type) else str(value)
