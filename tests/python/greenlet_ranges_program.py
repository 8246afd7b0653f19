# SPDX-License-Identifier: MIT
"""Random greenlets that annotate across switches, in two threads; prints the expected ranges.

    greenlet_ranges_program.py GREENLETS SEED

Prints a JSON object: {name of a greenlet, which is its first range: [[depth, name], ...]}. The
thread's random numbers decide the order of the greenlets; each greenlet's own decide its actions.
Some end early, by an exception or GreenletExit; some are abandoned, and end when they are freed.
"""

import contextlib
import json
import random
import sys
import threading

import greenlet

import pyannot
from noted_ranges import DEPTH_MAX, Noted
from pyannot import annotate, observe, pop, push


@annotate("call")
def call(inside):
    inside()


class Model(Noted):
    def pause(self):
        if self.random.random() < 0.8:
            greenlet.getcurrent().parent.switch()

    def run(self):
        with self.noted(self.name), annotate(self.name):
            self.go(3)

    def go(self, steps):
        for _ in range(steps):
            self.pause()
            ways = [self.block, self.pushed, self.called, self.decorated, self.raised, self.nested]
            if self.depth < DEPTH_MAX:
                self.random.choice(ways)()

    def block(self):
        with self.noted("block"), annotate("block", number=self.depth):
            self.go(self.random.randrange(3))

    def pushed(self):
        with self.noted("pushed"):
            push("pushed")
            try:
                self.go(self.random.randrange(2))
            finally:
                pop()

    def called(self):
        with self.noted("call"):
            call(self.pause)

    def decorated(self):
        with self.noted("annotated"):
            annotated(self)

    def raised(self):
        with contextlib.suppress(LookupError), self.noted("failed"), annotate("failed"):
            self.pause()
            raise LookupError

    def nested(self):
        """Runs another greenlet to its end, as its parent."""
        inner = greenlet.greenlet(lambda: self.pause_of(inner))
        with self.noted("outer"), annotate("outer"):
            while not inner.dead:
                inner.switch()

    @staticmethod
    def pause_of(inner):
        with annotate("not noted"):
            inner.parent.switch()


@annotate("annotated")
def annotated(model):
    model.go(1)


def turn(one, chance):
    if chance < 0.02:
        one.throw()
    elif chance < 0.04:
        with contextlib.suppress(ValueError):
            one.throw(ValueError)
    else:
        with annotate("turn"):
            one.switch()


def run(models, seed):
    choose = random.Random(seed)
    alive = [greenlet.greenlet(model.run) for model in models]
    with annotate("all of it"):
        while alive:
            one = choose.choice(alive)
            turn(one, choose.random())
            if one.dead or choose.random() < 0.02:
                alive.remove(one)


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    observe.start("greenlets")
    models = [Model(f"model {number}", seed + number) for number in range(count)]
    other = threading.Thread(target=run, args=(models[::2], seed))
    other.start()
    run(models[1::2], seed + 1)
    other.join()
    print(json.dumps({"enabled": pyannot.enabled(),
                      "expected": {model.name: model.ranges for model in models}}))


if __name__ == "__main__":
    main()
