"""The brokers' states over time."""

from __future__ import annotations

from kraft.story.report.marks import marks_of
from kraft.story.report.model import BrokerPeriod, BrokerState, ClusterReport
from kraft.story.report.palette import Palette
from kraft.story.report.section import Section
from kraft.story.report.sections.brokers import MAX_BROKERS, fenced_times, section
from kraft.story.report.sections.summary import node_ids
from tests.support.report_stories import two_kills


def made(report: ClusterReport) -> Section:
    return section(report, Palette(node_ids(report)), marks_of(report))


def test_fenced_brokers_are_told_the_longest_first() -> None:
    assert made(two_kills()).sentences == ["Fenced: broker 1 for 23.8 s and broker 2 for 20.9 s."]
    assert fenced_times(two_kills()) == {1: 23_800, 2: 20_900}


def test_each_state_has_a_look() -> None:
    states = list(BrokerState)
    periods = [BrokerPeriod(1, state, place * 10, place * 10 + 10) for place, state in enumerate(states)]
    (figure,) = made(ClusterReport("c", 0, 40, brokers=periods)).figures
    bars = [trace for trace in figure["data"] if trace["type"] == "bar"]
    looks = {(trace["marker"]["color"], trace["marker"]["pattern"]["shape"]) for trace in bars}
    assert len(looks) == len(states)


def test_of_many_brokers_the_fenced_ones_are_shown() -> None:
    periods = [BrokerPeriod(n, BrokerState.FENCED if n >= 100 else BrokerState.UNFENCED, 0, 10) for n in range(110)]
    found = made(ClusterReport("c", 0, 10, brokers=periods))
    labels = found.figures[0]["layout"]["yaxis"]["ticktext"]
    assert len(labels) == MAX_BROKERS
    assert labels[-10:] == [f"broker {n}" for n in range(100, 110)]
    assert "50 brokers are left out: the plot shows those that were fenced longest." in found.notes


def test_without_registrations_it_says_so() -> None:
    assert made(ClusterReport("c", 0, 1)).sentences == ["No registration of a broker is known in this time."]
