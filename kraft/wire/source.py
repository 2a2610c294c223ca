"""Write Python functions as source code.

The encoder and the decoder of a message are straight-line Python for one class at one version. They are compiled at
their first use, as attrs does for ``__init__``. The source is registered with ``linecache``, so tracebacks show it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Source"]


class Source:
    """The lines of one function, the objects that it uses from outside, and local names that never clash."""

    def __init__(self, signature: str) -> None:
        self._lines = [f"def {signature}:"]
        self._depth = 1
        self._locals = 0
        self._constants: dict[str, Any] = {}

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def first(self, text: str) -> None:
        """Insert a line at the head of the function."""
        self._lines.insert(1, f"    {text}")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent the lines that are written inside the block under ``head:``."""
        self.line(f"{head}:")
        self._depth += 1
        yield
        self._depth -= 1

    def local(self, name: str) -> str:
        """Return a local name that is not yet in use."""
        self._locals += 1
        return f"{name}_{self._locals}"

    def constant(self, name: str, value: Any) -> str:
        """Return a global name for ``value``. Calls with the same name and value share one."""
        candidate, number = name, 1
        while candidate in self._constants and self._constants[candidate] is not value:
            number += 1
            candidate = f"{name}_{number}"
        self._constants[candidate] = value
        return candidate

    def compile(self, name: str, filename: str) -> Callable[..., Any]:
        """Compile the function and return it.

        Args:
            name: The function's name, as in the signature.
            filename: What tracebacks call the file.
        """
        text = "\n".join(self._lines) + "\n"
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        namespace = dict(self._constants)
        exec(compile(text, filename, "exec"), namespace)
        function: Callable[..., Any] = namespace[name]
        return function
