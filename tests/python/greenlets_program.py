# SPDX-License-Identifier: MIT
"""Two greenlets that take turns in the middle of calls, in two threads, with a trace function that
the program set before."""

import threading

import greenlet

told = []


def leaf(n):
    return n


def deep(n, others):
    if n:
        return deep(n - 1, others)
    others["first"].switch()


def first(others):
    for i in range(3):
        leaf(i)
        others["second"].switch()


def second(others):
    while True:
        leaf(10)
        deep(3, others)


def main():
    greenlet.settrace(lambda event, arguments: told.append(event))
    others = {}
    others["first"] = greenlet.greenlet(lambda: first(others))
    others["second"] = greenlet.greenlet(lambda: second(others))
    others["first"].switch()
    leaf(20)


thread = threading.Thread(target=main)
thread.start()
thread.join()
main()
assert len(told) > 12, told
