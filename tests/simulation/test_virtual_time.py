"""A patch of what all threads share is meant for one of them."""

from __future__ import annotations

import threading

from kraft.simulation.virtual_time import in_this_thread


def test_only_the_thread_of_the_test_meets_the_replacement() -> None:
    def original(number: int, *, sign: int) -> int:
        return number * sign

    said: list[int] = []
    function = in_this_thread(lambda number, *, sign: 0, original)
    other = threading.Thread(target=lambda: said.append(function(7, sign=-1)))
    other.start()
    other.join()
    assert (said, function(7, sign=-1)) == ([-7], 0)
