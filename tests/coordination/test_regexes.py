"""Regular expressions with RE2, as Apache's ``Utils.throwIfRegularExpressionIsInvalid`` and RE2/J have them."""

from __future__ import annotations

from uuid import UUID

import attrs
import pytest
import trio

from kraft.coordination.regexes import MAX_CLASSES, MAX_LENGTH, RegexSearches, check
from kraft.coordinator.groups.consumer.regexes import RegexesResolved
from kraft.coordinator.groups.effects import RegexSearch
from kraft.metadata.image import Image
from kraft.wire.errors import ErrorCode, KafkaError
from kraft.world.world import World

WORLD = World()


def image_of(*names: str) -> Image:
    ids = Image().topic_ids.update({name: UUID(int=number) for number, name in enumerate(names, 1)})
    return attrs.evolve(Image(), offset=7, topic_ids=ids)


async def resolved(image: Image, *regexes: str) -> dict[str, set[str]]:
    searches = RegexSearches(WORLD)
    reports: list[RegexesResolved] = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(searches.run)
        arrived = trio.Event()

        def report(found: RegexesResolved) -> None:
            reports.append(found)
            arrived.set()

        searches.begin(RegexSearch("g", regexes, image, 1234), report)
        await arrived.wait()
        nursery.cancel_scope.cancel()
    (found,) = reports
    assert found.image is image
    assert {(each.version, each.timestamp_ms) for each in found.resolved.values()} == {(7, 1234)}
    return {regex: set(each.topics) for regex, each in found.resolved.items()}


async def test_an_expression_matches_the_whole_name() -> None:
    """Apache: ``Matcher.matches``, not ``find``. Internal topics match, too."""
    image = image_of("orders", "orders-eu", "pre-orders", "__consumer_offsets")
    assert await resolved(image, "orders", "orders.*", ".*", "(?i)ORDERS", "nothing") == {
        "orders": {"orders"},
        "orders.*": {"orders", "orders-eu"},
        ".*": {"orders", "orders-eu", "pre-orders", "__consumer_offsets"},
        "(?i)ORDERS": {"orders"},
        "nothing": set(),
    }


async def test_thousands_of_topics_are_searched() -> None:
    names = [f"t{number}" for number in range(3000)]
    assert await resolved(image_of(*names), r"t\d*7") == {r"t\d*7": {name for name in names if name.endswith("7")}}


@pytest.mark.parametrize("regex", ["(", "[a", "a{2000}", r"(a)\1", "(?=a)", "a**", "*", r"\pL{1000}" * 30])
async def test_invalid_and_too_large_expressions_are_refused(regex: str) -> None:
    """RE2 has neither back references nor look-around. The text names the expression, as Apache's does."""
    with pytest.raises(KafkaError) as refused:
        await check(WORLD, regex)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert refused.value.message is not None
    assert refused.value.message.startswith(f"SubscribedTopicRegex `{regex[:100]}")
    assert await resolved(image_of("a"), regex) == {regex: set()}  # Apache may have stored it


@pytest.mark.parametrize("regex", ["(" * 2000 + ")" * 2000, "(a?){1000}a*" * 8, "|".join(map(str, range(1000)))])
async def test_a_large_expression_is_searched_in_bounded_time(regex: str) -> None:
    """With submatches, RE2 takes 40 s for one name and the first of these. The time limit of a test is 120 s."""
    await check(WORLD, regex)
    names = ["a" * 200 + str(number) for number in range(10)]
    assert await resolved(image_of(*names), regex) == {regex: set()}


async def test_expressions_that_compile_for_long_are_refused() -> None:
    """RE2 compiles under the interpreter's lock, and Kafka has no bound: a megabyte of classes takes many seconds."""
    longest = "x?" * (MAX_LENGTH // 2)
    await check(WORLD, longest)
    await check(WORLD, r"\p{Greek}" * MAX_CLASSES)
    for regex in (longest + "x", "x" * (50 << 20), r"\p{Greek}" * MAX_CLASSES + r"\PL"):
        with pytest.raises(KafkaError) as refused:
            await check(WORLD, regex)
        assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert await resolved(image_of("x"), longest + "x") == {longest + "x": set()}
