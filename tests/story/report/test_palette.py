"""People with a colour vision deficiency can distinguish the brokers."""

from __future__ import annotations

from itertools import combinations

import pytest

from kraft.story.report.palette import BROKER_COLOURS, NOBODY_COLOUR, Palette

Vector = tuple[float, float, float]
#: Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
DEFICIENCIES = {
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
#: CIE76 differences from 2.3 on are just noticeable side by side.
CLEARLY_DIFFERENT = 10


def seen(colour: str, deficiency: str) -> Vector:
    """Return the colour in CIELAB as a person with the deficiency sees it."""
    linear = []
    for place in (1, 3, 5):
        value = int(colour[place : place + 2], 16) / 255
        linear.append(value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4)
    red, green, blue = (
        min(max(sum(factor * each for factor, each in zip(row, linear, strict=True)), 0.0), 1.0)
        for row in DEFICIENCIES[deficiency]
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    a, b, c = (each ** (1 / 3) if each > 0.008856 else 7.787 * each + 16 / 116 for each in (x, y, z))
    return 116 * b - 16, 500 * (a - b), 200 * (b - c)


def difference(one: str, other: str, deficiency: str) -> float:
    pairs = zip(seen(one, deficiency), seen(other, deficiency), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_colours_differ_for_everybody(deficiency: str) -> None:
    for one, other in combinations((*BROKER_COLOURS, NOBODY_COLOUR), 2):
        assert difference(one, other, deficiency) > CLEARLY_DIFFERENT, (one, other)


def test_the_check_can_fail() -> None:
    """Red and green of the same lightness are the classic mistake."""
    assert difference("#C00000", "#557000", "deuteranopia") < CLEARLY_DIFFERENT
    assert difference("#C00000", "#557000", "none") > CLEARLY_DIFFERENT


def test_thirty_six_nodes_have_looks_of_their_own() -> None:
    palette = Palette([*range(36), 3, 3])
    looks = {(palette[node].colour, palette[node].hatch) for node in range(36)}
    assert len(looks) == 36
    assert palette[None].colour == NOBODY_COLOUR
