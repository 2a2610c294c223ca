"""One look for each broker, in all plots: a colour of Okabe and Ito's palette, and a hatch where colours run out.

People with a colour vision deficiency can distinguish these colours. Vermilion is reserved for the lack of a leader.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

BROKER_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")
NOBODY_COLOUR = "#D55E00"
_HATCHES = ("", "/", "x", ".", "+", "\\")


@attrs.frozen
class Look:
    """A colour and a hatch with the name in the legend. A name of the page's style sheet may stand for the colour."""

    name: str
    colour: str
    hatch: str = ""


NOBODY = Look("nobody", NOBODY_COLOUR)
UNKNOWN = Look("an unknown broker", "var(--faint)")
SEVERAL = Look("several in turn", "var(--faint)", "x")


class Palette:
    """The looks of the brokers and controllers of a report."""

    def __init__(self, ids: Iterable[int]) -> None:
        """With more than 36 nodes looks repeat; hover texts and labels name the node in any case."""
        self._looks: dict[int, Look] = {}
        for place, node in enumerate(sorted(set(ids))):
            hatch, colour = divmod(place, len(BROKER_COLOURS))
            self._looks[node] = Look(f"node {node}", BROKER_COLOURS[colour], _HATCHES[hatch % len(_HATCHES)])

    def __getitem__(self, node: int | None) -> Look:
        return NOBODY if node is None else self._looks[node]
