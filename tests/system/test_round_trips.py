# SPDX-License-Identifier: MIT
"""Round trips: import(export(x)) keeps all that the format can carry, of made-up traces and
profiles. As test_import.py; hypothesis makes them, and the smallest one that fails.

ANNOT_ROUND_TRIPS (default 12): how many of each.
"""

import collections
import json
import marshal
import os
import sys

from harness import case, check, equal, main
from imports import imported, query, written

try:
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st
except ImportError:
    if os.environ.get("ANNOT_TEST_PYTHON", sys.executable) != sys.executable:  # that has it
        os.execv(os.environ["ANNOT_TEST_PYTHON"], [os.environ["ANNOT_TEST_PYTHON"], *sys.argv])
    print("skipped: hypothesis is not installed; hint: pip install hypothesis")
    sys.exit(77)

EXAMPLES = int(os.environ.get("ANNOT_ROUND_TRIPS", "12"))
HOSTILE = ['"', "\\", "\x00a", "\x1b[2J", "\ud800", "\n\r\t", "\u2028", "\u0085", "a;b", "a b 7",
           "\U0001f40d", "</script>", "(1)", "%s", "\ufeff", "a/b", "x:y", "n" * 2000]
NAMES = st.one_of(st.sampled_from(["a", "b", "load"]), st.sampled_from(HOSTILE),
                  st.text(min_size=1, max_size=6))
STEPS_NS = st.one_of(st.just(0), st.integers(1, 10**7))


def tried(strategy):
    """A case that is called with so many values of the strategy."""
    def mark(function):
        def whole(home):
            settings(max_examples=EXAMPLES, deadline=None, database=None,
                     suppress_health_check=list(HealthCheck))(
                         given(strategy)(lambda made: function(home, made)))()
        whole.__name__ = function.__name__
        return case(whole)
    return mark


# ---- Timelines ------------------------------------------------------------------------------


THREADS = st.integers(0, 2)
OPERATIONS = st.lists(st.one_of(
    st.tuples(st.just("push"), THREADS, NAMES, STEPS_NS),
    st.tuples(st.just("pop"), THREADS, STEPS_NS),
    st.tuples(st.just("mark"), THREADS, NAMES, STEPS_NS),
    st.tuples(st.just("counter"), THREADS, NAMES, st.integers(-2**53, 2**53), STEPS_NS),
    st.tuples(st.just("overlapping"), THREADS, NAMES, STEPS_NS, STEPS_NS)), max_size=30)


def trace_of(operations):
    """Chrome's format: begins and ends of three threads of two processes, all ended."""
    events, now, depth = [], 0, collections.Counter()

    def add(phase, thread, name, **more):
        events.append(dict(ph=phase, pid=1 + thread // 2, tid=1 + thread, ts=now / 1000, name=name,
                           **more))

    for number, (what, thread, *rest) in enumerate(operations):
        now += rest[-1]
        if what == "push":
            add("B", thread, rest[0], cat=rest[0])
            depth[thread] += 1
        elif what == "pop" and depth[thread]:
            add("E", thread, "")
            depth[thread] -= 1
        elif what == "mark":
            add("i", thread, rest[0], s="t")
        elif what == "counter":
            add("C", thread, rest[0], args={"value": rest[1]})
        elif what == "overlapping":
            add("b", thread, rest[0], id=number, cat="c")
            now += rest[1]
            add("e", thread, rest[0], id=number, cat="c")
    now += 1
    for thread, count in depth.items():
        for _ in range(count):
            add("E", thread, "")
    return json.dumps({"traceEvents": events})


def ranges_of(home, recording, called):
    """Since the first of them: (name or path, begin, duration) as often as it is there. Overlapping
    ones lie on tracks in some formats only."""
    rows = query(home, recording, f"select {called} as called, begin_ns, duration_ns as ns "
                                  "from ranges where pid < 1000000")
    first = min((row["begin_ns"] for row in rows), default=0)
    return collections.Counter((row["called"], row["begin_ns"] - first, row["ns"]) for row in rows)


def counters_of(home, recording):
    rows = query(home, recording, "select name, value from counters")
    return collections.Counter((row["name"], row["value"]) for row in rows)


def marks_of(home, recording):
    rows = query(home, recording, "select name from marks where pid < 1000000")
    return collections.Counter(row["name"] for row in rows)


def came_back(home, first, extension, *options):
    exported = home.work / f"out{extension}"
    home.annot("export", "--force", *options, "-o", exported, first).ok()
    return imported(home, exported, name=f"second{extension}.annot")[0]


@tried(OPERATIONS)
def timelines_come_back(home, operations):
    first, _ = imported(home, written(home, trace_of(operations)))
    ways = [(".pftrace", "path", (counters_of, marks_of)),
            (".json", "path", (counters_of, marks_of)),
            (".speedscope.json", "name", ())]  # in which those that overlap may nest
    for extension, called, parts in ways if ranges_of(home, first, "name") else ways[:2]:
        second = came_back(home, first, extension)
        equal(ranges_of(home, second, called), ranges_of(home, first, called),
              f"ranges of {extension}")
        for part in parts:
            equal(part(home, second), part(home, first), f"{part.__name__} {extension}")


