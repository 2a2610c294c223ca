"""The table and the docs page are generated from the rows of the APIs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kraft.api import index
from kraft.api.index import main, rows
from kraft.messages.registry import ApiKey
from tests.support import apis_page


def test_the_table_agrees_with_the_rows() -> None:
    assert main(["--check"]) == 0, "run: python -m kraft.api.index"


def test_an_outdated_table_is_reported_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    api = tmp_path / "api"
    api.mkdir()
    for key in (ApiKey.VOTE, ApiKey.CREATE_TOPICS):
        (api / f"{key.name.lower()}.py").touch()
    monkeypatch.setattr(index, "TABLE", api / "table.py")
    index.TABLE.write_text("")
    assert main(["--check"]) == 1
    assert "python -m kraft.api.index" in capsys.readouterr().err
    assert main([]) == main(["--check"]) == 0
    assert [row.key for row in rows()] == [ApiKey.CREATE_TOPICS, ApiKey.VOTE]
    assert "ListenerType.BROKER: {\n        ApiKey.CREATE_TOPICS: (2, 7),\n    }" in index.TABLE.read_text()


def test_the_page_of_apis_agrees_with_the_rows() -> None:
    assert apis_page.PAGE.read_text() == apis_page.render(), "run: python -m tests.support.apis_page"


def test_each_key_of_kafka_has_a_spec_or_a_reason() -> None:
    """The last key of Apache Kafka 4.3 is DeleteShareGroupOffsets."""
    assert set(apis_page.ABSENT) | set(ApiKey) == set(range(ApiKey.DELETE_SHARE_GROUP_OFFSETS + 1))


def test_the_table_does_without_the_apis() -> None:
    """A node's start must not import every message class."""
    imported = "[name for name in sys.modules if name.startswith(('kraft.api.', 'kraft.messages.'))]"
    code = f"import sys, kraft.api.table; print(*{imported})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {
        "kraft.api.row",
        "kraft.api.table",
        "kraft.messages._index",
        "kraft.messages.registry",
    }
