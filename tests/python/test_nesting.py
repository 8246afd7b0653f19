# SPDX-License-Identifier: MIT
"""Random programs of ranges, threads, tasks, generators, exceptions and forks: the recording equals
the model, in order and in parents.

An example is a list of programs that run in one process, so that hundreds take seconds.
ANNOT_NESTING_EXAMPLES: number of examples (20; 8 programs each on average). Prints the programs of
a failing example as JSON for nesting_program.py.
"""

import json
import os
import sys

import harness
import nesting_model
import nesting_recording
from harness import HERE, RecordingTest

try:
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st
except ImportError:
    given = None

PROGRAM = HERE / "nesting_program.py"
EXAMPLES = int(os.environ.get("ANNOT_NESTING_EXAMPLES", "20"))
RANGES = ("plain_with", "kept_with", "pushed", "call")
# Programs in which the mutations of nesting_program.py must be detected.
ONE_OF_EACH = [["pushed", "a", [["mark", "b"]]], ["start", 0, "a"], ["end", 0]]


def made_programs(with_tasks):
    """Lists of programs."""
    names = st.sampled_from(["a", "b", "load", "a long name " * 20, "größer", 'with "quotes" \\'])
    leaves = st.one_of(
        st.tuples(st.just("mark"), names),
        st.tuples(st.just("counter"), names, st.integers(-(2**53), 2**53)),
        *made_slots(names),
        st.just(("throw",)),
    )

    tasks = made_tasks(names, st.one_of(st.just(("throw",)), *made_slots(names)))

    def around(nodes):
        bodies = st.lists(nodes, max_size=4)
        parts = st.lists(st.lists(nodes, max_size=2), max_size=3)
        made = [tasks] if with_tasks else []
        return st.one_of(
            *made,
            st.tuples(st.sampled_from(RANGES), names, bodies),
            st.tuples(st.just("attempt"), bodies),
            st.tuples(st.just("track"), st.integers(0, 1), names, bodies),
            st.tuples(st.sampled_from(("thread", "fork")), st.none(), st.booleans(), bodies),
            st.tuples(st.sampled_from(("generator", "decorated_generator")), names, parts, parts),
        )

    bodies = st.lists(st.recursive(leaves, around, max_leaves=20), max_size=5)
    return st.lists(bodies, min_size=5, max_size=20).map(numbered)


def made_slots(names):
    slots = st.integers(0, 2)
    return st.tuples(st.just("start"), slots, names), st.tuples(st.just("end"), slots)


def made_tasks(names, leaves):
    """Some tasks that take turns. They have no marks: these belong to the thread."""
    plain = st.tuples(st.sampled_from(RANGES), names, st.lists(leaves, max_size=2))

    def around(nodes):
        bodies = st.lists(nodes, max_size=4)
        return st.one_of(
            st.tuples(st.sampled_from(("plain_with", "async_with")), names, bodies),
            st.tuples(st.just("attempt"), bodies),
        )

    nodes = st.recursive(st.one_of(leaves, plain, st.just(("wait",))), around, max_leaves=10)
    bodies = st.tuples(st.none(), st.lists(nodes, max_size=5))
    return st.tuples(st.just("tasks"), st.lists(bodies, min_size=1, max_size=3))


def numbered(bodies):
    """Gives each stream and each of its tracks a unique name."""
    programs = []
    for index, body in enumerate(bodies):
        root = f"program {index}"
        numbers = iter(range(10**6))
        programs.append({"root": root, "body": [with_roots(n, root, numbers) for n in body]})
    return programs


def with_roots(node, root, numbers):
    if not isinstance(node, (list, tuple)):
        return node
    if node and node[0] in ("thread", "fork"):
        kind, _, flag, body = node
        program, *_ = root.split(",")
        root = f"{program}, {kind} {next(numbers)}"
        node = kind, root, flag, body
    elif node and node[0] == "tasks":
        program, *_ = root.split(",")
        roots = [f"{program}, task {next(numbers)}" for _ in node[1]]
        return ["tasks", [[name, with_roots(body, name, numbers)]
                          for name, (_, body) in zip(roots, node[1])]]
    elif node and node[0] == "track":
        node = "track", f"{root}, track {node[1]}", *node[2:]
    return [with_roots(part, root, numbers) for part in node]


class Nesting(RecordingTest):
    def differences(self, programs, *mutation, options=()):
        path = self.folder / "programs.json"
        path.write_text(json.dumps(programs))
        self.record(PROGRAM, path, *mutation, options=["--sampling=none", *options])
        recorded = nesting_recording.read(self.folder / "out.annot")
        return list(nesting_model.Model(programs).told.differences(recorded))

    def check_random(self, with_tasks, examples, *options):
        if given is None:
            self.skipTest("hypothesis is not installed; hint: pip install hypothesis")
        tried = []

        @settings(max_examples=examples, deadline=None, database=None, print_blob=False,
                  suppress_health_check=list(HealthCheck),
                  phases=[Phase.generate])
        @given(made_programs(with_tasks))
        def check(programs):
            tried.append(len(programs))
            differences = self.differences(programs, options=options)
            if differences:
                text = "\n".join(differences)
                shown = [p for p in programs if p["root"] in text] or programs
                raise AssertionError(f"{text}\nof {json.dumps(shown)}")

        check()
        print(f"{sum(tried)} programs in {len(tried)} recordings")

    def test_random_programs(self):
        self.check_random(True, EXAMPLES, "--python=default")

    def test_random_programs_of_which_python_tells_nothing(self):
        self.check_random(False, EXAMPLES // 2, "--python=none")

    def check_found(self, mutation):
        programs = numbered([ONE_OF_EACH])
        self.assertEqual(self.differences(programs), [])
        self.assertNotEqual(self.differences(programs, mutation), [])

    def test_a_pop_that_is_missing_is_found(self):
        self.check_found("skip pop")

    def test_a_mark_too_many_is_found(self):
        self.check_found("mark twice")

    def test_an_end_that_is_missing_is_found(self):
        self.check_found("forget end")


if __name__ == "__main__":
    harness.run_where_there_are("hypothesis")
    harness.main()