# ---- Stacks ---------------------------------------------------------------------------------


# Names that collapsed stacks can hold: without separators of frames and of lines, and not empty.
FRAMES = st.one_of(
    st.sampled_from(["main", "a b", "x::y<int>(char)", "\u00e9\U0001f600", "[unknown]", "k_[k]"]),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"],
                          exclude_characters=";"), min_size=1, max_size=5))
# Lines that begin with # or // are comments.
STACKS = st.dictionaries(st.lists(FRAMES, min_size=1, max_size=8).map(";".join)
                         .filter(lambda stack: not stack.startswith(("#", "//"))),
                         st.integers(1, 1000), min_size=1, max_size=40)


@tried(STACKS)
def stacks_come_back(home, stacks):
    lines = sorted(f"{stack} {weight}" for stack, weight in stacks.items())
    options = ("--unit", "1us", "--from-format", "folded")
    path, _ = imported(home, written(home, "\n".join(lines) + "\n", "x.folded"), *options)
    out = home.annot("export", "-f", "folded", "-o", "-", path).ok().out.decode()
    equal(sorted(out.split("\n")[:-1]), lines, "stacks")


@tried(st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=6), st.integers(1, 10**9)),
                min_size=1, max_size=20))
def samples_come_back(home, samples):
    """By speedscope's format, which keeps each sample, with any name."""
    names = sorted({name for stack, _ in samples for name in stack})
    profile = {"type": "sampled", "name": "t", "unit": "nanoseconds", "startValue": 0,
               "endValue": sum(weight for _, weight in samples),
               "samples": [[names.index(name) for name in stack] for stack, _ in samples],
               "weights": [weight for _, weight in samples]}
    document = {"$schema": "https://www.speedscope.app/file-format-schema.json",
                "shared": {"frames": [{"name": name} for name in names]}, "profiles": [profile]}
    first, _ = imported(home, written(home, json.dumps(document)))
    second = came_back(home, first, ".speedscope.json", "--native")
    sql = ("select s.cpu_ns as ns, (select group_concat(name, char(0)) from (select f.function as "
           "name from stack_frames sf join frames f on f.id = sf.frame where sf.stack = s.stack "
           "order by sf.depth)) as names from samples s order by time_ns")
    rows = query(home, first, sql)
    equal([row["ns"] for row in rows], profile["weights"], "weights")
    equal(query(home, second, sql), rows, "samples")


# ---- Calls ----------------------------------------------------------------------------------


def stats_of(calls):
    """Of calls in order: (how far up from the last one, function, own ns). Functions call only
    later ones."""
    stats, stack = {}, []

    def end():
        key, total = stack.pop()
        caller = stack[-1][0] if stack else None
        sums = [stats[key]] + ([stats[key][4].setdefault(caller, [0, 0, 0, 0])] if caller else [])
        for each in sums:
            each[3] += total
        if stack:
            stack[-1][1] += total

    for up, step, name, own_ns in calls:
        for _ in range(min(up, len(stack))):
            end()
        number = (stack[-1][0][1] if stack else 0) + step
        caller = stack[-1][0] if stack else None
        key = f"/srv/{number % 3}.py", number, f"{name}{number}"
        value = stats.setdefault(key, [0, 0, 0, 0, {}])
        sums = [value] + ([value[4].setdefault(caller, [0, 0, 0, 0])] if caller else [])
        for each in sums:
            each[0], each[1], each[2] = each[0] + 1, each[1] + 1, each[2] + own_ns
        stack.append([key, own_ns])
    while stack:
        end()
    return {key: (*value[:2], value[2] / 1e9, value[3] / 1e9,
                  {caller: (*edge[:2], edge[2] / 1e9, edge[3] / 1e9)
                   for caller, edge in value[4].items()}) for key, value in stats.items()}


def own_of(stats):
    return {key: (value[1], round(value[2] * 1e9)) for key, value in stats.items()}


@tried(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3),
                          st.sampled_from(["f", "g", "<lambda>", "a b", '"\\', "\u00e9", ";(1)"]),
                          st.integers(1, 10**6)), min_size=1, max_size=30))
def calls_come_back(home, calls):
    stats = stats_of(calls)
    version = len(calls) % 5  # of marshal
    source = written(home, marshal.dumps(stats, version), "x.pstats")
    first, _ = imported(home, source)
    exported = home.work / "out.pstats"
    home.annot("export", "--force", "-o", exported, first).ok()
    told = marshal.loads(exported.read_bytes())
    equal(own_of(told), own_of(stats), "calls and own times")
    edges = {(caller, key): edge[0] for key, value in stats.items()
             for caller, edge in value[4].items()}
    equal({(caller, key): edge[0] for key, value in told.items()
           for caller, edge in value[4].items()}, edges, "pairs")
    for key, value in stats.items():
        near = abs(told[key][3] - value[3]) * 1e9 <= 100 + value[3] * 1e6
        check(near, f"total time of {key} is {told[key][3]}, not {value[3]}")
    second, _ = imported(home, exported, name="second.annot")
    sql = "select file, line, name, call_count, own_ns from calls order by 1, 2, 3"
    equal(query(home, second, sql), query(home, first, sql), "calls of the second")


if __name__ == "__main__":
    main()
