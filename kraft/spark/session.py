"""Spark sessions for the command line, for tests and for benchmarks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

MINIMUM_JAVA = 17
LOG_LEVEL = "ERROR"
_JAVA_TIMEOUT_S = 30.0

SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
"""The settings in which a session differs from Spark's defaults."""
LOCAL_SETTINGS: Mapping[str, str] = {
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
"""The settings of a local session beside SETTINGS."""


class JavaMissing(Exception):
    """No Java runs here, or it is too old for Spark."""


def check_java() -> None:
    """Raise JavaMissing unless ``JAVA_HOME`` or the path has a Java of version MINIMUM_JAVA or newer."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    advice = f"Spark needs Java {MINIMUM_JAVA} or newer: install it, or set JAVA_HOME"
    if java is None or not os.path.exists(java):
        raise JavaMissing(f"No Java at {java}. {advice}" if java else f"No java on the path. {advice}")
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=_JAVA_TIMEOUT_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaMissing(f"{java} -version failed: {error}. {advice}") from error
    found = re.search(r'version "(?:1\.)?(\d+)', output.stderr + output.stdout)
    if found is None or int(found[1]) < MINIMUM_JAVA:
        raise JavaMissing(f"{java} is {found[0] if found else 'of an unknown version'}. {advice}")


def local_session(name: str, *, cores: int | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session in this process, with a JVM of its own on ``cores`` cores (None: all).

    A session that exists already is returned as it is. The workers run this Python, whatever the path says.

    Raises JavaMissing.
    """
    return session_on(f"local[{cores or '*'}]", name, settings)


def is_local(master: str) -> bool:
    """Whether a master's executors run in the JVM of the driver."""
    return re.fullmatch(r"local(\[[^]]*\])?", master) is not None


def session_on(master: str, name: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """Return a session on ``master``: ``local[2]``, ``spark://host:7077`` and so on.

    On a cluster, ``PYSPARK_PYTHON`` names the Python of the executors, as Spark documents it.

    Raises JavaMissing.
    """
    check_java()
    if is_local(master):
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        settings = {**LOCAL_SETTINGS, **(settings or {})}
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(LOG_LEVEL)
    return session
