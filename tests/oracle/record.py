#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records the programs of the corpus anew and keeps what they recorded as texts.

record.py BUILD [--python PROGRAM] [--check] [NAME...]

Numbers of processes, times and samples differ each time, so the oracle must be made anew as well:
compare.py BUILD --update. Each new text is read back first: the recording that is written from it
must have the outputs of the one that was recorded (rows of a report that tie may change places).
--check does that and keeps nothing. Paths of this machine are replaced.
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import compare
import outputs

SOURCE = Path(__file__).resolve().parents[2]
LARGEST_BYTES = 200_000  # of a compressed text
SECONDS = 120

# sh runs each in an empty folder, where it writes run.annot. $A is annot, $P the folder of the
# system tests' programs, $B the build, $S the source, $PY Python with pyannot; rec is "annot
# record".
SCENE = "$PY $S/tests/oracle/scene.py"
SAMPLED = "--off-cpu --rate 499"
ALL = f"{SAMPLED} --python -imports"  # imports are too many
RECORDINGS = {
    "abort": "rec -- $P/emit_kinds abort",
    "asked": f"printf 'open a\\nburn 20\\nthread 3\\nbegin\\nfork 4\\norphan 2\\nspawn 3\\njoin\\n"
             "steps 5\\nend\\nexec\\nopen b\\nsteps 2\\n' | rec --rate 499 -- $P/emit_asked",
    "attached": "$PY $S/tests/oracle/scene.py threads calls threads calls threads & sleep 0.15; "
                "$A attach -q -p $! -o run.annot --off-cpu --rate 499; wait",
    "crowd": "rec --sampling=none -- $P/emit_crowd 3 6 12 20000",
    "cut": "$A record -q -o run.annot --sampling=none -- $P/emit_ticks 3000 & sleep 1.2; "
           "kill -9 $!; pkill -9 -P $! ; wait; true",
    "cxx": "rec --sampling=none -- $P/emit_cxx",
    "duration": "rec --delay 50ms --duration 200ms -- $P/emit_ticks 500",
    "edges": "rec --sampling=none --pool-size 64K -- $P/emit_edges 3",
    "exec": f"rec {ALL} -- $P/target_images exec 03",
    "exec-fork": f"rec {ALL} -- $P/target_images fork 03",
    "filter": "rec --sampling=none --disable io/noise,db -- sh -c \"$P/emit_filter round one; "
              "$A set --disable io; $P/emit_filter round two; $A set --enable io:3; "
              "$P/emit_filter round three\"",
    "fork-kill": "truncate -s 1M c; KILL_COUNTS=c rec --sampling=none -- $P/kill_target fork kill",
    "functions": "head -c 120 $S/LICENSE >f; rec --functions '*' -- "
                 "$B/examples/functions/annot-example-words f",
    "inherited": f"rec {ALL} -- $P/target_ranges 6",
    "kinds": "rec --sampling=none -- $P/emit_kinds kinds",
    "many-names": "rec --sampling=none --pool-size 64K -- $P/emit_names 3000 200000",
    "misuse": "rec --sampling=none -- sh -c 'for k in ends nulls bytes schemas; do "
              "$P/emit_misuse $k; done'",
    "nested-sessions": "rec --sampling=none -- sh -c '$P/emit_ticks 30; $A record -q -o in.annot "
                       "--sampling=none -- $P/emit_ticks 30; $P/emit_ticks 30'",
    "nvtx": "export NVTX_LEDGER=/dev/null; rec --sampling=none -- $B/tests/nvtx/nvtx_cpp",
    "overwrite": "rec --sampling=none --policy overwrite --pool-size 64K -- "
                 "$P/emit_names 6000 1000000000",
    "pipeline": f"rec {ALL} -- $PY $S/examples/pipeline/pipeline.py --limit 8 --workers 2 "
                "--output out",
    "pool": f"rec {ALL} -- $PY $S/tests/system/target_pool.py 10 2",
    "py-calls": f"rec {SAMPLED} -- {SCENE} calls garbage",
    "py-crossing": f"rec --sampling=none --python -imports -- {SCENE} crossing",
    "py-forks": f"rec {ALL} -- {SCENE} forks",
    "py-forks-remote": f"rec --sampling remote --rate 999 --python -imports -- {SCENE} forks",
    "py-killed": f"rec {ALL} -- {SCENE} lines threads end",
    "py-lines": f"rec {ALL} -- {SCENE} lines logs",
    "py-pools": f"rec {ALL} -- {SCENE} pools",
    "py-remote": f"rec --sampling remote --rate 99 --python -imports -- {SCENE} calls threads",
    "py-subprocess": f"rec {ALL} -- {SCENE} children",
    "py-tasks": f"rec {ALL} -- {SCENE} tasks",
    "py-values": f"rec --sampling=none --python none -- {SCENE} values",
    "random-tasks": "rec --rate 499 --python -imports -- "
                    "$PY $S/tests/python/tasks_program.py 8 5",
    "random-threads": "rec --off-cpu --python -imports -- "
                      "$PY $S/tests/python/threads_program.py 3 6",
    "recovered": "$A record -q -o run.annot --sampling=none -- $P/emit_ticks 3000 & sleep 1.2; "
                 "kill -9 $!; wait; $A recover; true",
    "shapes-masked": "rec --sampling=none -- $P/emit_shapes masked",
    "shapes-names": "rec --sampling=none -- $P/emit_shapes names",
    "shapes-overlap": "rec --sampling=none -- $P/emit_shapes overlap",
    "shapes-payloads": "rec --sampling=none -- $P/emit_shapes payloads",
    "shapes-underflow": "rec --sampling=none -- $P/emit_shapes underflow",
    "signals": "truncate -s 1M c; KILL_COUNTS=c rec --sampling=none -- $P/kill_target threads segv",
    "threads": "rec --sampling=none -- $P/emit_threads 60",
    "tracy": "rec --sampling=none -- $P/emit_tracy",
    "unannotated": f"rec {ALL} -- sh -c 'for i in 1 2 3; do /bin/true; done; ls /usr >/dev/null'",
    "waits": f"head -c 300000 /dev/urandom >f; rec {ALL} --off-cpu=min=500us -- "
             "$P/target_waits f",
}


