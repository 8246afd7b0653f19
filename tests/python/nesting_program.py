# SPDX-License-Identifier: MIT
"""Runs the programs that test_nesting.py generates, one after the other, in one process.

    nesting_program.py FILE [MUTATION]

FILE holds a list of programs in JSON; a program is {"root": NAME, "body": [node...]}, a node a list
whose first element is its kind (the functions below). MUTATION deviates from the program in one
way, to verify that the test detects it.
"""

import asyncio
import contextlib
import json
import os
import sys
import threading

import pyannot
from pyannot import annotate

MUTATION = sys.argv[2] if len(sys.argv) > 2 else None
KEPT = {}


class Boom(Exception):
    """The exception that programs raise and catch."""


class ChildIsDone(BaseException):
    """Unwinds everything that a forked child inherited open from its parent."""


class Run:
    """State of a running body: its start/end ranges by slot, its threads, its tracks."""

    def __init__(self, slots, tracks):
        self.slots, self.tracks, self.threads = slots, tracks, []

    def body(self, nodes):
        for kind, *rest in nodes:
            getattr(self, kind)(*rest)

    def kept_with(self, name, body):
        annotation = KEPT.setdefault(name, annotate(name, category="kept"))
        with annotation:
            self.body(body)

    def plain_with(self, name, body):
        with annotate(name):
            self.body(body)

    def pushed(self, name, body):
        pyannot.push(name)
        try:
            self.body(body)
        finally:
            if MUTATION != "skip pop":
                pyannot.pop()

    def call(self, name, body):
        annotate(name)(self.body)(body)

    def mark(self, name):
        for _ in range(2 if MUTATION == "mark twice" else 1):
            pyannot.mark(name)

    def counter(self, name, value):
        pyannot.counter(name, value)

    def attempt(self, body):
        with contextlib.suppress(Boom):
            self.body(body)

    def throw(self):
        raise Boom

    def start(self, slot, name):
        self.slots[slot] = pyannot.start(name)

    def end(self, slot):
        if slot in self.slots and MUTATION != "forget end":
            pyannot.end(self.slots.pop(slot))

    def thread(self, root, waits, body):
        """A joined thread shares the start/end ranges, which can then end on any thread."""
        slots = self.slots if waits else {}
        thread = threading.Thread(target=run_thread, args=(root, body, slots))
        thread.start()
        if waits:
            thread.join()
        else:
            self.threads.append(thread)

    def fork(self, root, unwinds, body):
        pid = os.fork()
        if pid:
            os.waitpid(pid, 0)
            return
        try:
            run_root(root, body, dict(self.slots))
        finally:
            if not unwinds:
                os._exit(0)
        raise ChildIsDone

    def generator(self, name, segments, consumers):
        """Alternates parts of a generator and its consumer, then closes the generator."""
        def generate():
            with annotate(name):
                for segment in segments:
                    self.body(segment)
                    yield

        consume(self, generate(), consumers)

    def decorated_generator(self, name, segments, consumers):
        @annotate(name)
        def generate():
            for segment in segments:
                self.body(segment)
                yield

        consume(self, generate(), consumers)

    def track(self, name, label, body):
        if name not in self.tracks:
            self.tracks[name] = pyannot.track(name)
        with self.tracks[name].annotate(label):
            self.body(body)

    def tasks(self, bodies):
        async def gather():
            await asyncio.gather(*(task(root, body) for root, body in bodies))

        asyncio.run(gather())


async def task(root, nodes):
    with annotate(root), contextlib.suppress(Boom):
        await steps(Run({}, {}), nodes)


async def steps(run, nodes):
    """Runs a task's body: nodes that await are handled here, the others as in any body."""
    for kind, *rest in nodes:
        if kind == "wait":
            await asyncio.sleep(0)
        elif kind == "plain_with":
            with annotate(rest[0]):
                await steps(run, rest[1])
        elif kind == "async_with":
            async with annotate(rest[0]):
                await steps(run, rest[1])
        elif kind == "attempt":
            with contextlib.suppress(Boom):
                await steps(run, rest[0])
        else:
            getattr(run, kind)(*rest)


def consume(run, generator, consumers):
    with contextlib.closing(generator):
        for consumer in consumers:
            next(generator, None)
            run.body(consumer)


def run_root(root, body, slots):
    """Runs an independent body, identified by the name of its outermost range."""
    run = Run(slots, {})
    try:
        with annotate(root), contextlib.suppress(Boom):
            run.body(body)
    finally:
        for thread in run.threads:
            thread.join()


def run_thread(root, body, slots):
    try:
        run_root(root, body, slots)
    except ChildIsDone:
        os._exit(0)


def main():
    with open(sys.argv[1]) as file:
        programs = json.load(file)
    try:
        for program in programs:
            run_root(program["root"], program["body"], {})
    except ChildIsDone:
        os._exit(0)


if __name__ == "__main__":
    main()
