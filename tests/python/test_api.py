# SPDX-License-Identifier: MIT
"""Arguments that pyannot accepts or refuses, attributes of decorated functions. No recorder."""

import ast
import asyncio
import contextlib
import copy
import functools
import gc
import inspect
import itertools
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import unittest
import weakref

import harness
import pyannot
from pyannot import annotate


FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
PATH = f"import sys; sys.path.insert(0, {str(pathlib.Path(pyannot.__file__).parent.parent)!r})\n"


@annotate("function")
def function(first: int, second: str = "x", *rest, key=None) -> str:
    """The doc."""
    return f"{first} {second} {rest} {key}"


@annotate("recurse")
def recurse(depth):
    return 0 if depth == 0 else 1 + recurse(depth - 1)


class Methods:
    def __init__(self):
        self.value = 7

    @annotate("method")
    def method(self, argument):
        return self.value + argument

    @annotate("static")
    @staticmethod
    def static(argument):
        return argument

    @annotate("class")
    @classmethod
    def of_class(cls):
        return cls

    @property
    @annotate("property")
    def property(self):
        return self.value


class WrongUse(unittest.TestCase):
    CASES = [
        (TypeError, "name must be str, not int", lambda: annotate(3)),
        (TypeError, "name must be str, not bytes", lambda: pyannot.push(b"x")),
        (TypeError, "missing required argument: 'name'", lambda: pyannot.push()),
        (TypeError, "name must be str, not NoneType", lambda: pyannot.push(None)),
        (TypeError, "call start_recording", lambda: pyannot.start()),
        (TypeError, "takes 1 positional argument but 2", lambda: annotate("a", "b")),
        (TypeError, "multiple values for argument 'name'", lambda: annotate("a", name="b")),
        (TypeError, "domain must be str or None", lambda: annotate("a", domain=3)),
        (TypeError, "category must be str or None", lambda: annotate("a", category=3)),
        (TypeError, "color must be str, int or None", lambda: annotate("a", color=1.5)),
        (ValueError, "color must be a known name", lambda: annotate("a", color="no colour")),
        (ValueError, "color must be a known name", lambda: annotate("a", color="#12345g")),
        (ValueError, "color must be between", lambda: annotate("a", color=1 << 32)),
        (ValueError, "color must be between", lambda: annotate("a", color=-1)),
        (TypeError, "level must be int", lambda: annotate("a", level="high")),
        (ValueError, "level must be between 0 and 7", lambda: annotate("a", level=8)),
        (ValueError, "level must be between 0 and 7", lambda: annotate("a", level=-1)),
        (TypeError, "payload must be", lambda: annotate("a", payload=[1])),
        (TypeError, "missing required argument: 'value'", lambda: pyannot.counter("a")),
        (TypeError, "value must be a number", lambda: pyannot.counter("a", "3")),
        (TypeError, "value must be a number", lambda: pyannot.counter("a", None)),
        (TypeError, "unexpected keyword argument", lambda: pyannot.counter("a", 1, payload=2)),
        (TypeError, "unexpected keyword argument", lambda: pyannot.counter("a", 1, item=2)),
        (TypeError, "range must be int", lambda: pyannot.end("a")),
        (OverflowError, "negative", lambda: pyannot.end(-1)),
        (TypeError, "name must be str", lambda: pyannot.set_thread_name(None)),
        (TypeError, "name must be str", lambda: pyannot.domain(3)),
        (TypeError, "multiple values for argument 'domain'",
         lambda: pyannot.domain("d").push("a", domain="e")),
        (TypeError, "name must be str or None", lambda: pyannot.flow(3)),
        (TypeError, "a number or an id, not both", lambda: pyannot.flow("a", 1, id=2)),
        (TypeError, "needs a name", lambda: pyannot.flow(number=1)),
        (TypeError, "number must be int", lambda: pyannot.flow("a", "1")),
        (ValueError, "id must be between", lambda: pyannot.flow(id=-1)),
        (ValueError, "id must be between", lambda: pyannot.track("a", id=1 << 64)),
        (TypeError, "name must be str", lambda: pyannot.track(3)),
        (TypeError, "parent must be a track", lambda: pyannot.track("a", "b")),
        (TypeError, "name must be str", lambda: pyannot.track("a").annotate(None)),
        (TypeError, "made by track.annotate", lambda: type(pyannot.track("a").annotate("b"))()),
        (TypeError, "name must be str", lambda: pyannot.set_process_name(1)),
        (TypeError, "decorates functions", lambda: annotate("a")(int)),
        (TypeError, "decorates functions, not the class int", lambda: annotate(int)),
        (TypeError, "without a name is for decorators", lambda: annotate().__enter__()),
        (TypeError, "no keyword arguments", lambda: annotate("a")(function=len)),
        (TypeError, "decorates functions", lambda: annotate("a")(3)),
        (TypeError, "expected 1 argument", lambda: annotate("a")()),
        (TypeError, "instead of its __new__", lambda: annotate.__new__(annotate, "a")),
        (TypeError, "not safe", lambda: object.__new__(annotate)),
        (TypeError, "not an acceptable base", lambda: type("sub", (annotate,), {})),
    ]

    def test_each_raises_with_a_message_that_names_the_argument(self):
        for error, message, call in self.CASES:
            with self.subTest(message=message), self.assertRaisesRegex(error, message):
                call()


