"""The allocator of a node's process. Each test has a process of its own, whose thresholds it may change."""

from __future__ import annotations

import json
import platform
import subprocess
import sys

import pytest

from tests.support.node_process import environment

BEGIN = """
import ctypes, json
from kraft.world.allocator import MAPPED_BYTES, map_large_buffers

class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
        "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

libc = ctypes.CDLL(None)
mallinfo = libc.mallinfo2
mallinfo.restype = Mallinfo
malloc, free = libc.malloc, libc.free
malloc.restype, malloc.argtypes, free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
free(malloc(24 << 20))
"""

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or tuple(map(int, platform.libc_ver()[1].split("."))) < (2, 33),
    reason="the thresholds are glibc's, and mallinfo2 came with its version 2.33",
)


def printed(script: str) -> int:
    command = [sys.executable, "-c", BEGIN + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True, env=environment())
    return int(json.loads(done.stdout))


MAPPED = """
before = mallinfo().hblkhd
malloc(2 * MAPPED_BYTES)
print(json.dumps(mallinfo().hblkhd - before))
"""

HEAP = """
blocks = [0] * 1000
before = mallinfo().arena
for number in range(1000):
    blocks[number] = malloc(32_000)
for block in reversed(blocks):
    free(block)
print(json.dumps(mallinfo().arena - before))
"""


def test_a_large_buffer_is_mapped_after_a_larger_one_was_freed() -> None:
    """mallopt(3), M_MMAP_THRESHOLD: "the value of M_MMAP_THRESHOLD [is] dynamically adjusted" to the size of a freed
    block, until the program sets it.
    """
    assert printed("map_large_buffers()" + MAPPED) >= 8 << 20
    assert printed(MAPPED) == 0


def test_the_end_of_the_heap_is_given_back_as_it_is_freed() -> None:
    """mallopt(3), M_TRIM_THRESHOLD: free() reduces the heap "when the amount of contiguous free memory at the top of
    the heap grows sufficiently large". A node gives 4 MiB back at a time, and not 48 MiB.
    """
    assert printed("map_large_buffers()" + HEAP) <= 5 << 20
    assert printed(HEAP) > 30 << 20
