# SPDX-License-Identifier: MIT
"""Calls that take long and calls that do not, in known numbers: short_program.py WAY.

all: traced from outside. chosen: long() and tiny() by pyannot.trace, tiny() with a duration.
block: the same by pyannot.tracing.
"""

import sys
import threading
import time

import pyannot

ROUNDS = 15


def tiny(number):
    return number


def small(number):
    return tiny(number) + tiny(number + 1)


def slow(number):
    small(number)
    time.sleep(0.005)
    return small(number)


def marked(number):
    pyannot.mark("here")
    return small(number)


class Opened:
    """Opens its range in one call and closes it in another."""

    def __enter__(self):
        self.range = pyannot.annotate("opened")
        self.range.__enter__()

    def __exit__(self, *error):
        self.range.__exit__(*error)


def numbers():
    for number in range(3):
        yield small(number)


def work():
    for number in range(ROUNDS):
        for other in range(100):
            small(other)
        slow(number)
        marked(number)
        with Opened():
            small(number)
        list(numbers())


def everything():
    threads = []
    for _ in range(3):  # no comprehension, which may be a call
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    work()
    for thread in threads:
        thread.join()


def main(way):
    global tiny, slow
    if way == "chosen":
        tiny = pyannot.trace(min_duration=1)(tiny)
        slow = pyannot.trace(slow)
    if way == "block":
        with pyannot.tracing(min_duration=0.001, select="short_program.py"):
            everything()
    else:
        everything()


main(sys.argv[1])
