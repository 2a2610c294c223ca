"""Random numbers from a seed. Each use has its own stream, so a change to one use leaves the others unchanged."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


class RandomStream:
    """One stream of random numbers."""

    def __init__(self, seed: int, name: str) -> None:
        digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
        self.random = random.Random(int.from_bytes(digest, "big")).random

    def below(self, limit: int) -> int:
        """Return a number from 0 up to, but not including, ``limit``."""
        return int(self.random() * limit)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def pick(self, items: Sequence[_Item]) -> _Item:
        return items[self.below(len(items))]

    def happens(self, probability: float) -> bool:
        return self.random() < probability
