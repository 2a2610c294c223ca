"""The watch on the event loop: which task held it, for how long, for which request."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

import attrs
import pytest
import trio
import trio.testing

from kraft.messages.heartbeat_response import HeartbeatResponse
from kraft.metrics import Histogram, Registry
from kraft.rpc.channel import Parked, Reply, Request
from kraft.rpc.loop_watch import INTERVAL_S, LINES, LoopWatch
from kraft.rpc.trace import LoopHeld
from kraft.world.steps import SAMPLE_S, Describe, Report, StepSampler, run_loop_frame
from kraft.world.trace import Trace
from tests.rpc.planes import HEARTBEAT, frame, running


@attrs.define
class Bench:
    """A watch whose clock stands still until a test moves it, and which looks when a test asks it to."""

    now: float = 1000.0
    events: list[LoopHeld] = attrs.Factory(list)
    registry: Registry = attrs.field(init=False)
    watch: LoopWatch = attrs.field(init=False)
    _sampler: StepSampler = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        trace = Trace()
        trace.subscribe(LoopHeld, self.events.append)
        self.registry = Registry(lambda: self.now)
        self.watch = LoopWatch(self.registry, trace, self._watch_steps)

    @contextlib.contextmanager
    def _watch_steps(self, describe: Describe, report: Report) -> Iterator[None]:
        run_loop = run_loop_frame()
        assert run_loop is not None
        self._sampler = StepSampler(run_loop, describe, report)
        yield

    def look(self) -> None:
        self._sampler.look(self.now, self.now, self.now / 2, int(self.now * 10))

    def hold(self, seconds: float) -> None:
        """Let the running step be measured as one of ``seconds``."""
        self.look()
        self.look()
        self.now += seconds - SAMPLE_S / 2

    async def hold_once(self, seconds: float) -> None:
        """Be one step of ``seconds``."""
        await trio.lowlevel.checkpoint()
        self.hold(seconds)
        await trio.lowlevel.checkpoint()
        self.look()

    @property
    def max_pause_ms(self) -> float:
        return self.registry.get("kraft.server:type=EventLoop,name=EventLoopMaxPauseMs").value

    @property
    def pauses(self) -> Histogram:
        found = self.registry.get("kraft.server:type=EventLoop,name=EventLoopPauseMs")
        assert isinstance(found, Histogram)
        return found


@pytest.mark.parametrize("is_parked", [False, True])
async def test_a_long_step_of_a_request_has_its_task_api_client_and_size(
    is_parked: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """The handler's step, and the step of the connection's task that makes the response of a parked request."""
    bench = Bench()

    async def handle(request: Request) -> Reply:
        async def answer() -> HeartbeatResponse:
            bench.hold(0.25)
            return HeartbeatResponse()

        return Parked(answer) if is_parked else await answer()

    with bench.watch.watching():
        async with running(handle, registry=bench.registry) as plane, await plane.peer() as peer:
            assert await peer.ask(7, "a-client") == (7, 0)
            bench.look()
            address = "127.0.0.1:{1}".format(*peer.stream.socket.getsockname())
    size = len(frame(7, "a-client")) - 4
    [event] = bench.events
    assert event.head is not None
    assert (event.head.api_key, event.head.client_id, event.head.size_bytes) == (HEARTBEAT, "a-client", size)
    assert event.task in ([f"connection {address}"] if is_parked else ["handler 0", "handler 1"])
    [line] = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert line == (
        f"the event loop was held for 250 ms (119 ms of CPU, 2 full garbage collections) by {event.task}: "
        f"Heartbeat version 0, {size} bytes, client 'a-client' at {address}; all other tasks waited"
    )
    assert bench.watch.longest == event
    assert round(bench.max_pause_ms) == round(bench.pauses.maximum) == 250


async def test_a_long_step_of_another_task_has_its_name(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    with bench.watch.watching():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(bench.hold_once, 1.5, name="publisher")
    [event] = bench.events
    assert (event.task, round(event.held_s, 3), event.head) == ("publisher", 1.5, None)
    assert (
        "held for 1500 ms (744 ms of CPU, 14 full garbage collections) by publisher; all other tasks waited"
        in caplog.text
    )


async def test_a_short_step_is_no_line_and_no_event_but_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    """The line and the event begin at 100 ms, or as much below it as a step may be measured too short."""
    bench = Bench()
    with bench.watch.watching():
        await bench.hold_once(0.08)
    assert (round(bench.max_pause_ms), bench.pauses.count) == (80, 1)
    assert str(bench.watch.longest).startswith("80 ms (")
    assert bench.events == []
    assert caplog.records == []
    with bench.watch.watching():
        await bench.hold_once(0.09)
    assert len(bench.events) == len(caplog.records) == 1


async def test_each_node_watches_its_own_tasks() -> None:
    """Tests run several nodes in one event loop."""
    one, other = Bench(), Bench()

    async def node(bench: Bench, seconds: float) -> None:
        with bench.watch.watching():
            await ready.wait()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(hold_both, seconds, name=f"task of {seconds}")

    async def hold_both(seconds: float) -> None:
        for each in (one, other):
            each.hold(seconds)
        await trio.lowlevel.checkpoint()
        for each in (one, other):
            each.look()

    ready = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(node, one, 1.0)
        nursery.start_soon(node, other, 2.0)
        await trio.testing.wait_all_tasks_blocked()
        ready.set()
    assert [event.task for event in one.events] == ["task of 1.0"]
    assert [event.task for event in other.events] == ["task of 2.0"]


async def test_many_long_steps_are_a_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    with bench.watch.watching():
        for _ in range(LINES + 3):
            await bench.hold_once(0.2)
        assert len(caplog.records) == LINES
        assert caplog.records[-1].getMessage().endswith("; more are only counted for a while")
        await bench.hold_once(INTERVAL_S)
    assert [each.getMessage().partition(" (")[0] for each in caplog.records[LINES:]] == [
        "the event loop was held 3 more times",
        "the event loop was held for 60000 ms",
    ]
    assert len(bench.events) == bench.pauses.count == LINES + 4


async def test_the_largest_pause_is_that_of_the_last_minute() -> None:
    """As the maximum of Kafka's own metrics (``metrics.sample.window.ms``), so that an alert ends."""
    bench = Bench()
    with bench.watch.watching():
        await bench.hold_once(0.5)
    assert round(bench.max_pause_ms) == 500
    bench.now += 61
    assert bench.max_pause_ms == 0
    assert bench.watch.longest is not None