class EnteredByHand(unittest.TestCase):
    """__enter__ has its own binding code: it can be kept like any bound method."""

    def kinds(self):
        import pyannot.nvtx
        return [(annotate, "x", {"payload": 1}), (pyannot.nvtx.annotate, "x", {"domain": "d"})]

    def test_a_bound_enter_keeps_its_object_and_opens_any_number_of_times(self):
        for kind, name, more in self.kinds():
            with self.subTest(kind=kind):
                enter, leave = kind(name, **more).__enter__, kind.__exit__
                gc.collect()
                objects = [enter() for _ in range(3)]
                self.assertIs(type(objects[0]), kind)
                self.assertEqual(len(set(map(id, objects))), 1)
                for _ in objects:
                    leave(objects[0], None, None, None)

    def test_several_bound_at_once_are_let_go_in_any_order(self):
        for (kind, name, more), order in itertools.product(self.kinds(),
                                                           itertools.permutations(range(3))):
            kept, other = kind(name, **more), kind("other")
            references = sys.getrefcount(kept)
            bound = [kept.__enter__, kept.__enter__, other.__enter__]
            for at in order:
                bound[at] = None
            with kept, kept, other, kept:
                pass
            self.assertEqual(sys.getrefcount(kept), references)

    def test_it_binds_and_takes_its_own_kind_only(self):
        things = [5, "x", annotate, object(), pyannot.track("t")]
        kept = [kind(name, **more) for kind, name, more in self.kinds()]
        for mine, other in (kept, kept[::-1]):
            enter = type(mine).__enter__
            for wrong in [*things, other]:
                self.assertRaises(TypeError, enter, wrong)
                self.assertRaises(TypeError, lambda: enter.__get__(wrong)())
            self.assertRaises(TypeError, enter)
            self.assertRaises(TypeError, mine.__enter__, 1)
            self.assertIs(enter(mine), mine)
            self.assertIs(enter.__get__(mine)(), mine)
            for _ in range(2):
                type(mine).__exit__(mine, None, None, None)


