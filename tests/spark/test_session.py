"""Sessions, and the errors of a machine without Java."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kraft.spark.session import JavaMissing, check_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java(directory: Path, version: str) -> Path:
    """Make a JAVA_HOME whose java prints ``version`` as a real one does: on standard error."""
    program = directory / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2018-01-16' >&2\n")
    program.chmod(0o755)
    return directory


@pytest.mark.parametrize(("version", "says"), [("1.8.0_392", "1.8"), ("11.0.2", "11"), ("odd", "unknown version")])
def test_a_java_that_is_too_old_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, says: str
) -> None:
    """Spark 4 documentation: Java 17 or newer."""
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, version)))
    with pytest.raises(JavaMissing, match=rf"{says}.*needs Java 17 or newer"):
        check_java()


def test_a_missing_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    with pytest.raises(JavaMissing, match=r"No Java at .*nothing/bin/java"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissing, match="No java on the path"):
        check_java()


def test_workers_run_this_python(spark: SparkSession) -> None:
    """A worker with another Python than the driver's lacks its packages."""
    rows = spark.range(1).rdd.map(lambda _: __import__("sys").executable).collect()
    assert rows == [__import__("sys").executable]
