"""Errors that end with their handler, and those that a garbage collection would have to free.

An error has the frames of its traceback. If one of them has the error, both are a cycle, with all that they refer to.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def _raised(kind: type[Exception]) -> dict[int, Exception]:
    """The errors that were raised and are not freed, by their identity."""
    living = (each for each in gc.get_objects() if issubclass(type(each), kind))
    return {id(error): error for error in living if error.__traceback__ is not None}


@contextmanager
def errors_freed(kind: type[Exception]) -> Iterator[None]:
    """Raise AssertionError if an error of ``kind`` that was raised in the block is still there after it."""
    gc.collect()
    before = _raised(kind)
    gc.disable()
    try:
        yield
        assert [error for identity, error in _raised(kind).items() if identity not in before] == []
    finally:
        gc.enable()