class Values(unittest.TestCase):
    def test_any_text_is_a_name(self):
        for name in ["", "é", "a\0b", "\udcff", "x" * 5000, "日本", "with space"]:
            with annotate(name), annotate(name, payload=name, domain=name, category=name):
                pyannot.mark(name)
                pyannot.counter(name, 1)
            self.assertEqual(annotate(name).name, name)

    def test_a_subclass_of_str_is_a_name(self):
        class Name(str):
            pass

        with annotate(Name("sub")) as annotation:
            self.assertEqual(annotation.name, "sub")

    def test_any_number_is_a_payload_and_a_value(self):
        class Index:
            def __index__(self):
                return 3

        class Float:
            def __float__(self):
                return 3.5

        numbers = [0, -1, 1 << 63, -(1 << 63) - 1, 1 << 2000, -(1 << 2000), 1.5, float("nan"), True]
        for number in [*numbers, Index(), Float()]:
            annotate("a", payload=number)
            pyannot.counter("a", number)

    def test_an_error_in_a_number_passes_through(self):
        class Broken:
            def __float__(self):
                raise ZeroDivisionError

        with self.assertRaises(ZeroDivisionError):
            annotate("a", payload=Broken())

    def test_colors(self):
        for color in ["red", "#00ff7f", 0, 0x112233, 0x80112233, None]:
            annotate("a", color=color)

    def test_it_is_enabled_only_under_a_recording(self):
        recorded = "ANNOT_SESSION" in os.environ  # annot record finds any $ANNOT_DIR
        self.assertEqual(pyannot.enabled(), recorded)
        self.assertIsInstance(pyannot.status(), str)
        number = pyannot.start("a")
        self.assertEqual(number != 0, recorded)
        pyannot.end(number)
        pyannot.pop()


class Objects(unittest.TestCase):
    def test_the_same_name_gives_the_same_object(self):
        if not FREE_THREADED:  # there, an earlier object may occupy the cache
            self.assertIs(annotate("load"), annotate("load"))
        self.assertIsNot(annotate("load"), annotate("load", level=1))
        self.assertEqual(repr(annotate("load")), "annotate('load')")
        self.assertEqual(repr(annotate()), "annotate()")
        library = pyannot.domain("library")
        self.assertIs(library.annotate("load"), library.annotate("load"))
        self.assertIsNot(library.annotate("load"), annotate("load"))

    def test_they_are_pickled_and_copied(self):
        """As a call with the same arguments: ids are valid in one process only."""
        everything = {"domain": "d", "category": "c", "color": 0xffd62728, "level": 2,
                      "payload": {"name": 1, "b": "x", "f": 1.5, "t": True, "u": 2**63}}
        track = pyannot.track("track")
        for annotation, name, says in [
                (annotate("x"), "x", {}),
                (annotate("all", **{**everything, "color": "red"}), "all", everything),
                (annotate("one", payload=-1, key="k"), "one", {"payload": -1, "key": "k"}),
                (annotate(category="c"), None, {"category": "c"}),
                (annotate(category="c", payload={"a": 1})._named("later"), "later",
                 {"category": "c", "payload": {"a": 1}}),
                (pyannot.domain("d").annotate("x"), "x", {"domain": "d"}),
                (annotate("\0\ud800"), "\0\ud800", {}),
                (track.annotate("x", payload=4), "x", {"payload": {"value": 4}}),
        ]:
            for again in (annotation, pickle.loads(pickle.dumps(annotation)),
                          copy.copy(annotation), copy.deepcopy(annotation)):
                self.assertIs(type(again), type(annotation))
                call, nothing = again.__reduce__()
                self.assertEqual((call.args[-1], call.keywords, nothing), (name, says, ()))

    def test_more_names_than_the_cache_holds(self):
        names = [f"name {i}" for i in range(5000)]
        for _ in range(2):
            for name in names:
                with annotate(name) as annotation:
                    self.assertEqual(annotation.name, name)

    def test_one_object_in_many_threads_nested(self):
        annotation, errors = annotate("shared"), []

        def nest(depth):
            with annotation:
                if depth:
                    nest(depth - 1)

        def work():
            try:
                for _ in range(200):
                    nest(20)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_an_exception_passes_through(self):
        with self.assertRaises(KeyError):
            with annotate("a"):
                raise KeyError

    def test_exit_stack(self):
        with contextlib.ExitStack() as stack:
            self.assertEqual(stack.enter_context(annotate("a")).name, "a")

    def test_the_name_is_read_only(self):
        with self.assertRaises(AttributeError):
            annotate("a").name = "b"


