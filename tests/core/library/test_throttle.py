"""Whether long work of several threads goes one at a time where others are served, and as before elsewhere."""

from __future__ import annotations

import threading

import pytest

from core.priority import elsewhere, enable_throttling, resting, throttle

THREADS, ITEMS = 4, 30


def most_at_once() -> int:
    """How many threads were at work on an item at the same time."""
    at_work, most, noting = 0, 0, threading.Lock()
    together = threading.Barrier(THREADS)

    def work() -> None:
        nonlocal at_work, most
        together.wait()
        for number in throttle(range(ITEMS)):
            with noting:
                at_work += 1
                most = max(most, at_work)
            threading.Event().wait(number / 1e5)  # others may come in
            with noting:
                at_work -= 1

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return most


def test_every_item_comes_once_and_in_order_with_and_without_others():
    alone = list(throttle(range(5)))
    with enable_throttling():
        beside = list(throttle(range(5)))

    assert alone == beside == [0, 1, 2, 3, 4]


def test_one_thread_at_a_time_works_where_others_are_served():
    with enable_throttling():
        assert most_at_once() == 1


def test_threads_work_side_by_side_where_nobody_waits():
    assert most_at_once() > 1


def test_whoever_leaves_in_the_middle_holds_up_nobody():
    with enable_throttling():
        half = throttle([1, 2])
        next(half)
        half.close()

        assert list(throttle([3])) == [3]


def test_a_fault_in_the_work_holds_up_nobody():
    with enable_throttling():
        with pytest.raises(ValueError, match="damaged"), resting():
            raise ValueError("damaged")

        assert list(throttle([1])) == [1]


def test_while_another_process_computes_others_compute_here_and_then_none():
    """One thread waits for a worker in the middle of its work; another one works meanwhile, and no longer."""
    other_worked, steps = threading.Event(), []

    def other() -> None:
        with resting():
            steps.append("other")
            other_worked.set()

    with enable_throttling():
        with resting():
            thread = threading.Thread(target=other)
            thread.start()
            with elsewhere():
                assert other_worked.wait(60)
            late = threading.Thread(target=other)
            late.start()
            thread.join()
            steps.append("first")
        late.join()

    assert steps == ["other", "first", "other"]


def test_who_does_not_rest_holds_nothing_up_elsewhere():
    with enable_throttling(), elsewhere():
        assert list(throttle([1])) == [1]
