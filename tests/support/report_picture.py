"""Write the pictures of the report page of a known story for the docs: ``python -m tests.support.report_picture``.

Needs the extra kraft[spark], for plotly, and Chromium.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from kraft.story.report.page import render
from tests.support.browser import screenshot
from tests.support.report_stories import two_kills

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
WIDTH = 960
#: For each picture, the parts of the page that it leaves out, as a selector, and its height.
PARTS = {
    "report.png": ("section:not(#quorum, #brokers)", 1130),
    "report-partitions.png": ("header, section:not(#partitions, #unavailability)", 1330),
}


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    text = render(two_kills())
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "report.html"
        for name, (hidden, height) in PARTS.items():
            page.write_text(
                text.replace("</head>", f"<style>{hidden} {{ display: none }}</style></head>"), encoding="utf-8"
            )
            screenshot(page, PICTURES / name, width=WIDTH, height=height)
            print(f"{PICTURES / name}: {(PICTURES / name).stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
