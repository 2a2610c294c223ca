"""A former commit as a peer: another checkout runs, and each row of its table has both medians."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench import former
from tests.bench.figures import Section, Table, as_markdown
from tests.bench.peers import FORMER, KRAFT, Peer, find_peers, former_commit, in_turns
from tests.support.node_process import environment


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _checkout(directory: Path) -> str:
    """A repository whose node prints the file of its module and its arguments; return the commit."""
    (directory / "kraft").mkdir(parents=True)
    (directory / "kraft/__init__.py").touch()
    (directory / "kraft/node.py").write_text("import sys\nprint(__file__, *sys.argv[1:])\n")
    _git(directory, "init", "--quiet")
    _git(directory, "add", ".")
    _git(directory, "commit", "--quiet", "--message", "a node")
    return _git(directory, "rev-parse", "HEAD")


def test_the_peer_runs_the_code_of_its_checkout(tmp_path: Path) -> None:
    _checkout(tmp_path)
    kind = former_commit(tmp_path).kind
    assert kind is not None
    command = kind.run_command(Path("server.properties"))
    done = subprocess.run(command, cwd="/", env=environment(), capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(tmp_path / "kraft/node.py"), "server.properties"]
    assert command[-4:] == [sys.executable, "-m", "kraft.node", "server.properties"], "as this checkout's node"


def test_its_commit_is_marked_where_files_differ_from_it(tmp_path: Path) -> None:
    commit = _checkout(tmp_path)
    assert former.commit_of(former_commit(tmp_path)) == commit[:12]
    (tmp_path / "kraft/node.py").write_text("")
    assert former.commit_of(former_commit(tmp_path)) == f"{commit[:12]}-dirty"


def test_the_table_has_the_ratio_of_each_row_of_each_section(tmp_path: Path) -> None:
    _checkout(tmp_path)
    pair = [*find_peers([KRAFT])[0], former_commit(tmp_path)]

    def rates(peers: Sequence[Peer], rounds: int) -> Section:
        table = Table("Large batches", [peer.name for peer in peers], base="Apache")
        for _ in range(rounds):
            table.row("produce", "MB/s").add(KRAFT, 300.0)
            table.row("produce", "MB/s").add(FORMER, 200.0)
        return Section("throughput", [table, Table("beside the comparison", [KRAFT])])

    section = former.measure(pair, 3, [rates])
    [table] = section.tables
    assert as_markdown(table)[2:] == [
        "|  | kraft | former | kraft / former |",
        "| --- | ---: | ---: | ---: |",
        "| Large batches: produce, MB/s | 300 (300–300) | 200 (200–200) | 1.50 |",
    ]
    assert {name: len(samples) for name, samples in table.rows[0].samples.items()} == dict.fromkeys(
        (KRAFT, FORMER), 3 * former.STARTS
    )
    [note] = section.notes
    assert f"`former` is commit {former.commit_of(pair[1])}." in note


def test_each_subject_begins_a_round_in_its_turn() -> None:
    assert [in_turns("ab", number)[0] for number in range(4)] == ["a", "b", "a", "b"]
    assert [*in_turns("abc", 4)] == ["b", "c", "a"]
