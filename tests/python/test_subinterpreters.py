# SPDX-License-Identifier: MIT
"""Several interpreters in one process, each with its own import of pyannot; from 3.12 on each has a
separate global lock. All of their events arrive, and the end of one does not harm others."""

import os
import sys
import unittest

import harness
import pyannot
from harness import RecordingTest

TRIES = int(os.environ.get("ANNOT_TEST_FIRST_TASKS", "5"))

# The API for new interpreters differs by version; from 3.12 on each has a separate lock.
MAKE = """
    import sys
    import threading

    if sys.version_info >= (3, 13):
        import _interpreters as module
        create = lambda: module.create("isolated")
        def run(interpreter, source):
            error = module.exec(interpreter, source)
            assert error is None, error
    else:
        import _xxsubinterpreters as module
        create = lambda: module.create()
        run = module.run_string

    TEXT = '''
    import pyannot, threading
    from pyannot import annotate
    assert pyannot.enabled()
    @annotate("decorated")
    def decorated():
        pass
    io = pyannot.domain("io")
    track = pyannot.track("track of {name}")
    for i in range({rounds}):
        with annotate("range of {name}", number=i), io.annotate("shared"):
            decorated()
            pyannot.counter("counter of {name}", i)
        pyannot.end(pyannot.start("free"))
        track.begin("on track")
        track.end()
    '''

    def source(name, rounds):
        return TEXT.format(name=name, rounds=rounds)
"""


# The first tasks of a process: two interpreters would each make the parent track of all tasks.
FIRST_TASKS = """
    import os
    import time

    TASK = '''
    import asyncio, sys, time
    from pyannot import observe
    observe.start("asyncio")
    async def nothing():
        pass
    loop = asyncio.new_event_loop()
    task = loop.create_task(nothing())
    while time.monotonic() < {when}:
        pass
    loop.run_until_complete(task)
    loop.close()
    '''

    def work(when):
        interpreter = create()
        run(interpreter, TASK.format(when=when))
        module.destroy(interpreter)

    def first_tasks():
        when = time.monotonic() + 0.25
        threads = [threading.Thread(target=work, args=(when,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    for _ in range(int(sys.argv[1])):
        if os.fork() == 0:
            first_tasks()
            os._exit(0)
        assert os.wait()[1] == 0
"""


class Subinterpreters(RecordingTest):
    def record_with(self, program, *args):
        return self.record(MAKE + program, *args, options=["--python", "none"])

    def test_events_of_two_at_once_arrive(self):
        recording = self.record_with(
            """
    def work(name):
        interpreter = create()
        run(interpreter, source(name, 300))
        module.destroy(interpreter)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    exec(source("main", 300))
    for thread in threads:
        thread.join()
            """
        )
        ranges = {"shared": 900, "decorated": 900}
        ranges.update({f"range of {name}": 300 for name in ("one", "two", "main")})
        self.assertEqual(recording.count("ranges"), ranges)
        self.assertEqual(recording.count("free_ranges"), {"free": 900, "on track": 900})
        self.assertEqual(sum(recording.count("counters").values()), 900)
        self.assertEqual(recording.lost(), 0)

    @unittest.skipIf(sys.version_info < (3, 12), "they have one lock, and one running loop")
    def test_tasks_of_all_stand_below_one_line(self):
        """The race lasts an instant, so it is tried in several children."""
        self.record_with(FIRST_TASKS, TRIES)
        tasks = [track for track in pyannot.read(self.folder / "out.annot").tracks
                 if track.name.startswith("nothing")]
        self.assertEqual(len(tasks), 2 * TRIES)
        self.assertEqual(len({track.process.index for track in tasks}), TRIES)
        self.assertEqual(len({track.parent.id for track in tasks}), TRIES)

    def test_many_come_and_go_and_leave_no_memory(self):
        self.record_with(
            """
    def own_kib():
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon:"))

    def several(count, text):
        before = own_kib()
        for number in range(count):
            interpreter = create()
            run(interpreter, text)
            module.destroy(interpreter)
        return own_kib() - before

    several(5, source("some", 3))
    plain, ours = several(20, "import threading, functools"), several(20, source("some", 3))
    print(plain, ours)
            """
        )
        plain, ours = map(int, self.output.split())
        print(f"  20 interpreters: {plain} KiB without pyannot, {ours} with it")
        # Interpreters themselves leak memory on most versions; an import of pyannot is 100 KiB.
        self.assertLess(ours, 1.5 * max(plain, 0) + 1024)


    def test_the_module_is_freed_with_what_it_made(self):
        """Otherwise an interpreter from 3.14 on would leak all of its memory, 2 MiB."""
        self.record_with(
            """
    import gc, weakref
    exec(source("main", 3))
    module = weakref.ref(sys.modules["pyannot._native"])
    for name in [name for name in sys.modules if name.startswith("pyannot")]:
        del sys.modules[name]
    del pyannot, annotate, decorated, io, track
    gc.collect()
    print(module())
            """
        )
        self.assertEqual(self.output, "None\n")


if __name__ == "__main__":
    harness.main()
