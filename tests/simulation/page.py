"""Writes docs/simulation.md and its chapters: the texts below ``prose``, and tables made from the code and from
recorded runs.

``python -m tests.simulation.page`` writes them. With a commit and the files of ``kraft simulate --json`` as
arguments, it first merges these files into the campaign. Files of the same seeds under other Pythons must have equal
traces.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from kraft.raft.timing import Timing
from kraft.simulation.campaign import RARE_STATES, run_seed
from kraft.simulation.invariants import LIVENESS, SAFETY
from kraft.simulation.plan import FAULTS, PROFILES, Knobs, Profile, draw_knobs
from tests.bench.machine import hardware
from tests.coordinator.campaign import WORLDS, class_of
from tests.coordinator.test_worlds import PLANTED
from tests.simulation import golden, hunt
from tests.simulation.mutants import MUTANTS

PROSE = Path(__file__).with_name("prose")
DOCS = Path(__file__).parents[2] / "docs"
CAMPAIGN = DOCS / "simulation.json"
EXAMPLE_SEED = 3


def table(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def render() -> dict[Path, str]:
    """Return the texts of the pages."""
    invariants = [("safety", SAFETY), ("liveness", LIVENESS)]
    parts = {
        "trace": _first_election(),
        "faults": table(["fault", "what happens"], [[f"`{kind.value}`", text] for kind, text in FAULTS.items()]),
        "profiles": table(["profile", "what strikes"], [[profile.value, text] for profile, text in PROFILES.items()]),
        "knobs": _knobs(),
        "invariants": table(
            ["invariant", "", "what must hold"],
            [[f"`{name}`", kind, text] for kind, names in invariants for name, text in names.items()],
        ),
        "sample": str(hunt.SAMPLE),
        "golden": str(len(golden.SEEDS)),
        "mutants": _mutants(),
        "coordinators": _coordinators(),
        "campaign": _campaign(json.loads(CAMPAIGN.read_text())) if CAMPAIGN.exists() else "None yet.",
    }
    texts = {path: path.read_text() for path in sorted(PROSE.rglob("*.md"))}
    for name, part in parts.items():
        place = f"<!-- {name} -->"
        (path,) = [path for path, text in texts.items() if place in text]
        texts[path] = texts[path].replace(place, part)
    return {DOCS / path.relative_to(PROSE): text for path, text in texts.items()}


def _first_election() -> str:
    """The trace of the example seed up to its first leader. Of each event it keeps the class and the message."""
    trace: list[str] = []
    run_seed(EXAMPLE_SEED, trace=trace.append)
    end = next(number for number, line in enumerate(trace, 1) if " Leader " in line)
    events = (re.sub(r"  (\w+)  \w+\((?:.*(?:request|response)=(\w+))?.*", r"  \1 \2", line) for line in trace[:end])
    return "\n".join(event.rstrip() for event in events)


def _knobs() -> str:
    """The values of each knob in two thousand worlds: those of the election profile, and the others."""
    drawn = [draw_knobs(seed) for seed in range(2_000)]
    elections = [knobs for knobs in drawn if knobs.profile is Profile.ELECTIONS]
    others = [knobs for knobs in drawn if knobs.profile is not Profile.ELECTIONS]
    apart = {"profile", "kinds", "fault_spans", "timing"}
    rows = [
        [f"`{name}`", *(_values([getattr(knobs, name) for knobs in part]) for part in (others, elections))]
        for name in (field.name for field in attrs.fields(Knobs))
        if name not in apart
    ]
    rows.append(["`fault_spans`", *(_values(part[0].fault_spans) for part in (others, elections))])
    timings = [
        [f"`{field.name}`", *(getattr(part[0].timing, field.name) for part in (others, elections))]
        for field in attrs.fields(Timing)
    ]
    return table(["knob", "elections aside", "elections"], [*rows, *timings])


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1]


def _values(found: Sequence[Any]) -> str:
    """List the distinct values, or the range of eight or more."""
    distinct = sorted(set(found))
    return ", ".join(map(str, distinct)) if len(distinct) < 8 else f"{distinct[0]:.0f} to {distinct[-1]:.0f}"


def _mutants() -> str:
    rows = []
    for name, catch in hunt.recorded().items():
        rows.append([name, MUTANTS[name].rule, catch.seed, f"`{catch.invariant}`", sum(catch.sample.values())])
    return table(["planted bug", "the rule that it breaks", "first seed", "noticed by", f"of {hunt.SAMPLE}"], rows)


def _coordinators() -> str:
    """The invariants of the worlds of the coordinators, and how many planted bugs each of them notices."""
    names = {class_of(name): name for name in reversed(WORLDS)}
    planted = Counter((class_of(bug.world), bug.invariant) for bug in PLANTED)
    rows = [
        [name, f"`{invariant}`", text, planted[world, invariant] or ""]
        for world, name in reversed(names.items())
        for invariant, text in world.INVARIANTS.items()
    ]
    return table(["world", "invariant", "what must hold", "planted bugs"], rows)


def _campaign(figures: dict[str, Any]) -> str:
    seeds, cpu_s, failed = figures["seeds"], figures["cpu_s"], figures["failed"]
    rare = [(name, *figures["coverage"].get(name, (0, 0))) for name in RARE_STATES]
    rare.sort(key=lambda row: row[1])
    outcome = "no seed broke an invariant" if not failed else f"**{len(failed)} of them failed**: {failed}"
    what = (
        f"{seeds:,} seeds, from {figures['from']:,} up to {figures['to']:,}, at commit `{figures['commit']}` with "
        f"Python {figures['python']}: {outcome}.\n"
        f"The campaign simulated {figures['simulated_s'] / 3600:,.0f} hours in {cpu_s / 3600:.1f} CPU hours, "
        f"{figures['simulated_s'] / cpu_s:,.0f} simulated seconds per CPU second: {figures['events']:,} events, "
        f"{figures['committed']:,} records committed, on {figures['machine']}. The sum of the traces is "
        f"`{figures['trace']}`.\n"
    )
    same = figures["same"]
    if same["pythons"]:
        what += f"\n{same['seeds']:,} seeds had the same traces under Python {_names(same['pythons'])}.\n"
    states = "The states that a campaign must reach: how many seeds reached each, and how often. The rarest is first.\n"
    rows = [[name, f"{reached:,}", f"{times:,}"] for name, reached, times in rare]
    return "\n".join([what, states, table(["state", "seeds", "times"], rows)])


def merge(pieces: Sequence[dict[str, Any]], commit: str) -> dict[str, Any]:
    """Merge pieces into one campaign. Its pieces are those of the Python that ran most of them.

    A piece of another Python is compared with the piece of the same seeds, which may lie within a longer one.

    Raises:
        ValueError: the pieces have a gap, traces differ, or a piece of another Python has no counterpart.
    """
    main_python = Counter(piece["python"] for piece in pieces).most_common(1)[0][0]
    others = [piece for piece in pieces if piece["python"] != main_python]
    pieces = [piece for piece in pieces if piece["python"] == main_python]
    traces = {(piece["from"], piece["to"]): piece["trace"] for piece in pieces}
    for other in others:
        seeds = (other["from"], other["to"])
        if seeds not in traces:
            raise ValueError(f"Python {other['python']} ran {seeds}, and no piece has the same seeds")
        if traces[seeds] != other["trace"]:
            raise ValueError("the same seeds have other traces in another Python")
    pieces = _in_a_row(pieces)
    same = {
        "seeds": max((other["seeds"] for other in others), default=0),
        "pythons": sorted({main_python, *(other["python"] for other in others)}) if others else [],
    }
    coverage: dict[str, list[int]] = {}
    for piece in pieces:
        for name, counts in piece["coverage"].items():
            known = coverage.get(name, [0, 0])
            coverage[name] = [known[0] + counts[0], known[1] + counts[1]]
    return {
        "commit": commit,
        "python": main_python,
        "same": same,
        "from": pieces[0]["from"],
        "to": pieces[-1]["to"],
        "failed": [failure for piece in pieces for failure in piece["failed"]],
        **{key: round(sum(piece[key] for piece in pieces)) for key in SUMS},
        "trace": f"{sum(int(piece['trace'], 16) for piece in pieces) % 2**128:032x}",
        "coverage": dict(sorted(coverage.items())),
    }


def _in_a_row(pieces: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the consecutive pieces, without those that lie within another one."""
    row: list[dict[str, Any]] = []
    for piece in sorted(pieces, key=lambda piece: (piece["from"], -piece["to"])):
        if row and piece["to"] <= row[-1]["to"]:
            continue
        if row and piece["from"] != row[-1]["to"]:
            raise ValueError("the pieces do not follow each other")
        row.append(piece)
    return row


SUMS = ("seeds", "simulated_s", "events", "committed", "wall_s", "cpu_s")


def main(arguments: list[str]) -> None:
    if arguments:
        commit, *files = arguments
        campaign = merge([json.loads(Path(file).read_text()) for file in files], commit)
        campaign["machine"] = f"{hardware()}, {datetime.date.today().isoformat()}"
        CAMPAIGN.write_text(json.dumps(campaign, indent=1) + "\n")
    for page, text in render().items():
        page.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
