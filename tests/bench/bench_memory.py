# SPDX-License-Identifier: MIT
"""The cost of recording memory: sampled and exact, beside memray and tracemalloc.

    bench_memory.py ANNOT PACKAGE INTERPRETER [ROUNDS] [--json FILE]

PACKAGE is the folder for PYTHONPATH with pyannot for that interpreter. Each round runs the programs
without a tool and then with each tool; ratios of processor time of the work, without start and end,
are those of a round, and medians of them are printed. memray, if INTERPRETER has it: with Python's
allocators, so that it counts the same objects, and also with native stacks. "objects" makes small
objects and drops them by thousands, "blocks" makes blocks of 4 KiB, "json" reads and writes a text.
"""

import os
import sys
import tempfile

import rows
import tool_rounds

PROGRAMS = '''
import json, sys, time


def objects(turns):
    kept = []
    for k in range(turns):
        kept.append({"k": k, "s": str(k), "t": (k, k + 1)})
        if len(kept) > 5000:
            kept.clear()


def blocks(turns):
    ring = [b""] * 256
    for k in range(turns):
        ring[k & 255] = bytes(4096 + (k & 63))


def texts(turns):
    text = json.dumps([{"id": i, "name": f"n{i}", "at": [i, i / 3]} for i in range(1000)])
    for _ in range(turns):
        json.dumps(json.loads(text))


if sys.argv[1] == "tracemalloc":
    import tracemalloc
    tracemalloc.start(1)
for name, run, events in (("objects", lambda: objects(400000), 1600000),
                          ("blocks", lambda: blocks(1000000), 1000000),
                          ("json", lambda: texts(120), 0)):
    begin = time.process_time()
    run()
    print("BENCH", name, time.process_time() - begin, events, flush=True)
'''


def commands(annot, interpreter, folder):
    program = os.path.join(folder, "programs.py")
    with open(program, "w") as out:
        out.write(PROGRAMS)
    record = [annot, "record", "--sampling=none", "--force", "-o",
              os.path.join(folder, "bench.annot")]
    yield "exact", [*record, "--memory=exact", "--", interpreter, program, "exact"]
    if os.geteuid() == 0:
        yield "sampled", [*record, "--memory", "--", interpreter, program, "sampled"]
    memray = [interpreter, "-m", "memray", "run", "--force", "--trace-python-allocators", "-o",
              os.path.join(folder, "bench.bin")]
    if tool_rounds.can(interpreter, "import memray"):
        yield "memray", [*memray, program, "memray"]
        yield "memray native", [*memray, "--native", program, "memray"]
    yield "tracemalloc", [interpreter, program, "tracemalloc"]


def main(annot, package, interpreter, rounds="5"):
    with tempfile.TemporaryDirectory() as folder:
        tools = dict(commands(annot, interpreter, folder))
        plain = [interpreter, os.path.join(folder, "programs.py"), "plain"]
        measured = tool_rounds.measure(tools, plain, package, int(rounds))
    rows.finish("memory", list(tool_rounds.rows_of(*measured)))


if __name__ == "__main__":
    main(*(sys.argv[1:sys.argv.index("--json")] if "--json" in sys.argv else sys.argv[1:]))