def replacements(build, python, folder):
    """Texts that identify this machine, and their replacements; the longest first."""
    prefix = subprocess.run([python, "-c", "import sys; print(sys.base_prefix, sys.prefix)"],
                            capture_output=True, text=True, check=True).stdout.split()
    pairs = {str(SOURCE): "/src/annot", str(build): "/src/annot/build", str(folder): "/tmp/run",
             prefix[0]: "/opt/python", prefix[1]: "/opt/venv", socket.gethostname(): "host"}
    return sorted(pairs.items(), key=lambda pair: -len(pair[0]))


def made_plain(text, pairs):
    def plain(line):
        if not line.startswith("string "):
            return line
        for old, new in pairs:
            if len(old) > 3 or line.endswith(" " + old):  # short host names: whole words
                line = line.replace(old, new)
        return line

    return "\n".join(plain(line) for line in text.split("\n"))


def record(build, python, script, folder):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("ANNOT", "PYTHON"))}
    shared = Path(tempfile.mkdtemp(prefix="annot-oracle-", dir="/dev/shm"))
    environment.update(A=build.annot, B=build.folder, P=f"{build.folder}/tests/system", PY=python,
                       S=str(SOURCE), PYTHONPATH=build.pyannot, PYTHONDONTWRITEBYTECODE="1",
                       ANNOT_DIR=str(shared / "annot"))
    whole = "rec() { $A record -q -o run.annot \"$@\"; }\n" + script
    subprocess.run(["sh", "-c", whole], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, timeout=SECONDS, check=False)
    subprocess.run(["rm", "-rf", str(shared)], check=True)


def unlike(build, text, folder):
    """Names of outputs that differ if the text is written as a recording."""
    original = folder / outputs.FILE
    found = {}
    with tempfile.TemporaryDirectory(prefix="annot-oracle-") as other:
        found = outputs.all_lines(build, text, Path(other))
    recorded = outputs.lines_of_recording(build, text, original.parent)
    if recorded["dump"] != text.split("\n"):
        return ["dump"]
    return [name for name, lines in recorded.items() if lines != found[name] and not
            (name.startswith("report") and sorted(lines) == sorted(found[name]))]


def record_one(build, options, name):
    with tempfile.TemporaryDirectory(prefix="annot-oracle-") as work:
        folder = Path(work)
        record(build, options.python, RECORDINGS[name], folder)
        file = folder / outputs.FILE
        if not file.exists():
            return f"{name}: nothing was recorded"
        text = outputs.dump(build, file)
        different = unlike(build, text, folder)
        if different:
            return f"{name}: the text tells other things: {different}"
        plain = made_plain(text, replacements(build.folder, options.python, folder))
        left = set(re.findall(r"/(?:work|root|home)/[\w./-]*", plain))
        data = compare.compress(plain.encode())
        if len(data) > LARGEST_BYTES:
            return f"{name}: {len(data)} bytes, more than {LARGEST_BYTES}"
        if left:
            return f"{name}: paths of this machine: {sorted(left)[:5]}"
        if not options.check:
            (compare.CORPUS / f"{name}.txt.xz").write_bytes(data)
        print(f"ok {name}: {plain.count(chr(10))} lines, {len(data)} bytes", flush=True)
    return None


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_intermixed_args()
    build = outputs.build_of(options.build, options.python)
    failed = 0
    for name in options.names or RECORDINGS:
        message = record_one(build, options, name)
        failed += bool(message)
        if message:
            print(message, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
