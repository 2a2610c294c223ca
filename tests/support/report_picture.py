"""Write docs/pictures/report.png, the top of the report page of a known story: ``python -m tests.support.report_picture``.

Needs the extra kraft[spark], for plotly, and Chromium.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from kraft.story.report.page import render
from tests.support.browser import screenshot
from tests.support.report_stories import two_kills

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "report.png"
WIDTH, HEIGHT = 820, 1560


def main() -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "report.html"
        page.write_text(render(two_kills()), encoding="utf-8")
        screenshot(page, PICTURE, width=WIDTH, height=HEIGHT)
    print(f"{PICTURE}: {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
