# SPDX-License-Identifier: MIT
"""More cases of leak_cases.py: collections, imports and commands while pyannot.observe is on. Each
installs its part and removes it, so that installation is checked for leaks, too."""

import asyncio
import contextlib
import functools
import gc
import subprocess
import sys
import time
import types

from leak_cases import case
from pyannot import annotate, observe


def observed(part):
    """Like case, while a part of pyannot.observe is on."""

    def decorate(function):
        @case
        @functools.wraps(function)
        def around():
            observe.start(part)
            assert observe.status()[part] == "on", observe.status()
            try:
                function()
            finally:
                observe.stop()

        return around

    return decorate


@observed("gc")
def observed_collections():
    cycle = []
    cycle.append(cycle)
    del cycle
    gc.collect(0)
    gc.collect(1)


class Loader:
    """Loads a module that imports another one, and one that can't be loaded."""

    def find_spec(self, name, path=None, target=None):
        if name.startswith("leak_made_"):
            return types.SimpleNamespace(
                name=name, loader=self, origin=None, parent="", cached=None, has_location=False,
                submodule_search_locations=None, loader_state=None, _initializing=False,
                _uninitialized_submodules=[])
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        if module.__name__ == "leak_made_outer":
            __import__("leak_made_inner")
        elif module.__name__ == "leak_made_broken":
            raise ZeroDivisionError


LOADER = Loader()


@observed("imports")
def observed_imports():
    sys.meta_path.insert(0, LOADER)
    try:
        __import__("leak_made_outer")
        with contextlib.suppress(ZeroDivisionError):
            __import__("leak_made_broken")
        with contextlib.suppress(ImportError):
            __import__("leak_nowhere")
    finally:
        sys.meta_path.remove(LOADER)
        for name in ("leak_made_outer", "leak_made_inner"):
            del sys.modules[name]


@observed("subprocess")
def observed_commands():
    subprocess.run(["true"], check=True)
    with contextlib.suppress(FileNotFoundError):
        subprocess.run(["/nowhere/at/all"], check=False)
    with contextlib.suppress(TypeError):
        subprocess.Popen([3])


@observed("asyncio")
def observed_tasks_that_inherit():
    async def inner():
        with annotate("inside"):
            return asyncio.current_task()

    async def main():
        with annotate("around"):
            return await asyncio.gather(asyncio.create_task(inner()), inner())

    asyncio.run(main())


@observed("asyncio")
def observed_tasks_that_wait():
    async def items():
        await asyncio.sleep(0.0011)
        yield

    async def forever():
        await asyncio.sleep(100)

    async def main():
        loop = asyncio.get_running_loop()
        task = asyncio.create_task(forever())
        async for _ in items():
            loop.call_soon(task.get_stack)
            await loop.run_in_executor(None, time.sleep, 0.0011)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
