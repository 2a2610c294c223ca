"""``kraft`` itself: bytes that are no text, and streams that were closed, are no traceback."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kraft.raft.messages import SnapshotId
from kraft.storage.snapshot import write_snapshot
from tests.support.node_process import environment

STRICT = {"PYTHONIOENCODING": "utf-8:strict"}
"""As in a locale such as en_US.UTF-8; the locale C accepts any bytes by itself."""
LIMIT_S = 60
BYTE = b"\xff"


def run(directory: Path, line: bytes, text: bytes = b"") -> tuple[int, bytes, bytes]:
    """Run a line of the shell, in which ``kraft`` is this interpreter's."""
    kraft = shlex.join([sys.executable, "-m", "kraft"]).encode()
    done = subprocess.run(
        ["sh", "-c", line.replace(b"kraft", kraft)],
        input=text,
        capture_output=True,
        cwd=directory,
        env=environment() | STRICT,
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def snapshot(tmp_path: Path) -> bytes:
    return Path(write_snapshot(tmp_path, SnapshotId(41, 2), [], timestamp=0)).name.encode()


def test_a_name_of_any_bytes_is_printed_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "\udcff" / "00000000000000000000.log"
    path.parent.mkdir()
    path.write_bytes(b"")
    status, output, errors = run(tmp_path, b"kraft dump-log --files " + os.fsencode(path))
    assert (status, errors) == (0, b"")
    assert os.fsencode(path) in output


def test_a_shell_without_standard_input_ends(tmp_path: Path, snapshot: bytes) -> None:
    assert run(tmp_path, b"kraft shell -s " + snapshot + b" <&-") == (0, b"", b"")


def test_a_command_of_any_bytes_is_one_line(tmp_path: Path, snapshot: bytes) -> None:
    status, output, errors = run(tmp_path, b"kraft shell -s " + snapshot, b"ls " + BYTE + b"\n")
    assert (status, output) == (1, b"")
    assert errors.count(b"\n") == 1
    assert b"Traceback" not in errors
