# SPDX-License-Identifier: MIT
"""Random asyncio tasks that annotate across `await`; prints the expected ranges.

    tasks_program.py TASKS SEED

Prints a JSON object: {name of a task: [[depth, name], ...]}, its ranges in order of opening. The
loop decides the order of the tasks; each task's own random numbers decide its actions.
"""

import asyncio
import contextlib
import json
import sys

import pyannot
from noted_ranges import DEPTH_MAX, Noted
from pyannot import annotate, observe, pop, push

KEPT = {name: annotate(name, category="model") for name in ("red", "green", "blue")}


@annotate("call")
def call(inside):
    inside()


class Model(Noted):
    """One task, which notes the ranges that it opens."""

    async def pause(self):
        if self.random.random() < 0.7:
            await asyncio.sleep(self.random.choice((0, 0, 0, 0.0005)))

    async def go(self, steps):
        for _ in range(steps):
            await self.pause()
            await self.step()

    async def step(self):
        ways = [self.with_name, self.with_kept, self.with_async, self.decorated, self.pushed,
                self.called, self.stacked, self.generated, self.raised]
        if self.depth < DEPTH_MAX:
            await self.random.choice(ways)()

    async def with_name(self):
        with self.noted("block"), annotate("block"):
            await self.go(self.random.randrange(3))

    async def with_kept(self):
        name = self.random.choice(list(KEPT))
        with self.noted(name), KEPT[name]:
            await self.go(self.random.randrange(3))

    async def with_async(self):
        with self.noted("async"):
            async with annotate("async", number=1):
                await self.go(self.random.randrange(3))

    async def decorated(self):
        await annotated(self)

    async def pushed(self):
        with self.noted("pushed"):
            push("pushed", payload=1)
            await self.go(self.random.randrange(2))
            pop()

    async def called(self):
        with self.noted("call"):
            call(lambda: self.ranges.append([self.depth, "inside"]) or within())
        await self.pause()

    async def stacked(self):
        with self.noted("stack"):
            async with contextlib.AsyncExitStack() as stack:
                stack.enter_context(annotate("stack"))
                await self.go(1)

    async def generated(self):
        """Leaves an asynchronous generator early and closes it in the task: otherwise its range
        would stay open until another task closes it at the end of the loop, or for ever."""
        async def items():
            with self.noted("generator"), annotate("generator"):
                for number in range(3):
                    await self.pause()
                    yield number

        generator = items()
        async for number in generator:
            if number == 1:
                break
        await generator.aclose()

    async def raised(self):
        with contextlib.suppress(LookupError):
            with self.noted("failed"), annotate("failed"):
                await self.pause()
                raise LookupError


@annotate
async def annotated(model):
    with model.noted("annotated"):
        await model.go(1)


def within():
    with annotate("inside"):
        pass


async def run(count, seed):
    models = [Model(f"model {number}", seed + number) for number in range(count)]
    tasks = [asyncio.create_task(model.go(3), name=model.name) for model in models]
    await asyncio.gather(*tasks)
    return {model.name: model.ranges for model in models}


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    observe.start("asyncio")
    with annotate("all of it"):
        expected = asyncio.run(run(count, seed))
    print(json.dumps({"enabled": pyannot.enabled(), "expected": expected}))


if __name__ == "__main__":
    main()
