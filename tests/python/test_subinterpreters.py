# SPDX-License-Identifier: MIT
"""Several interpreters in one process, each with its own import of pyannot; from 3.12 on each has a
global lock of its own. All of their events arrive, and the end of one does not harm others."""

import harness
from harness import RecordingTest

# How interpreters are made differs by version; from 3.12 on they have a lock of their own.
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


class Subinterpreters(RecordingTest):
    def record_with(self, program):
        return self.record(MAKE + program, options=["--python", "none"])

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
        # Interpreters themselves leave something on most versions; an import of ours is 100 KiB.
        self.assertLess(ours, 1.5 * max(plain, 0) + 1024)


if __name__ == "__main__":
    harness.main()
