"""Files and directories are made exclusively, through no link, and for no stranger."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from kraft.config.topic import log_config
from kraft.quorum.journal import FILE_NAME as JOURNAL
from kraft.quorum.journal import QuorumJournal
from kraft.quorum.snapshots import MetadataSnapshots
from kraft.raft.events import StoreChunk
from kraft.raft.messages import SnapshotId
from kraft.request_log.files import RequestFiles
from kraft.storage.atomic import write_atomically
from kraft.storage.checkpoint import RECOVERY_POINT, write_offsets
from kraft.storage.creation import (
    create_directory,
    create_file,
    create_private_directory,
    open_for_reading,
    open_for_writing,
    open_or_create,
)
from kraft.storage.directory import LogDirectory, format_directory
from kraft.storage.log import Log
from kraft.storage.meta_properties import MetaProperties
from kraft.storage.quorum_state import QuorumState, write_quorum_state
from kraft.storage.segment import Segment
from kraft.storage.snapshot import snapshot_name, write_snapshot

SECRET = b"the target of a link"
SNAPSHOT = SnapshotId(5, 1)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.write_bytes(SECRET)
    return path


def store_chunk(directory: Path) -> None:
    MetadataSnapshots(str(directory)).store(StoreChunk(SNAPSHOT, 0, False), b"bytes")


def fetched_name() -> str:
    return snapshot_name(SNAPSHOT).replace(".checkpoint", "-0.checkpoint.part")


def open_log(directory: Path) -> None:
    Log.open(directory.parent, directory.name, log_config({}, {}), now_ms=0).close()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("file.tmp", lambda directory: write_atomically(directory / "file", b"new")),
        (f"{RECOVERY_POINT}.tmp", lambda directory: write_offsets(directory / RECOVERY_POINT, {("orders", 0): 1})),
        ("quorum-state.tmp", lambda directory: write_quorum_state(directory / "quorum-state", QuorumState())),
        (
            f"{snapshot_name(SNAPSHOT)}.part",
            lambda directory: write_snapshot(directory, SNAPSHOT, [b"record"], timestamp=0),
        ),
        (fetched_name(), store_chunk),
        ("00000000000000000000.log", lambda directory: Segment.create(str(directory), 0, 4096)),
    ],
)
def test_a_link_in_the_place_of_a_temporary_file_is_not_followed(
    tmp_path: Path, target: Path, name: str, write: Callable[[Path], object]
) -> None:
    """O_EXCL: "If O_CREAT and O_EXCL are set, open() shall fail if the file exists", and a link is no exception."""
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / name).symlink_to(target)
    write(directory)
    assert target.read_bytes() == SECRET
    assert not any(path.is_symlink() for path in directory.iterdir())


@pytest.mark.parametrize(
    ("name", "write"),
    [
        (".lock", lambda directory: LogDirectory.open(directory, node_id=1)),
        ("requests-1-00000000.jsonl.open", lambda directory: RequestFiles(str(directory), 1, 1, 1, lambda: 1).open()),
        (".lock", lambda directory: RequestFiles(str(directory), 1, 1, 1, lambda: 1).open()),
    ],
)
def test_a_link_in_the_place_of_a_lasting_file_is_refused(
    tmp_path: Path, target: Path, name: str, write: Callable[[Path], object]
) -> None:
    directory = tmp_path / "logs"
    format_directory(directory, MetaProperties("AAAAAAAAAAAAAAAAAAAAAg", 1, UUID(int=3)), b"", ignore_formatted=False)
    (directory / name).symlink_to(target)
    with pytest.raises(OSError, match=name):
        write(directory)
    assert target.read_bytes() == SECRET


@pytest.mark.parametrize("use", [open_for_reading, open_for_writing, lambda path: open_or_create(path, os.O_RDWR)])
def test_a_pipe_in_the_place_of_a_file_is_refused(tmp_path: Path, use: Callable[[Path], object]) -> None:
    """FIFOs: "opening for reading normally blocks until some other process opens the same FIFO for writing"."""
    path = tmp_path / "file"
    os.mkfifo(path)
    with pytest.raises(OSError, match="not a regular file") as refused:
        use(path)
    assert refused.value.filename == str(path)


def test_the_journal_ends_where_a_link_stands(tmp_path: Path, target: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The journal must never delay the quorum, so its error is one line in the log."""
    (tmp_path / JOURNAL).symlink_to(target)
    journal = QuorumJournal(tmp_path, 1, lambda: 0)
    journal.start(None)
    journal.close()
    assert target.read_bytes() == SECRET
    assert "the journal ends here" in caplog.text


def test_a_leftover_is_removed_and_never_opened(tmp_path: Path) -> None:
    """A crash leaves a temporary file, which another process may still have open."""
    path = tmp_path / "file.tmp"
    path.write_bytes(b"leftover")
    with path.open("rb") as reader:
        fd = create_file(path)
        os.write(fd, b"new")
        os.close(fd)
        assert reader.read() == b"leftover"
    assert path.read_bytes() == b"new"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def no_umask() -> object:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
@pytest.mark.parametrize(
    ("parent_mode", "file_mode", "directory_mode"),
    [
        (0o700, 0o600, 0o700),
        (0o750, 0o640, 0o750),
        (0o755, 0o640, 0o750),
        (0o770, 0o640, 0o750),
        (0o710, 0o600, 0o700),
        (0o705, 0o600, 0o700),
    ],
)
def test_a_new_file_is_the_groups_to_read_if_its_directory_is(
    tmp_path: Path, parent_mode: int, file_mode: int, directory_mode: int
) -> None:
    """The rule of PostgreSQL's data directory: 0700 and 0600, or with a directory of the group 0750 and 0640."""
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(parent_mode)
    os.close(create_file(parent / "created"))
    os.close(open_or_create(parent / "opened", os.O_RDWR))
    create_directory(parent / "directory")
    assert (mode(parent / "created"), mode(parent / "opened")) == (file_mode, file_mode)
    assert mode(parent / "directory") == directory_mode


@pytest.mark.usefixtures("no_umask")
def test_the_files_of_a_node_are_for_its_owner(tmp_path: Path) -> None:
    """A formatted directory and a log in it: 0700 and 0600, whatever the parent of the log directory shows."""
    tmp_path.chmod(0o755)
    directory = tmp_path / "logs"
    format_directory(directory, MetaProperties("AAAAAAAAAAAAAAAAAAAAAg", 1, UUID(int=3)), b"", ignore_formatted=False)
    open_log(directory / "orders-0")
    QuorumJournal(directory, 1, lambda: 0).close()
    LogDirectory.open(directory, node_id=1).close()
    request_files = RequestFiles(str(tmp_path / "requests"), 1, 1, 2**20, lambda: 1)
    request_files.open()
    request_files.write([b"{}"])
    request_files.close()
    made = list(tmp_path.rglob("*"))
    assert {mode(path) for path in made if path.is_dir()} == {0o700}
    assert {mode(path) for path in made if path.is_file()} == {0o600}
    assert len(made) >= 12


@pytest.mark.usefixtures("no_umask")
def test_a_setgid_directory_keeps_its_group(tmp_path: Path) -> None:
    """The kernel hands the setgid bit and the group down to new directories; nothing here takes them away."""
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(0o2750)
    create_directory(parent / "directory")
    assert mode(parent / "directory") == 0o2750


def test_a_stricter_umask_wins(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    before = os.umask(0o077)
    try:
        os.close(create_file(tmp_path / "file"))
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o600


def test_an_existing_directory_stays_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o750)
    create_private_directory(shared)
    assert mode(shared) == 0o750
