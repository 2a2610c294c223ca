"""flake8-async sees every module of the package with async code, and no other."""

from __future__ import annotations

from pathlib import Path

from tests.support.async_lint import async_modules


def test_modules_with_async_code_are_checked(tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "task.py").write_text("async def run() -> None: ...\n")
    (tmp_path / "room" / "scope.py").write_text("from trio import CancelScope\n")
    (tmp_path / "room" / "core.py").write_text("def step(now: float) -> None: ...\n")
    assert [path.name for path in async_modules(tmp_path)] == ["scope.py", "task.py"]
