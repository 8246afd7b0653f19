#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs of pyperformance, each once, with and without tracing: same results. Not in CI: it takes
minutes and needs pyperformance in PYTHON's environment. Those that need further packages are left
out.

    tests/proof/pyperformance_suite.py BUILD PYTHON PACKAGE [PROGRAM...]

PACKAGE: folder to put in PYTHONPATH, with pyannot built for PYTHON.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ONCE = pathlib.Path(__file__).resolve().parent / "once"
PROGRAMS = ("async_generators", "async_tree none", "chaos", "comprehensions", "coroutines",
            "deepcopy", "deltablue", "fannkuch", "float", "generators", "go", "hexiom",
            "json_dumps", "logging", "mdp", "meteor_contest", "nbody", "nqueens", "pathlib",
            "pickle --pure-python pickle", "pprint", "pyflate", "raytrace", "regex_compile",
            "richards", "richards_super", "scimark sor", "spectral_norm", "sqlite_synth",
            "typing_runtime_protocols", "unpack_sequence", "xml_etree --etree-module "
            "xml.etree.ElementTree parse")
MODES = (("exact",), ("aggregate",), ("exact", "--trace-functions=args,return"))
LIMIT_S = 400


def folder_of(python):
    code = "import os, pyperformance as p; print(os.path.dirname(p.__file__))"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return pathlib.Path(done.stdout.strip()) / "data-files/benchmarks"


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True,
                          errors="replace", timeout=LIMIT_S, check=False)
    return done.returncode, done.stdout, "".join(done.stderr.splitlines()[-1:])


def calls_in(annot, recording):
    done = subprocess.run([annot, "query", "--csv", recording, "select sum(call_count) from calls"],
                          capture_output=True, text=True, check=False)
    return done.stdout.split()[-1] if done.returncode == 0 else done.stderr


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    build, python, package = sys.argv[1:4]
    folder, different = folder_of(python), 0
    annot = os.path.join(build, "tools/annot")
    environment = dict(os.environ, PYTHONPATH=f"{ONCE}:{package}", PYTHONHASHSEED="0")
    for text in sys.argv[4:] or PROGRAMS:
        name, *arguments = text.split()
        program = [python, str(folder / f"bm_{name}" / "run_benchmark.py"), *arguments]
        expected = run(program, environment)
        print(f"{text}: exit {expected[0]} {expected[2]}", flush=True)
        for mode in MODES:
            with tempfile.TemporaryDirectory() as output:
                recording = os.path.join(output, "r.annot")
                told = run([annot, "record", "--sampling=none", "--trace-functions=" + mode[0],
                            *mode[1:], "-o", recording, "--", *program], environment)
                is_same = told[:2] == expected[:2]
                different += not is_same
                print(f"  {' '.join(mode)}: {'same' if is_same else told},"
                      f" {calls_in(annot, recording)} calls", flush=True)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
