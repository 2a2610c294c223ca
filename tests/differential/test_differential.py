"""The same requests to Apache Kafka and to our node, in every common version: the responses must be equal.

Controllers and voters are compared with both versions of Apache Kafka that they may share a quorum with, brokers with
the newer one; ``-k 3.9.2`` selects one. ``normal.py`` removes the parts that may differ. ``allowed.py`` has the
intended differences with their reasons.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path

import pytest

from kraft.api.row import ListenerType
from kraft.api.table import OFFERED
from kraft.messages.registry import ApiKey
from tests.differential.allowed import ALLOWED
from tests.differential.compare import Allowed, Difference, differences, weighed
from tests.differential.page import PAGE, render
from tests.differential.pair import Pair
from tests.differential.scenarios import (
    CONTROLLER_SCENARIOS,
    NEWEST_SCENARIOS,
    PRE_VOTE_SCENARIOS,
    SCENARIOS,
    VOTER_SCENARIOS,
)
from tests.differential.scenarios.voter import FIRST_PRE_VOTE
from tests.differential.talk import Talk
from tests.support.apache_process import APACHE_3, APACHE_4


@pytest.mark.interop
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("beside", [APACHE_4], ids=attrgetter("version"), indirect=True)
def test_answers_are_those_of_apache_kafka(brokers: Pair, name: str) -> None:
    check(brokers, name, SCENARIOS[name])


@pytest.mark.interop
@pytest.mark.parametrize("name", NEWEST_SCENARIOS)
@pytest.mark.parametrize("beside", [APACHE_4], ids=attrgetter("version"), indirect=True)
def test_answers_at_the_newest_levels_are_those_of_apache_kafka(newest: Pair, name: str) -> None:
    check(newest, name, NEWEST_SCENARIOS[name])


@pytest.mark.interop
@pytest.mark.parametrize("name", CONTROLLER_SCENARIOS)
def test_controllers_answer_as_apache_kafkas_do(controllers: Pair, name: str) -> None:
    check(controllers, name, CONTROLLER_SCENARIOS[name])


@pytest.mark.interop
@pytest.mark.parametrize("name", VOTER_SCENARIOS)
def test_a_voter_answers_as_apache_kafkas_does(voters: Pair, name: str) -> None:
    if name in PRE_VOTE_SCENARIOS and voters.beside == APACHE_3.version:
        assert FIRST_PRE_VOTE not in voters.versions[ApiKey.VOTE], "it could be compared"
    else:
        check(voters, name, VOTER_SCENARIOS[name])


def check(pair: Pair, name: str, scenario: Callable[[Talk], None]) -> None:
    theirs, ours = pair.play(scenario)
    allowed = [entry for entry in ALLOWED.get(name, ()) if entry.is_about(pair.beside)]
    unmeant, unused = weighed(differences(theirs, ours), allowed)
    assert not unmeant, "\n" + "\n".join(map(str, unmeant))
    assert not unused, f"no longer needed: {unused}"


def test_every_allowed_difference_names_a_scenario() -> None:
    assert ALLOWED.keys() <= {*SCENARIOS, *NEWEST_SCENARIOS, *CONTROLLER_SCENARIOS, *VOTER_SCENARIOS}


#: The served APIs that no scenario compares, with the reasons.
NOT_COMPARED: Mapping[ApiKey, str] = {}


def test_each_served_api_is_compared_in_a_scenario() -> None:
    """The two kinds of compared listeners offer the APIs; a request of the set-up alone (``tell``) is not compared."""
    served = {*OFFERED[ListenerType.BROKER], *OFFERED[ListenerType.CONTROLLER]}
    compared = set[ApiKey]()
    for path in (Path(__file__).parent / "scenarios").glob("*.py"):
        compared |= _compared(ast.parse(path.read_text()))
    assert served - compared == NOT_COMPARED.keys()


def _compared(module: ast.Module) -> set[ApiKey]:
    """The APIs that a module of scenarios names anywhere but as the API of a ``tell``."""
    told = {
        id(call.args[0])
        for call in ast.walk(module)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "tell"
    }
    return {
        ApiKey[name.attr]
        for name in ast.walk(module)
        if isinstance(name, ast.Attribute)
        and isinstance(name.value, ast.Name)
        and name.value.id == "ApiKey"
        and id(name) not in told
    }


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text() == render(), "run: python -m tests.differential.page"


def test_a_difference_is_found_where_it_lies() -> None:
    theirs = {"A 1": {"topics": [{"name": "x", "errorCode": 0}, {"name": "y", "errorCode": 3}]}, "A 2": "closed"}
    ours = {"A 1": {"topics": [{"name": "y", "errorCode": 0}]}, "A 2": "closed"}
    missing = Difference("A 1", "topics[x]", {"name": "x", "errorCode": 0}, "(missing)")
    code = Difference("A 1", "topics[y].errorCode", 3, 0)
    assert differences(theirs, ours) == [missing, code]
    allowed = Allowed("A *", "topics.y.*", "because")
    assert weighed([missing, code], [allowed]) == ([missing], [])
    assert weighed([missing], [allowed]) == ([missing], [allowed])


def test_true_is_not_one_and_zero_is_not_null() -> None:
    for theirs, ours in ((1, True), (0, None), ("", None), ([], None), (0, False)):
        assert differences({"A": theirs}, {"A": ours}) == [Difference("A", "", theirs, ours)]
