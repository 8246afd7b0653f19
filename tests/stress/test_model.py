# SPDX-License-Identifier: MIT
"""Random programs with threads, forks and execs: the recording has exactly the events they emitted,
except those it counts as lost.

    test_model.py ANNOT PROGRAM CHECK

ANNOT_MODEL_STEPS (default 100,000) is the total number of events, ANNOT_MODEL_SEED repeats a run.
"""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

STEPS = int(os.environ.get("ANNOT_MODEL_STEPS", "100000"))
SEED = int(os.environ.get("ANNOT_MODEL_SEED", random.SystemRandom().randrange(1 << 32)))
FILTER = ("--enable", "*:5", "--disable", "noise")
# Small buffers sometimes lose events, or make programs wait. (In the modes that overwrite the
# oldest blocks, open ranges begin again from block headers, which differs from the log.)
RUNS = [("whole", ("--pool-size", "64M"), 2), ("sampled", ("--pool-size", "64M"), 4),
        ("small buffers", ("--sampling=none", "--pool-size", "128K"), 4),
        ("waiting", ("--sampling=none", "--pool-size", "128K", "--policy", "wait"), 4)]


def notices_a_change(check, folder):
    """Flip one bit of the log's first event."""
    with open(folder / "log", "r+b") as log:
        log.seek(4096 + 16)
        first = log.read(1)[0]
        log.seek(4096 + 16)
        log.write(bytes([first ^ 1]))
    done = subprocess.run([check, str(folder / "log"), str(folder / "recording.annot")],
                          capture_output=True, text=True, check=False)
    if done.returncode != 1:
        print(f"FAILED: a planted difference went unnoticed: {done.stdout}")
    return done.returncode == 1


def run(number, name, options, share):
    annot, program, check = (os.path.abspath(path) for path in sys.argv[1:4])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annot-model-", dir="/dev/shm"))
    environment = dict(os.environ, ANNOT_DIR=str(folder / "shared"))
    seed, steps = SEED + number, STEPS // share
    again = f"ANNOT_MODEL_STEPS={STEPS} ANNOT_MODEL_SEED={SEED}"
    try:
        command = [annot, "record", "-o", str(folder / "recording.annot"), *options, *FILTER, "--",
                   program, str(folder / "log"), str(seed), str(steps)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"FAILED {name}: {done.returncode}\n{done.stderr}\nagain: {again}")
            return False
        done = subprocess.run([check, str(folder / "log"), str(folder / "recording.annot")],
                              capture_output=True, text=True, check=False)
        print(f"{'FAILED' if done.returncode else 'passed'} {name}: {done.stdout.strip()}")
        if done.returncode:
            print(f"{done.stderr}\nagain: {again}")
            return False
        return number > 0 or notices_a_change(check, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    results = [run(number, *what) for number, what in enumerate(RUNS)]
    print(f"{results.count(True)} passed, {results.count(False)} failed, 0 skipped")
    return not all(results)


if __name__ == "__main__":
    sys.exit(main())
