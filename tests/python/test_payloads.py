# SPDX-License-Identifier: MIT
"""Payloads: accepted values, refused values, and their form in a recording."""

import collections
import unittest

import harness
import pyannot
from pyannot import annotate


class Explosive:
    """An object that must not be looked at too closely."""

    def __repr__(self):
        raise AssertionError("nobody asked for a repr")

    __str__ = __bool__ = __len__ = __iter__ = __repr__


class Refused(unittest.TestCase):
    CASES = [
        ("payload must be int, float, bool, str, a dict of these or None, not list",
         lambda: annotate("a", payload=[1])),
        ("payload must be .* not Explosive", lambda: annotate("a", payload=Explosive())),
        ("payload must be .* not bytes", lambda: pyannot.mark("a", payload=b"x")),
        ("payload item 'key' must be int, float, bool or str, not Explosive",
         lambda: annotate("a", key=Explosive())),
        ("payload item 'key' must be .* not NoneType", lambda: annotate("a", key=None)),
        ("payload item 'key' must be .* not dict", lambda: annotate("a", payload={"key": {}})),
        ("key of a payload item or series must be str, not int",
         lambda: annotate("a", payload={1: 2})),
        ("multiple values for payload item 'key'",
         lambda: annotate("a", payload={"key": 1}, key=2)),
        ("value must be a number or a dict of numbers, not list", lambda: pyannot.counter("a", [])),
        ("series 'used' must be a number, not str", lambda: pyannot.counter("a", {"used": "3"})),
        ("series 'used' must be a number, not Explosive",
         lambda: pyannot.counter("a", {"used": Explosive()})),
        ("payload item 'k' must be .* not list", lambda: pyannot.start("a", k=[])),
        ("payload item 'k' must be .* not list", lambda: pyannot.track("t").begin("a", k=[])),
        ("payload item 'k' must be .* not list", lambda: pyannot.domain("d").push("a", k=[])),
    ]

    def test_anything_else_is_a_type_error_that_names_argument_and_type(self):
        for message, call in self.CASES:
            with self.subTest(message=message), self.assertRaisesRegex(TypeError, message):
                call()

    def test_a_message_is_short_whatever_the_key(self):
        with self.assertRaises(TypeError) as raised:
            annotate("a", payload={"k" * 1000000: []})
        self.assertLess(len(str(raised.exception)), 1000)


class Taken(unittest.TestCase):
    def test_a_dict_that_changes_while_it_is_read(self):
        class Changing:
            def __init__(self, dictionary):
                self.dictionary = dictionary

            def __float__(self):
                self.dictionary.clear()
                self.dictionary["more"] = 1
                return 1.5

        for make in (lambda d: annotate("a", payload=d), lambda d: pyannot.counter("a", d)):
            dictionary = {}
            dictionary.update({str(i): Changing(dictionary) for i in range(100)})
            make(dictionary)
            self.assertEqual(dictionary, {"more": 1})

    def test_a_subclass_of_dict_and_keys_of_a_subclass_of_str(self):
        class Key(str):
            def __repr__(self):
                raise AssertionError

        annotate("a", payload=collections.OrderedDict(a=1))
        annotate("a", payload=collections.Counter("abc"))
        annotate("a", payload={Key("key"): 1})
        with self.assertRaisesRegex(TypeError, "payload item 'key'"):
            annotate("a", payload={Key("key"): []})

    def test_no_items_and_many(self):
        for count in (0, 1, 64, 65, 1000):
            items = {f"key {i}": i for i in range(count)}
            with annotate("a", payload=items), annotate("a", **items):
                pyannot.mark("a", **items)
                pyannot.counter("a", items)

    def test_keywords_that_are_made_at_run_time(self):
        keywords = {"".join(["pay", "load"]): 1, "".join(["col", "or"]): "red", "it" + "em": 2}
        annotate("a", **keywords)
        with self.assertRaisesRegex(ValueError, "color"):
            annotate("a", **{"".join(["col", "or"]): "no colour"})


class Recorded(harness.RecordingTest):
    def test_items_of_all_kinds_arrive_with_all_kinds_of_events(self):
        recording = self.record("""
            import pyannot

            io, track = pyannot.domain("io"), pyannot.track("track")
            with pyannot.annotate("range", payload={"text": "é", "number": -1}, flag=True):
                pyannot.push("pushed", ratio=0.5)
                pyannot.pop()
                pyannot.mark("mark", payload=7, value=1 << 63)
            with io.annotate("io range", path="/x"):
                io.mark("io mark", size=3)
            pyannot.end(pyannot.start("free", payload={"size": 1 << 64}))
            track.begin("on track", payload="single", item=2)
            track.mark("track mark", item=3)
            track.end()
        """)
        arguments = {event["name"]: event["args"] for event in recording.events
                     if "args" in event and event["ph"] != "e"}
        self.assertEqual(arguments["range"], {"text": "é", "number": -1, "flag": True})
        self.assertEqual(arguments["pushed"], {"ratio": 0.5})
        self.assertEqual(arguments["mark"], {"payload": 7, "value": str(1 << 63)})
        self.assertEqual(arguments["io range"], {"domain": "io", "path": "/x"})
        self.assertEqual(arguments["io mark"], {"domain": "io", "size": 3})
        self.assertEqual(arguments["free"]["size"], float(1 << 64))
        self.assertEqual(arguments["on track"]["value"], "single")
        self.assertEqual(arguments["on track"]["item"], 2)
        self.assertEqual(arguments["track mark"]["item"], 3)

    def test_series_of_a_counter_are_told_together(self):
        recording = self.record("""
            import pyannot

            pyannot.counter("memory", {"used": 3, "free": 0.5, "swapped": True})
            pyannot.domain("heap").counter("memory", {"used": 4})
            pyannot.counter("memory", {})
        """)
        series = {}
        for event in recording.counters:
            for key, value in event["args"].items():
                series[event["name"], key] = value
        self.assertEqual(sorted(series.values()), [0.5, 1, 3, 4], series)

    def test_more_items_than_a_record_holds_are_cut_and_told(self):
        recording = self.record("""
            import pyannot

            pyannot.mark("much", payload={f"key {i}": i for i in range(2000)})
        """)
        self.assertEqual(recording.count("marks"), {"much": 1})
        self.assertEqual(recording.lost(), 0)
        told = harness.run([harness.ANNOT, "info", str(self.folder / "out.annot")]).stdout
        self.assertRegex(told, "1 events with more key-values than a record holds")


if __name__ == "__main__":
    harness.main()
