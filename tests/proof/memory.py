#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Memory of a program that is traced, and of its collector, while it calls and while code objects
come and go: prints both after each part. Not in CI: it takes minutes.

    tests/proof/memory.py BUILD PYTHON PACKAGE calls|codes|names MODE PARTS [OPTION...]

A part: 10 million calls; 10,000 code objects by exec, of one function; the same, each of another.
PACKAGE: folder to put in PYTHONPATH, with pyannot built for PYTHON.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = '''
import gc, os, sys
def leaf():
    pass
def calls():
    for _ in range(10000000):
        leaf()
made = 0
def codes(form="f"):
    global made
    for _ in range(10000):
        scope = {}
        exec(f"def {form.format(made)}():\\n  x = 1\\n  return x\\n{form.format(made)}()", scope)
        made += 1
def names():
    codes("f{}")
for _ in range(int(sys.argv[2])):
    globals()[sys.argv[1]]()
    gc.collect()
    with open("/proc/self/statm") as file:
        print(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10, flush=True)
'''


def resident_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


def main():
    if len(sys.argv) < 7:
        sys.exit(__doc__)
    build, python, package, what, mode, parts, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        program, output = os.path.join(folder, "memory_program.py"), os.path.join(folder, "r.annot")
        pathlib.Path(program).write_text(PROGRAM)
        command = [os.path.join(build, "tools/annot"), "record", "--sampling=none",
                   f"--trace-functions={mode}", "-o", output, *options, "--", python, program,
                   what, parts]
        with subprocess.Popen(command, env=dict(os.environ, PYTHONPATH=package), text=True,
                              stdout=subprocess.PIPE) as collector:
            for line in collector.stdout:
                size = os.path.getsize(output) >> 10 if os.path.exists(output) else 0
                print(f"program {int(line):8} KiB, collector {resident_kib(collector.pid):8} KiB,"
                      f" recording {size:8} KiB", flush=True)
        print(f"exit status {collector.returncode}, recording {os.path.getsize(output) >> 10} KiB")
        tool = [os.path.join(build, "tools/annot")]
        print(subprocess.run([*tool, "report", "--table", "calls", output], check=True, text=True,
                             stdout=subprocess.PIPE).stdout[:1500])
        print(subprocess.run([*tool, "info", output], check=True, text=True,
                             stdout=subprocess.PIPE).stdout)


if __name__ == "__main__":
    main()
