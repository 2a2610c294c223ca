"""A headless Chromium that opens a page from a file: its DOM after the scripts ran, their errors, a screenshot."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import attrs

NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_S = 120.0
#: Time of the page's own clock, which runs ahead while nothing is left to do.
_BUDGET_MS = 20_000
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    # A page that asks any host for anything gets an error, which the console shows.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    f"--virtual-time-budget={_BUDGET_MS}",
)
#: The horizontal coordinates of the path of a bar, such as M10,2V20H80V2Z.
_PATH_X = re.compile(r"[MH](-?[\d.]+)")
_CONSOLE = re.compile(r'CONSOLE:?\(?\d*\)?\] "(.*)", source: (.*)$', re.MULTILINE)


class NoBrowser(Exception):
    """No Chromium is installed. Debian has it as the package chromium."""


@attrs.frozen
class Element:
    """An element of the DOM. ``within`` has the classes and ids of the elements around it, and its own; ``text`` is the
    text directly in it.
    """

    tag: str
    attributes: dict[str, str]
    within: tuple[str, ...]
    text: list[str] = attrs.field(factory=list)
    children: list[Element] = attrs.field(factory=list)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def label(self) -> str:
        return self.attributes.get("aria-label", "")

    @property
    def path(self) -> str:
        """The path that is drawn: the element's own, or that of the path in the element of a bar."""
        return self.attributes.get("d", "") or next((each.path for each in self.children if each.path), "")

    @property
    def extent(self) -> tuple[float, float]:
        """The least and the greatest x of the path of a bar."""
        xs = [float(x) for x in _PATH_X.findall(self.path)]
        return min(xs), max(xs)


@attrs.frozen
class Opened:
    """A page after its scripts ran. ``console`` has the messages of the scripts and of the browser about them."""

    dom: str
    elements: Sequence[Element]
    console: Sequence[str]

    @property
    def body(self) -> Element:
        return next(element for element in self.elements if element.tag == "body")

    def drawn(self, part: str, words: str) -> list[Element]:
        """Return the drawn bars and points in the page's part ``part``, an element id, whose label holds ``words``."""
        labelled = [each for each in self.elements if f"#{part}" in each.within and words in each.label]
        return [each for each in labelled if each.path]

    def texts(self, part: str, tag: str) -> list[str]:
        return ["".join(each.text) for each in self.elements if f"#{part}" in each.within and each.tag == tag]


def browser() -> str:
    """Return the path of Chromium.

    Raises:
        NoBrowser: there is none.
    """
    for name in NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    raise NoBrowser("no Chromium is on the path: apt-get install chromium")


def open_page(page: Path, *, width: int = 1280, height: int = 3000, dark: bool = False) -> Opened:
    """Return the page as it is after its scripts ran."""
    done = _run(*_scheme(dark), "--dump-dom", f"--window-size={width},{height}", page.resolve().as_uri())
    parser = _Elements()
    parser.feed(done.stdout)
    return Opened(done.stdout, parser.elements, [found[1] for found in _CONSOLE.finditer(done.stderr)])


def screenshot(page: Path, picture: Path, *, width: int = 1280, height: int = 3000, dark: bool = False) -> None:
    """Write the picture of the page, a PNG, with the width and height of the window."""
    size = f"--window-size={width},{height}"
    _run(*_scheme(dark), size, f"--screenshot={picture.resolve()}", page.resolve().as_uri())


def _scheme(dark: bool) -> list[str]:
    return [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory(prefix="kraft-browser-", ignore_cleanup_errors=True) as profile:
        command = [browser(), *_FLAGS, f"--user-data-dir={profile}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stderr[-4000:]}"
    return done


class _Elements(HTMLParser):
    """Collects the elements in order."""

    VOID = frozenset(("meta", "link", "br", "img", "input", "hr"))

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        within = self._open[-1].within if self._open else ()
        element = Element(tag, attributes, (*within, *_names(attributes)))
        self.elements.append(element)
        if self._open:
            self._open[-1].children.append(element)
        if tag not in self.VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if any(element.tag == tag for element in self._open):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1].tag not in ("script", "style"):
            self._open[-1].text.append(data)


def _names(attributes: dict[str, str]) -> list[str]:
    names = attributes.get("class", "").split()
    return [*names, f"#{attributes['id']}"] if "id" in attributes else names
