# SPDX-License-Identifier: MIT
"""Filters by domain, category and level in Python programs, also changed while they run."""

import harness

PROGRAM = """
    import os, subprocess, sys
    import pyannot
    from pyannot import annotate, counter, mark, pop, push

    def set_filter(*options):
        subprocess.run([sys.argv[1], "set", *options], check=True, stdout=subprocess.DEVNULL)

    def one_round(name):
        with annotate(name + " default"):
            mark(name + " mark")
            counter(name + " counter", 1)
        with annotate(name + " io", domain="io"):
            mark(name + " io/disk", domain="io", category="disk")
            mark(name + " io:5", domain="io", level=5)
        push(name + " db", domain="db")
        pop()

    @annotate("function", domain="io", category="calls")
    def function(left):
        return function(left - 1) if left else None
"""


class FilterTest(harness.RecordingTest):
    def record_filtered(self, body, *options):
        text = harness.textwrap.dedent(PROGRAM) + harness.textwrap.dedent(body)
        recording = self.record(self.script(text), harness.ANNOT,
                                options=["--sampling=none", *options])
        self.assertEqual(recording.lost(), 0)
        return recording

    def names(self, recording, kind):
        return sorted(recording.count(kind))

    def test_domains_and_categories_and_levels(self):
        recording = self.record_filtered("one_round('a')", "--enable", "io:3", "--disable",
                                         "*/disk", "--enable", "db")
        self.assertEqual(self.names(recording, "ranges"), ["a db", "a io"])
        self.assertEqual((recording.marks, recording.counters), ([], []))
        recording = self.record_filtered("one_round('a')", "--disable", "default,db")
        self.assertEqual(self.names(recording, "ranges"), ["a io"])
        self.assertEqual(self.names(recording, "marks"), ["a io/disk", "a io:5"])

    def test_a_filter_that_changes_inside_of_with(self):
        recording = self.record_filtered("""
            with annotate("outer", domain="io"), annotate("inner"):
                one_round("before")
                set_filter("--disable", "*")
                one_round("held")
                with annotate("held range", domain="io"):
                    set_filter("--reset")
                    one_round("after")
            function(3)
            set_filter("--disable", "io/calls")
            function(5)
            """)
        ranges = recording.count("ranges")
        self.assertEqual((ranges["outer"], ranges["inner"], ranges["held range"]), (1, 1, 0))
        self.assertEqual(ranges["function"], 4)
        self.assertEqual([name for name in ranges if name.startswith("held")], [])
        parents = dict(recording.parents())
        self.assertEqual((parents["inner"], parents["before default"], parents["after default"]),
                         ("outer", "inner", "inner"))

    def test_children_of_fork_and_spawn(self):
        recording = self.record_filtered("""
            set_filter("--enable", "io")
            pid = os.fork()
            if pid == 0:
                one_round("forked")
                os._exit(0)
            os.waitpid(pid, 0)
            subprocess.run([sys.executable, "-c", "import pyannot; pyannot.mark('other'); "
                            "pyannot.mark('spawned', domain='io')"], check=True)
            """)
        self.assertEqual(self.names(recording, "ranges"), ["forked io"])
        self.assertEqual(self.names(recording, "marks"),
                         ["forked io/disk", "forked io:5", "spawned"])


if __name__ == "__main__":
    harness.main()
