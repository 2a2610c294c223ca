"""A C allocator that copies no large buffer as it grows, and gives memory back in small parts.

glibc has memory above a threshold mapped by the kernel, which enlarges it without a copy. But each freed mapping
raises that threshold, up to 32 MiB, and twice as much may then wait at the end of the heap. After one request of 50 MB
the next one grew on the heap: its move into a mapping copied 31 MiB in one step of the event loop, for 14 to 30 ms.
"""

from __future__ import annotations

import ctypes
import platform

MAPPED_BYTES = 4 << 20
"""Buffers from this size on are mapped, and as many bytes may be free at the end of the heap. Ordinary requests and
batches stay below it, and are not mapped anew each time.
"""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of <malloc.h>


def map_large_buffers() -> None:
    """Fix the thresholds of this process's glibc. Do nothing with another C library."""
    if platform.libc_ver()[0] == "glibc":
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)
        mallopt(_M_TRIM_THRESHOLD, MAPPED_BYTES)
