"""``python -m tests.support.experiments [NAME …] [--quick]``: measure, and write docs/experiments.md.

It runs ``kraft experiment NAME`` with the jars of Apache Kafka 3.9 from Maven. The result goes to docs/experiments, as
JSON and pictures, and its tables into the page. Without names it runs all experiments, which takes about an hour on a
quiet machine. ``--quick`` measures little, to try the command out.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import cattrs

from kraft.story.experiments import control_plane_page, generations
from kraft.story.experiments.control_plane import ControlPlaneResult
from kraft.story.experiments.generations import GenerationsResult
from tests.support.fetchers import APACHE_KAFKA_WITH_ZOOKEEPER, apache_kafka

DOCS = Path(__file__).parents[2] / "docs"
PAGE, RECORDED = DOCS / "experiments.md", DOCS / "experiments"
QUICK = {
    "control-plane": ["--moves", "4", "--connections", "50"],
    "generations": ["--partitions", "100,1000", "--losses", "1"],
}


def tables(name: str) -> str:
    """The tables of a recorded result."""
    values = json.loads((RECORDED / f"{name}.json").read_text())
    if name == "control-plane":
        return control_plane_page.markdown(cattrs.structure(values, ControlPlaneResult))
    return generations.markdown(cattrs.structure(values, GenerationsResult))


def with_tables(page: str) -> str:
    """The page with the tables of each recorded result between its marks."""

    def filled(found: re.Match[str]) -> str:
        name = found["name"]
        if not (RECORDED / f"{name}.json").exists():
            return found[0]
        return f"<!-- {name} -->\n\n{tables(name).strip()}\n\n<!-- end -->"

    return re.sub(r"<!-- (?P<name>[a-z-]+) -->\n.*?<!-- end -->", filled, page, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.experiments")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(QUICK)}")
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    jars = apache_kafka(APACHE_KAFKA_WITH_ZOOKEEPER)
    RECORDED.mkdir(exist_ok=True)
    for name in chosen.names or QUICK:
        with tempfile.TemporaryDirectory(prefix="kraft-experiment-") as scratch:
            sizes = QUICK[name] if chosen.quick else []
            command = ["experiment", name, "--apache", str(jars), "--into", scratch, *sizes]
            subprocess.run([sys.executable, "-m", "kraft", *command], check=True)
            for path in (*Path(scratch).glob("*.json"), *Path(scratch).glob("*.png")):
                shutil.copy(path, RECORDED)
    PAGE.write_text(with_tables(PAGE.read_text()))


if __name__ == "__main__":
    main()