class Decorated(unittest.TestCase):
    def test_it_keeps_the_metadata(self):
        self.assertEqual(function.__name__, "function")
        self.assertEqual(function.__qualname__, "function")
        self.assertEqual(function.__doc__, "The doc.")
        self.assertEqual(function.__module__, __name__)
        self.assertEqual(function.__annotations__["second"], str)
        signature = "(first: int, second: str = 'x', *rest, key=None) -> str"
        self.assertEqual(str(inspect.signature(function)), signature)
        self.assertIn("function", repr(function))

    def test_it_passes_all_arguments(self):
        self.assertEqual(function(1), "1 x () None")
        self.assertEqual(function(1, "y", 2, 3, key=4), "1 y (2, 3) 4")
        self.assertEqual(function(*[1], **{"key": 2}), "1 x () 2")
        with self.assertRaises(TypeError):
            function()

    def test_it_is_picklable_copyable_and_weakly_referable(self):
        self.assertIs(pickle.loads(pickle.dumps(function)), function)
        self.assertIs(copy.deepcopy(function), function)
        self.assertIs(weakref.ref(function)(), function)

    def test_methods_of_all_kinds(self):
        methods = Methods()
        self.assertEqual(methods.method(1), 8)
        self.assertEqual(Methods.method(methods, 1), 8)
        self.assertEqual(methods.static(2), 2)
        self.assertEqual(Methods.static(2), 2)
        self.assertIs(methods.of_class(), Methods)
        self.assertEqual(methods.property, 7)
        self.assertEqual(pickle.loads(pickle.dumps(Methods.static))(5), 5)

    def test_recursion_ends_with_recursion_error(self):
        self.assertEqual(recurse(100), 100)
        with self.assertRaises(RecursionError):
            recurse(10**7)

    def test_it_is_collected_with_its_cycle(self):
        def make():
            @annotate("cycle")
            def inner():
                return inner

            inner.itself = inner
            return weakref.ref(inner)

        reference = make()
        gc.collect()
        self.assertIsNone(reference())


class Suspending(unittest.TestCase):
    def test_they_stay_what_they_are(self):
        @annotate("a")
        def generator():
            yield

        @annotate("a")
        async def coroutine():
            pass

        @annotate("a")
        async def async_generator():
            yield

        self.assertTrue(inspect.isgeneratorfunction(generator))
        self.assertTrue(inspect.iscoroutinefunction(coroutine))
        self.assertTrue(inspect.isasyncgenfunction(async_generator))
        self.assertEqual(coroutine.__name__, "coroutine")

    def test_what_stands_for_a_coroutine_function_is_one(self):
        async def coroutine(value):
            return value

        class Methods:
            @annotate("a")
            async def method(self):
                return 1

        decorated = annotate("a")(functools.partial(coroutine, 2))
        self.assertTrue(inspect.iscoroutinefunction(decorated))
        self.assertEqual(asyncio.run(decorated()), 2)
        self.assertEqual(asyncio.run(annotate("a")(Methods().method)()), 1)
        if hasattr(inspect, "markcoroutinefunction"):
            marked = annotate("a")(inspect.markcoroutinefunction(lambda: coroutine(3)))
            self.assertEqual(asyncio.run(marked()), 3)

    def test_the_decorator_imports_little(self):
        program = (
            "import functools, sys; from pyannot import annotate; before = set(sys.modules)\n"
            "annotate('a')(lambda: None); print(*(set(sys.modules) - before))"
        )
        result = harness.run([sys.executable, "-I", "-c", PATH + program])
        self.assertEqual(result.stdout.split(), ["pyannot._decorators"])

    def test_a_generator_gets_what_is_sent_and_thrown(self):
        @annotate("a")
        def generator():
            try:
                got = yield 1
            except KeyError:
                got = "key"
            yield got
            return "end"

        steps = generator()
        self.assertEqual((next(steps), steps.send("sent")), (1, "sent"))
        with self.assertRaises(StopIteration) as stopped:
            next(steps)
        self.assertEqual(stopped.exception.value, "end")
        steps = generator()
        next(steps)
        self.assertEqual(steps.throw(KeyError()), "key")
        steps.close()

    def test_an_async_generator_gets_what_is_sent_and_thrown(self):
        closed = []

        @annotate("a")
        async def generator():
            try:
                got = yield 1
                while True:
                    try:
                        got = yield got
                    except KeyError:
                        got = "key"
            finally:
                closed.append(True)

        async def use():
            steps = generator()
            got = [await steps.asend(None), await steps.asend("sent")]
            got += [await steps.athrow(KeyError()), await steps.asend("more")]
            await steps.aclose()
            with self.assertRaises(ZeroDivisionError):
                async for _ in generator():
                    raise ZeroDivisionError
            return got

        self.assertEqual(asyncio.run(use()), [1, "sent", "key", "more"])
        self.assertEqual(closed, [True, True])

    def test_an_async_generator_ends(self):
        @annotate("a")
        async def generator():
            for i in range(3):
                yield i

        async def use():
            return [i async for i in generator()]

        self.assertEqual(asyncio.run(use()), [0, 1, 2])

    def test_a_coroutine_returns_and_raises(self):
        @annotate("a")
        async def coroutine(fail):
            await asyncio.sleep(0)
            return 1 // (not fail)

        self.assertEqual(asyncio.run(coroutine(False)), 1)
        with self.assertRaises(ZeroDivisionError):
            asyncio.run(coroutine(True))


