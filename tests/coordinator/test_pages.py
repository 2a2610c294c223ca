"""docs/groups.md, docs/transactions.md and their chapters agree with the coordinators, with transcripts of now."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from kraft.config.broker import BROKER_CONFIGS
from kraft.coordinator.groups.group import TRANSITIONS, GroupState
from kraft.wire.errors import ErrorCode
from tests.coordinator.pages import DOCS, TRANSCRIPTS, page

GROUPS = (DOCS / "groups.md").read_text()
ROOT = DOCS.parent


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_page_is_up_to_date(name: str) -> None:
    """``python -m tests.coordinator.pages`` writes them."""
    assert page(name) == (DOCS / name).read_text()


def test_the_transactions_page_has_the_output_of_the_example() -> None:
    output = (ROOT / "examples" / "09_exactly_once_through_a_kill.out").read_text()
    assert output in (DOCS / "transactions.md").read_text()


def test_every_transition_of_a_classic_group_is_in_the_diagram() -> None:
    classic = GROUPS[GROUPS.index("## The classic protocol") : GROUPS.index("## The consumer protocol")]
    arrows = re.findall(r"^    (\w+) --> (\w+) : ", classic, re.MULTILINE)
    assert {(GroupState(before), GroupState(after)) for before, after in arrows} == {
        (before, after) for before, all_after in TRANSITIONS.items() for after in all_after
    }


def test_the_errors_and_settings_exist() -> None:
    table = GROUPS[GROUPS.index("## Errors") : GROUPS.index("## Settings")]
    errors = [name for row in re.findall(r"^\| ([A-Z_, ]+) \|", table, re.MULTILINE) for name in row.split(", ")]
    assert len(errors) > 10
    assert [name for name in errors if name not in ErrorCode.__members__] == []
    texts = GROUPS + (DOCS / "groups" / "share-groups.md").read_text()
    settings = re.findall(r"`((?:group|offsets)\.[a-z.]+\.[a-z.]+)`", texts)
    assert [name for name in settings if name not in {*BROKER_CONFIGS, *_OF_CLIENTS}] == []


_OF_CLIENTS = {"group.instance.id", "group.remote.assignor"}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_its_modules_and_links_exist(name: str) -> None:
    text = (DOCS / name).read_text()
    folder = (DOCS / name).parent
    modules = re.findall(r"`(kraft\.[a-z_.]+)`", text)
    assert [each for each in modules if find_spec(each) is None] == []
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (folder / link).exists()] == []
