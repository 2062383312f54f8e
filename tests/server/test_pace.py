"""The pace of requests, with a clock of our own."""

from equipoise.server.pace import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_nothing_is_known_before_anything_is_seen() -> None:
    assert Pace(Clock()).wait_s(1_000_000) == 0


def test_what_came_through_says_how_long_the_next_waits() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.begin(1_000)
    clock.now = 10
    pace.end(1_000, served=True)
    assert pace.wait_s(500) == 5
    pace.begin(500)
    assert pace.wait_s(500) == 10


def test_idle_time_is_no_work() -> None:
    clock = Clock()
    pace = Pace(clock)
    for start in (0, 100):
        clock.now = start
        pace.begin(1_000)
        clock.now += 10
        pace.end(1_000, served=True)
    assert pace.wait_s(1_000) == 10


def test_short_requests_are_counted_together() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.begin(1_000_000)  # something goes on all the time
    for _ in range(100):
        pace.begin(100)
        clock.now += 0.01
        pace.end(100, served=True)
    assert 9_000 < 1 / (pace.wait_s(1) - pace.wait_s(0)) < 11_000


def test_a_request_that_was_not_served_slows_the_pace() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.first_guess(100)
    pace.begin(6_000)
    clock.now = 60
    pace.end(6_000, served=False)
    assert pace.wait_s(100) == 2


def test_a_first_guess_is_only_that() -> None:
    clock = Clock()
    pace = Pace(clock)
    pace.first_guess(1)
    pace.first_guess(9)
    assert pace.wait_s(2) == 2
