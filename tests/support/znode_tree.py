"""A ZooKeeper in memory: one tree of znodes, sessions with ephemeral znodes, and watches that fire once.

It performs the operations of :mod:`kraft.zookeeper.operations` at once and in order, as one server does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs

from kraft.zookeeper.operations import (
    ANY_VERSION,
    Check,
    ChildNames,
    Children,
    Create,
    Delete,
    Failure,
    Get,
    Multi,
    MultiFailed,
    Operation,
    Result,
    Set,
    Write,
    WriteResult,
    Znode,
)


@attrs.define
class _Kept:
    data: bytes
    version: int
    created_zxid: int
    created_ms: int = 0
    owner: object | None = None
    next_sequence: int = 0


@attrs.define
class ZnodeTree:
    """``changed`` has the watches that fired, as (session, path), until a test takes them. A read of a session that
    ``refuses`` chooses fails, and sets no watch.
    """

    znodes: dict[str, _Kept] = attrs.Factory(lambda: {"/": _Kept(b"", 0, 0)})
    changed: list[tuple[object, str]] = attrs.Factory(list)
    zxid: int = 0
    now_ms: int = 0
    refuses: Callable[[Get | Children], bool] = attrs.field(default=lambda read: False)
    _data_watches: set[tuple[object, str]] = attrs.Factory(set)
    _child_watches: set[tuple[object, str]] = attrs.Factory(set)

    def create_all(self, paths: Iterable[str]) -> None:
        """Create each path with its parents, unless it exists."""
        for path in paths:
            parts = path.strip("/").split("/")
            for depth in range(1, len(parts) + 1):
                self.perform(None, Create("/" + "/".join(parts[:depth])))

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a znode, as a tool would."""
        self.create_all([path])
        self.perform(None, Set(path, data, ANY_VERSION))

    def data(self, path: str) -> bytes:
        return self.znodes[path].data

    def watches(self) -> set[tuple[object, str]]:
        """The watches that have not fired, as (session, path)."""
        return self._data_watches | self._child_watches

    def perform(self, session: object, operation: Operation) -> Result:
        if session is not None and isinstance(operation, Get | Children) and self.refuses(operation):
            return Failure.REFUSED
        match operation:
            case Get(path, watch):
                if watch:
                    self._data_watches.add((session, path))
                kept = self.znodes.get(path)
                return (
                    Failure.NO_NODE
                    if kept is None
                    else Znode(kept.data, kept.version, kept.created_zxid, kept.created_ms)
                )
            case Children(path, watch):
                if path not in self.znodes:
                    return Failure.NO_NODE
                if watch:
                    self._child_watches.add((session, path))
                return ChildNames(self._names(path))
            case Multi(writes):
                return self._multi(session, writes)
            case _:
                self.zxid += 1
                return self._write(session, operation)

    def expire(self, session: object) -> None:
        """End a session: its ephemeral znodes and its watches are gone."""
        for watches in (self._data_watches, self._child_watches):
            watches -= {each for each in watches if each[0] == session}
        self.changed = [each for each in self.changed if each[0] != session]
        self.zxid += 1
        for path in [path for path, kept in self.znodes.items() if kept.owner == session]:
            self._write(session, Delete(path))

    def _multi(self, session: object, writes: tuple[Write, ...]) -> Result:
        touched = {path for each in writes for path in (each.path, each.path.rpartition("/")[0] or "/")}
        before = {path: attrs.evolve(self.znodes[path]) for path in touched if path in self.znodes}
        watches = set(self._data_watches), set(self._child_watches), list(self.changed)
        self.zxid += 1
        results: list[WriteResult] = []
        for index, write in enumerate(writes):
            result = self._write(session, write)
            if isinstance(result, Failure):
                for created in (each for each in results if isinstance(each, str)):
                    del self.znodes[created]
                self.znodes.update(before)
                self._data_watches, self._child_watches, self.changed = watches
                return MultiFailed(index, result)
            results.append(result)
        return tuple(results)

    def _write(self, session: object, write: Write) -> Result:
        path = write.path
        if isinstance(write, Create):
            return self._create(session, write)
        kept = self.znodes.get(path)
        if kept is None:
            return Failure.NO_NODE
        if write.version not in (ANY_VERSION, kept.version):
            return Failure.BAD_VERSION
        if isinstance(write, Check):
            return None
        if isinstance(write, Set):
            kept.data, kept.version = write.data, kept.version + 1
            self._fire(self._data_watches, path)
            return kept.version
        if self._names(path):
            return Failure.NOT_EMPTY
        del self.znodes[path]
        self._fire(self._data_watches, path)
        self._fire(self._child_watches, path)
        self._fire(self._child_watches, _parent(path))
        return None

    def _create(self, session: object, create: Create) -> Result:
        parent = self.znodes.get(_parent(create.path))
        if parent is None:
            return Failure.NO_NODE
        path = create.path
        if create.sequence:
            path, parent.next_sequence = f"{path}{parent.next_sequence:010}", parent.next_sequence + 1
        if path in self.znodes:
            return Failure.NODE_EXISTS
        self.znodes[path] = _Kept(create.data or b"", 0, self.zxid, self.now_ms, session if create.ephemeral else None)
        self._fire(self._data_watches, path)
        self._fire(self._child_watches, _parent(path))
        return path

    def _names(self, path: str) -> tuple[str, ...]:
        prefix = path.rstrip("/") + "/"
        return tuple(
            each.removeprefix(prefix)
            for each in self.znodes
            if each.startswith(prefix) and each != "/" and "/" not in each.removeprefix(prefix)
        )

    def _fire(self, watches: set[tuple[object, str]], path: str) -> None:
        fired = sorted((each for each in watches if each[1] == path), key=repr)
        watches.difference_update(fired)
        self.changed += [each for each in fired if each not in self.changed]


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
