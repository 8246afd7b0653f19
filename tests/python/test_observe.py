# SPDX-License-Identifier: MIT
"""The basis of pyannot.observe: calls after an import, and lists of parts."""

import importlib.util
import pathlib
import signal
import sys
import tempfile
import types
import unittest
from unittest import mock

import harness
from pyannot import observe
from pyannot.observe import failures, forget, when_imported


class WhenImported(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.meta_path = list(sys.meta_path)
        self.calls = []
        sys.path.insert(0, folder.name)
        self.addCleanup(sys.path.remove, folder.name)

    def module(self, name, text):
        (self.folder / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        self.addCleanup(sys.modules.pop, name, None)
        return name

    def test_calls_at_once_what_is_imported(self):
        when_imported("unittest", self.calls.append)
        self.assertEqual(self.calls, [unittest])

    def test_calls_after_the_last_line_and_once(self):
        name = self.module("seen_whole", "first = 1\nlast = 2\n")
        when_imported(name, lambda module: self.calls.append(module.last))
        self.assertEqual(self.calls, [])
        module = importlib.import_module(name)
        importlib.reload(module)
        self.assertEqual(self.calls, [2])

    def test_finders_see_nothing_of_it(self):
        name = self.module("seen_once", "")
        when_imported(name, self.calls.append)
        self.assertEqual(sys.meta_path, self.meta_path)
        self.assertEqual(type(importlib.util.find_spec(name).loader).__name__, "SourceFileLoader")
        importlib.import_module(name)
        self.assertEqual(len(self.calls), 1)
        self.assertEqual(sys.meta_path, self.meta_path)

    def test_the_module_sees_its_own_loader(self):
        name = self.module("seen_inside", "spec_loader, loader = __spec__.loader, __loader__\n")
        when_imported(name, self.calls.append)
        module = importlib.import_module(name)
        self.assertEqual(type(module.spec_loader).__name__, "SourceFileLoader")
        self.assertIs(module.spec_loader, module.loader)
        self.assertIs(module.__spec__.loader, module.loader)

    def test_a_module_in_place_of_another_is_what_is_told(self):
        text = "import sys, types\nsys.modules[__name__] = types.SimpleNamespace(other=True)\n"
        name = self.module("seen_replaced", text)
        when_imported(name, self.calls.append)
        importlib.import_module(name)
        self.assertIsInstance(self.calls[0], types.SimpleNamespace)

    def test_an_import_that_fails_stays_watched_and_fails_as_ever(self):
        name = self.module("seen_broken", "raise KeyError('x')\n")
        when_imported(name, self.calls.append)
        with self.assertRaises(KeyError):
            importlib.import_module(name)
        self.module(name, "fine = 1 + 0\n")
        importlib.import_module(name)
        self.assertEqual(len(self.calls), 1)

    def test_a_function_that_raises_is_noted_and_the_next_one_called(self):
        name = self.module("seen_anyway", "")

        def broken(_module):
            raise ValueError("mine")

        when_imported(name, broken)
        when_imported(name, self.calls.append)
        importlib.import_module(name)
        self.assertEqual(len(self.calls), 1)
        self.assertIn("ValueError: mine", failures[-1])
        failures.clear()

    def test_forgotten_functions_are_not_called(self):
        name = self.module("seen_never", "")
        when_imported(name, self.calls.append)
        forget(name, self.calls.append)
        forget(name, self.calls.append)
        importlib.import_module(name)
        self.assertEqual((self.calls, sys.meta_path), ([], self.meta_path))


class OtherWrapper:
    """Replacement of a method by another tool that came first (wrapt)."""

    def __init__(self):
        self.__qualname__ = "Owner.method"

    def __call__(self, *arguments):
        raise AssertionError("called without its object")

    def __get__(self, instance, owner=None):
        return lambda *arguments: (instance, arguments)


class Observed(unittest.TestCase):
    def test_wrappers_of_other_tools_are_bound(self):
        after = []

        class Owner:
            method = observe._native.observed("always", OtherWrapper(), None,
                                              lambda *told: after.append(told))

        owner = Owner()
        self.assertEqual(owner.method(1, 2), (owner, (1, 2)))
        self.assertEqual(Owner.method(owner, 3), (owner, (3,)))
        self.assertEqual(after, [(True, owner, (owner, (1, 2)), None),
                                 (True, owner, (owner, (3,)), None)])


    def test_what_callbacks_raise_is_kept_from_the_program_but_not_what_its_signals_raise(self):
        def handler(*_ignored):
            raise RuntimeError("from a signal")

        def broken(*_ignored):
            raise OSError("mine")

        def interrupted(*_ignored):
            signal.raise_signal(signal.SIGUSR1)

        before = signal.signal(signal.SIGUSR1, handler)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        always = observe._native.observed
        self.assertEqual(always("always", abs, broken)(-1), 1)
        self.assertEqual(always("always", abs, None, broken)(-2), 2)
        self.assertIsNone(always("hidden", broken)())
        for function in (always("always", abs, interrupted), always("hidden", interrupted)):
            with self.assertRaisesRegex(RuntimeError, "from a signal"):
                function(-1)


class Lists(unittest.TestCase):
    def test_nothing_said_is_the_default(self):
        self.assertEqual(observe.parse(""), (set(observe.DEFAULT), {}))
        self.assertEqual(observe.parse("default"), (set(observe.DEFAULT), {}))

    def test_names_are_all_that_is_wanted(self):
        self.assertEqual(observe.parse("gc,names"), ({"gc", "names"}, {}))
        self.assertEqual(observe.parse("none"), (set(), {}))

    def test_a_minus_takes_off_the_default(self):
        self.assertEqual(observe.parse("-gc, -imports")[0],
                         set(observe.DEFAULT) - {"gc", "imports"})

    def test_options_bring_their_part(self):
        self.assertEqual(observe.parse("asyncio-slow=100ms"),
                         ({"asyncio"}, {"asyncio-slow": "100ms"}))
        self.assertEqual(observe.parse("default,asyncio-steps"),
                         (set(observe.DEFAULT), {"asyncio-steps": ""}))

    def test_unknown_names_are_refused_with_the_known_ones(self):
        for text in ("pool", "gc=1", "-what"):
            with self.assertRaisesRegex(ValueError, "names, pools"):
                observe.parse(text)


class Parts(unittest.TestCase):
    def setUp(self):
        self.log = []
        parts = {"one": ("part_one", ()), "two": ("part_two", ("seen_later",))}
        self.addCleanup(mock.patch.stopall)
        mock.patch.object(observe, "PARTS", parts).start()
        mock.patch.object(observe, "DEFAULT", tuple(parts)).start()
        self.addCleanup(observe.stop)

    def part(self, name, **functions):
        module = types.SimpleNamespace(install=lambda: self.log.append(f"+{name}"),
                                       remove=lambda: self.log.append(f"-{name}"))
        vars(module).update(functions)
        mock.patch.dict(observe._own, {f"pyannot.observe.part_{name}": module}).start()

    def test_a_part_waits_for_what_it_watches(self):
        self.part("one")
        self.part("two")
        observe.start()
        self.assertEqual(self.log, ["+one"])
        self.assertEqual(observe.status(), {"one": "on", "two": "waits for seen_later"})
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "seen_later.py").write_text("")
            with mock.patch.object(sys, "path", [folder, *sys.path]):
                importlib.import_module("seen_later")
        self.addCleanup(sys.modules.pop, "seen_later")
        self.assertEqual(self.log, ["+one", "+two"])
        observe.stop()
        self.assertEqual(self.log, ["+one", "+two", "-two", "-one"])
        self.assertEqual(observe.status(), {"one": "off", "two": "off"})

    def test_a_part_that_cannot_be_installed_is_told_and_no_more(self):
        def install():
            raise RuntimeError("not this Python")

        self.part("one", install=install)
        observe.start("one")
        self.assertEqual(observe.status()["one"], "RuntimeError: not this Python")
        observe.stop()
        self.assertEqual(self.log, [])

    def test_what_a_part_says_of_itself_is_shown(self):
        self.part("one", status=lambda: "left f() alone")
        observe.start("one")
        self.assertEqual(observe.status()["one"], "on; left f() alone")

    def test_starting_again_takes_off_what_is_not_named(self):
        self.part("one")
        self.part("two")
        observe.start("one")
        observe.start("none")
        self.assertEqual(self.log, ["+one", "-one"])


if __name__ == "__main__":
    harness.main()
