"""Free large messages and their bytes in steps.

The interpreter frees the hundred thousand structures of a large message in one step of up to 30 ms. The system takes
back the pages of 50 MB of bytes in one of 8 ms. No task runs meanwhile.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from mmap import mmap
from operator import attrgetter
from sys import getrefcount
from typing import Any

from kraft.wire.mapped import Made
from kraft.wire.schema import Message

STEP = 500
"""The elements of a step: some tenths of a millisecond of work."""
_BYTES_PER_ELEMENT = 8 * 1024
"""That are given back to the system in the time in which one element is freed."""


def free_in_steps(owned: list[Any]) -> Generator[int, None, None]:
    """Empty a list of messages, buffers, dictionaries and sets, the arrays of the messages, and the other objects.
    Yields the cost of each step, in elements.

    An object to which there is another reference stays as it is.
    """
    while owned:
        each = owned.pop()
        if getrefcount(each) != _OF_A_LOCAL:
            continue
        if isinstance(each, Message):
            values = (getattr(each, field.name) for field in each.FIELDS if field.is_array or field.struct)
            owned += [value for value in values if value]
        elif isinstance(each, Made):
            owned.append(each.items)
        elif isinstance(each, dict | set):
            pop = each.popitem if isinstance(each, dict) else each.pop
            count = min(STEP, len(each))
            for _ in range(count):
                pop()
            del pop  # it has the container
            if each:
                owned.append(each)
            yield count
        elif isinstance(each, bytearray):
            half = len(each) // 2
            with suppress(BufferError):  # a view has it
                del each[half:]  # the interpreter shrinks a buffer only to less than its half
                if half > STEP * _BYTES_PER_ELEMENT:
                    owned.append(each)
            yield half // _BYTES_PER_ELEMENT
        elif isinstance(each, memoryview) and isinstance(each.obj, mmap):
            owned.append(each.obj)
            each.release()
        elif isinstance(each, mmap) and len(each) > STEP * _BYTES_PER_ELEMENT:
            with suppress(BufferError, SystemError):  # a view has it, or the system cannot shrink it
                each.resize(len(each) - STEP * _BYTES_PER_ELEMENT)
                owned.append(each)
            yield STEP
        elif isinstance(each, list):
            last = each[-STEP:]
            del each[-STEP:]
            if each:
                owned.append(each)
            if isinstance(last[0], Message):
                owned += _long_parts(last)
            count = len(last)
            del last
            yield count


def _long_parts(elements: Sequence[Message]) -> Iterator[Any]:
    """The elements with a long array, and the arrays whose own elements may have one: the short ones of them as one."""
    for field in elements[0].FIELDS:
        if field.is_array:
            arrays = map(attrgetter(field.name), elements)
            if field.struct is not None and any(inner.is_array for inner in field.struct.FIELDS):
                short: list[Any] = []
                for array in filter(None, arrays):
                    if len(array) > STEP:
                        yield array
                    else:
                        short += array
                if short:
                    yield short
            else:
                pairs = zip(elements, arrays, strict=True)
                yield from (each for each, array in pairs if array and len(array) > STEP)


def _references_of_a_local() -> int:
    local = object()
    return getrefcount(local)


_OF_A_LOCAL = _references_of_a_local()
"""The references that ``getrefcount`` counts to an object if a local variable has the only one."""
