"""Operations on ZooKeeper and their results, as values: the legacy controller returns them, a session performs them.

An operation that fails has a Failure as its result; nothing is raised for it. In a Multi all succeed or none does.
"""

from __future__ import annotations

from enum import Enum

import attrs

ANY_VERSION = -1


@attrs.frozen
class Get:
    """Read a znode. With ``watch``, the next change of its data, its creation or its deletion is reported."""

    path: str
    watch: bool = False


@attrs.frozen
class Children:
    """List the children of a znode. With ``watch``, the next change of that list is reported."""

    path: str
    watch: bool = False


@attrs.frozen
class Create:
    """Create a znode, whose parent exists. An ephemeral one ends with its session."""

    path: str
    data: bytes | None = None
    ephemeral: bool = False
    sequence: bool = False


@attrs.frozen
class Set:
    """Replace the data of a znode that has this version."""

    path: str
    data: bytes
    version: int


@attrs.frozen
class Delete:
    """Delete a znode that has this version."""

    path: str
    version: int = ANY_VERSION


@attrs.frozen
class Check:
    """Succeed if the znode has this version. Only in a Multi."""

    path: str
    version: int


Write = Create | Set | Delete | Check


@attrs.frozen
class Multi:
    """Perform all the writes or none (ZooKeeper's ``multi``)."""

    writes: tuple[Write, ...]


Operation = Get | Children | Create | Set | Delete | Multi


@attrs.frozen
class Znode:
    """The result of Get. ``created_zxid`` is the transaction that created the znode, ``created_ms`` its time by
    ZooKeeper's clock.
    """

    data: bytes
    version: int
    created_zxid: int
    created_ms: int


@attrs.frozen
class ChildNames:
    """The result of Children."""

    names: tuple[str, ...]


@attrs.frozen
class ZnodeChanged:
    """A watch of this path fired. The watch is gone; the next read sets it again.

    Of settings, which nobody watches: they were announced.
    """

    path: str


class Failure(Enum):
    """Why an operation had no effect."""

    NODE_EXISTS = "the znode exists"
    NO_NODE = "the znode does not exist"
    BAD_VERSION = "the znode has another version"
    NOT_EMPTY = "the znode has children"
    REFUSED = "ZooKeeper refused the operation"


@attrs.frozen
class MultiFailed:
    """The write with this index failed, so none was performed."""

    index: int
    failure: Failure


WriteResult = str | int | None
"""The path of a Create, the new version of a Set, None of a Delete or a Check."""
Result = Znode | ChildNames | WriteResult | tuple[WriteResult, ...] | Failure | MultiFailed
"""The tuple is that of a Multi, with the result of each write."""
