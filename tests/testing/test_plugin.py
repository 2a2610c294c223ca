"""The plugin in a pytest of its own: it costs nothing until a fixture is asked for, and says what a fixture lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.node_process import environment

WITHOUT_PYSPARK = 'import sys\n\nsys.modules["pyspark"] = None\n'


def python(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in ``directory``."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_plugin_imports_no_spark(tmp_path: Path) -> None:
    """Every pytest of an environment with this package imports the plugin."""
    heavy = "{'pyspark', 'pyarrow', 'kraft.spark', 'trio'}"
    ran = python(tmp_path, "-c", f"import sys, kraft.testing.plugin; print({heavy} & set(sys.modules))")
    assert ran.stdout == "set()\n", ran.stderr


@pytest.mark.parametrize("arguments", ['topic={"orders": 3}', 'topics=["orders"]', '{"orders": 3}'])
def test_a_mark_that_means_nothing_is_refused(tmp_path: Path, arguments: str) -> None:
    """It would start a cluster without the topics of the test."""
    test = f"import pytest\n\n\n@pytest.mark.kraft({arguments})\ndef test_it(kraft_cluster):\n    pass\n"
    (tmp_path / "test_it.py").write_text(test)
    ran = python(tmp_path, "-m", "pytest", "-q")
    assert "pytest.mark.kraft takes two dictionaries" in ran.stdout
    assert "1 error" in ran.stdout


def test_marks_that_cannot_be_followed_are_refused(tmp_path: Path) -> None:
    """Values of a wrong type would be errors of the node's start, and the shared cluster runs already."""
    marked = [
        ('topics={"orders": "3"}', "kraft_cluster", "topics={'orders': '3'}: write a number, as 3"),
        ('settings={"num.partitions": 3}', "kraft_cluster", "settings={'num.partitions': 3}: write a text, as '3'"),
        ('settings={"log.preallocate": False}', "kraft_cluster", "False}: write a text, as 'false'"),
        (
            'topics={"orders": 3}',
            "kraft_shared_cluster",
            "no effect on kraft_shared_cluster: take kraft_cluster instead",
        ),
    ]
    tests = [
        f"@pytest.mark.kraft({arguments})\ndef test_{number}({fixture}):\n    pass\n"
        for number, (arguments, fixture, _) in enumerate(marked)
    ]
    (tmp_path / "test_it.py").write_text("import pytest\n\n\n" + "\n\n".join(tests))
    ran = python(tmp_path, "-m", "pytest", "-q")
    for _, _, says in marked:
        assert says in ran.stdout
    assert f"{len(marked)} errors" in ran.stdout


def test_a_mark_may_leave_an_argument_out(tmp_path: Path) -> None:
    test = "import pytest\n\n\n@pytest.mark.kraft(topics=None)\ndef test_it(kraft_cluster):\n    pass\n"
    (tmp_path / "test_it.py").write_text(test)
    assert "1 passed" in python(tmp_path, "-m", "pytest", "-q").stdout


def test_the_fixture_without_pyspark_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(WITHOUT_PYSPARK)
    (tmp_path / "test_it.py").write_text("def test_job(kraft_spark):\n    pass\n\n\ndef test_other():\n    pass\n")
    ran = python(tmp_path, "-m", "pytest", "-q")
    assert "ImportError: kraft.spark needs PySpark: pip install '.[spark]'" in ran.stdout
    assert "1 passed, 1 error" in ran.stdout
