# SPDX-License-Identifier: MIT
"""A program that other tools watch, for test_beside.py. Arguments: the tools; prints for each its
view of work(), or "no" if it is not installed."""

import collections
import contextlib
import io
import json
import os
import sys
import threading

HERE = os.path.basename(__file__)


def leaf(n):
    return n + 1


def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def numbers(n):
    for i in range(n):
        yield leaf(i)


def fail(n):
    if n == 0:
        raise ValueError
    fail(n - 1)


def work():
    total = sum(numbers(5))
    with contextlib.suppress(ValueError):
        fail(3)
    fib(6)
    early = numbers(3)
    next(early)
    early.close()
    return total + sum(map(lambda x: leaf(x), [1, 2]))


def profiler(module):
    made = module.Profile()
    made.runcall(work)
    made.create_stats()
    return {f"{name} {line}": [calls, primitive] for (file, line, name),
            (primitive, calls, *_) in made.stats.items() if file.endswith(HERE)}


def cprofile():
    import cProfile
    return profiler(cProfile)


def profile():
    import profile as module
    return profiler(module)


def trace():
    import trace as module
    tracer = module.Trace(count=1, trace=0)
    tracer.runfunc(work)
    return {str(line): count for (file, line), count in tracer.results().counts.items()
            if file.endswith(HERE)}


def told(setter, of_threads):
    """The events that a function set by `setter` receives, in two threads."""
    seen = collections.Counter()

    def note(frame, event, arg):
        # From CPython 3.13 on, it may receive the end of the call that sets it.
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name != "told":
            seen[f"{event} {frame.f_code.co_name} {frame.f_lineno}"] += 1
        return note
    thread = threading.Thread(target=work)
    of_threads(note)
    setter(note)
    work()
    thread.start()
    thread.join()
    setter(None)
    of_threads(None)
    return seen


def settrace():
    return told(sys.settrace, threading.settrace)


def setprofile():
    return told(sys.setprofile, threading.setprofile)


def pdb():
    import pdb as module
    output = io.StringIO()
    commands = "b leaf\nc\nc\np n\nbt\nclear 1\nup\ns\nn\ns\nr\nc\n"
    with contextlib.suppress(module.bdb.BdbQuit):
        module.Pdb(stdin=io.StringIO(commands), stdout=output, nosigint=True).runcall(work)
    return output.getvalue()


def coverage_sysmon():
    return coverage("sysmon")


def coverage(core="ctrace"):
    import coverage as module
    os.environ["COVERAGE_CORE"] = core
    made = module.Coverage(data_file=None, branch=core == "ctrace", include=["*" + HERE])
    made.start()
    work()
    made.stop()
    data = made.get_data()
    core = next((value for key, value in made.sys_info() if key in ("core", "CTracer")), "")
    return [str(core), sorted(data.lines(__file__)), sorted(data.arcs(__file__))]


def viztracer():
    import viztracer as module
    made = module.VizTracer(verbose=0, ignore_c_function=True)
    made.start()
    work()
    made.stop()
    made.parse()
    names = collections.Counter(event["name"].split(" ")[0] for event in made.data["traceEvents"]
                                if event["ph"] == "X" and HERE in event["name"])
    return names


def yappi():
    import yappi as module
    module.start()
    work()
    module.stop()
    return {f"{stat.name} {stat.lineno}": [stat.ncall, stat.nactualcall]
            for stat in module.get_func_stats() if stat.module.endswith(HERE)}


def line_profiler():
    import line_profiler as module
    made = module.LineProfiler()
    for function in (leaf, fib, numbers, fail, work):
        made.add_function(function)
    made.runcall(work)
    return {f"{name} {line}": hits for (_, _, name), lines in made.get_stats().timings.items()
            for line, hits, _ in lines}


def debugpy():
    import beside_debugger
    return beside_debugger.watch(work, leaf.__code__.co_firstlineno + 1)


def seen_by(tool):
    try:
        return globals()[tool]()
    except ImportError:
        return "no"


def main():
    work()
    seen = {tool: seen_by(tool) for tool in sys.argv[1:]}
    work()
    print(json.dumps(seen, sort_keys=True))


if __name__ == "__main__":
    main()