class Package(unittest.TestCase):
    def test_the_stub_names_everything_that_is_public(self):
        stub = pathlib.Path(pyannot.__file__).with_name("_native.pyi")
        named = {node.name for node in ast.parse(stub.read_text()).body if hasattr(node, "name")}
        self.assertLessEqual(set(pyannot.__all__) - set(pyannot._LATER), named)
        self.assertTrue(stub.with_name("py.typed").exists())

    def test_everything_public_has_a_doc_and_a_signature(self):
        for name in pyannot.__all__:
            with self.subTest(name=name):
                self.assertTrue(getattr(pyannot, name).__doc__)
                is_class = isinstance(getattr(pyannot, name), type)
                if is_class and sys.version_info < (3, 10):
                    continue  # it gives no signature of such classes
                self.assertTrue(inspect.signature(getattr(pyannot, name)))

    def test_what_few_programs_use_is_made_when_it_is_asked_for(self):
        program = """if True:
            import pyannot
            from pyannot import _native
            assert not {"flow", "track", "domain", "observed", "pool_side"} & set(vars(_native))
            assert {"flow", "track", "domain", "read"} <= set(dir(pyannot))
            track = pyannot.domain("d").track("t")
            assert type(track) is pyannot.track is _native.track
            assert type(pyannot.domain("d").flow()) is pyannot.flow is _native.flow
            for module in pyannot, _native:
                assert not hasattr(module, "no such thing")
        """
        subprocess.run([sys.executable, "-c", program], check=True)

    @unittest.skipUnless(hasattr(sys, "getallocatedblocks"), "needs sys.getallocatedblocks")
    def test_nothing_leaks(self):
        def everything(i):
            name = f"name {i}"
            with annotate("a"), annotate(name), annotate("b", payload=name, color="red"):
                pyannot.push(name, domain="d", category="c")
                pyannot.pop()
            pyannot.mark(name, payload=i)
            pyannot.counter(name, i)
            pyannot.counter("a", i, domain="d")
            pyannot.end(pyannot.start(name))
            decorated = annotate(name)(lambda: None)
            decorated()
            with contextlib.suppress(TypeError):
                annotate(name, payload=[])

        for i in range(2000):
            everything(i)
        gc.collect()
        before = sys.getallocatedblocks()
        for i in range(2000, 12000):
            everything(i)
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - before, 500)


class AnotherPython(unittest.TestCase):
    def test_says_that_pyannot_is_not_built_for_it(self):
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "pyannot")
            package.mkdir()
            shutil.copy(pyannot.__file__, package)
            other = package / "_native.cpython-200-x86_64-linux-gnu.so"
            other.touch()
            program = f"import sys; sys.path.insert(0, {folder!r}); import pyannot"
            done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"here {other.name}, and this is {sys.implementation.cache_tag}",
                          done.stderr)


if __name__ == "__main__":
    harness.main()
