"""Prints the live nursery tree of a node: tasks under the task whose nursery they run in."""

from __future__ import annotations

from collections.abc import Iterator

import trio


def render(task: trio.lowlevel.Task | None = None) -> str:
    """Return the tree below ``task`` (the running one if None), one line for each task."""
    root = trio.lowlevel.current_task() if task is None else task
    return "\n".join([root.name, *_below(root, "")])


def _below(task: trio.lowlevel.Task, indent: str) -> Iterator[str]:
    children = [
        child for nursery in task.child_nurseries for child in sorted(nursery.child_tasks, key=lambda t: t.name)
    ]
    for position, child in enumerate(children):
        last = position == len(children) - 1
        yield f"{indent}{'└── ' if last else '├── '}{child.name}"
        yield from _below(child, indent + ("    " if last else "│   "))
