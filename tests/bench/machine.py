"""The machine of the figures, without its name or any of its paths."""

from __future__ import annotations

import datetime
import os
import platform
import sysconfig
from importlib.metadata import version
from pathlib import Path

_GIB = 1 << 30
_BUILDS = {"--enable-optimizations": "PGO", "--with-lto": "LTO"}
_OF_DEBIAN = "--with-wheel-pkg-dir=/usr/share/python-wheels/"


def describe() -> str:
    """One line: processor, memory, kernel, Python, the libraries that matter, the day."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("trio", "confluent-kafka", "kio", "kafka-python"))
    return f"{hardware()}, {interpreter()}, {libraries}; {datetime.date.today().isoformat()}"


def interpreter() -> str:
    """Python's version, and how it was built: an optimized build is faster by a sixth."""
    options = sysconfig.get_config_var("CONFIG_ARGS") or ""
    built = " and ".join(name for option, name in _BUILDS.items() if option in options)
    if _OF_DEBIAN in options:
        built = "Debian's build"  # it is optimized, but by other means than these options
    return f"CPython {platform.python_version()} ({built or 'without optimizations'})"


def hardware() -> str:
    """Processor, memory, kernel."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {cpu}, {memory:.0f} GiB, Linux {platform.release().split('-')[0]}"


def load() -> float:
    """Return the number of tasks that wanted a core in the last minute, before the run added its own."""
    return os.getloadavg()[0]
