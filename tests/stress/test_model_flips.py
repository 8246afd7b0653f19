# SPDX-License-Identifier: MIT
"""A random program with a filter that changes while it runs: the recording has all events that were
wanted throughout, no others, and an end exactly for each recorded begin.

    test_model_flips.py ANNOT PROGRAM CHECK

ANNOT_MODEL_STEPS (default 100,000) makes it longer, ANNOT_MODEL_SEED repeats a run.
"""

import fnmatch
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

STEPS = int(os.environ.get("ANNOT_MODEL_STEPS", "100000")) // 3
SEED = int(os.environ.get("ANNOT_MODEL_SEED", random.SystemRandom().randrange(1 << 32)))
PACE = "2000"  # microseconds for each 16 events
PLACES = ["default", "io", "io/reads", "noise", "noise/reads", "größe", "größe/reads"]
PATTERNS = ["*", "default", "io", "io/reads", "n*", "größe", "gr*/reads"]
LEAST_EVENTS, LEAST_FILTERS = 100, 3


def level_of(rules, place):
    """Return the highest wanted level of a place, or -1 if no level is wanted."""
    level = 7 if not rules or rules[0][1] < 0 else -1
    for pattern, wanted in rules:
        name = place if "/" in pattern else place.split("/")[0]
        level = wanted if fnmatch.fnmatchcase(name, pattern) else level
    return level


def random_rules(chance):
    patterns = chance.sample(PATTERNS, chance.randrange(1, 5))
    return [(pattern, chance.choice([-1, chance.randrange(8)])) for pattern in patterns]


def options(rules):
    return [word for pattern, level in rules
            for word in (("--disable", pattern) if level < 0 else
                         ("--enable", f"{pattern}:{level}"))]


def line(begin, end, rules):
    return f"{begin} {end} " + " ".join(str(level_of(rules, place)) for place in PLACES) + "\n"


def flip_while_it_runs(annot, recorder, folder):
    """Return an error text."""
    chance = random.Random(SEED)
    with open(folder / "filters", "w", encoding="utf-8") as filters:
        filters.write(line(0, 0, []))
        while recorder.poll() is None:
            rules = random_rules(chance)
            begin = time.monotonic_ns()
            done = subprocess.run([annot, "set", "--reset", *options(rules),
                                   str(folder / "recording.annot")],
                                  capture_output=True, text=True, check=False)
            # It fails before the recording exists, and when it ends.
            if done.returncode == 0:
                filters.write(line(begin, time.monotonic_ns(), rules))
            time.sleep(chance.uniform(0.01, 0.1))
    return "" if recorder.returncode == 0 else f"annot record ended with {recorder.returncode}"


def verdict(check, folder):
    done = subprocess.run([check, *(str(folder / name) for name in
                                    ("log", "recording.annot", "filters"))],
                          capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


def change_log(path):
    """Flip one bit of the first event of each chunk (in some chunks it is an unwanted event)."""
    size, head = 16 + 255 * 24, 4096
    with open(path, "r+b") as log:
        count = int.from_bytes(log.read(4), "little")
        for at in range(head + 16, head + count * size, size):
            log.seek(at)
            first = log.read(1)[0]
            log.seek(at)
            log.write(bytes([first ^ 1]))


def notices_changes(check, folder):
    """Filters that were never in force, and another log, must be rejected."""
    filters = (folder / "filters").read_text(encoding="utf-8")
    (folder / "filters").write_text(line(0, 0, []), encoding="utf-8")
    all_wanted = verdict(check, folder)[0]
    (folder / "filters").write_text(line(0, 0, [("*", -1)]), encoding="utf-8")
    none_wanted = verdict(check, folder)[0]
    (folder / "filters").write_text(filters, encoding="utf-8")
    change_log(folder / "log")
    codes = all_wanted, none_wanted, verdict(check, folder)[0]
    if codes != (1, 1, 1):
        print(f"FAILED: planted differences went unnoticed: {codes}")
    return codes == (1, 1, 1)


def compare(check, folder):
    code, said = verdict(check, folder)
    print(f"{'FAILED' if code else 'passed'}: {said}")
    if code:
        return False
    words = said.split()
    if int(words[0]) < LEAST_EVENTS or int(words[-2]) < LEAST_FILTERS:
        print("FAILED: too little to compare")
        return False
    return notices_changes(check, folder)


def run(annot, program, check, folder):
    command = [annot, "record", "-o", str(folder / "recording.annot"), "--sampling=none",
               "--pool-size", "64M", "--", program, str(folder / "log"), str(SEED), str(STEPS)]
    environment = dict(os.environ, MODEL_PACE=PACE, MODEL_LOG_ALL="1")
    with subprocess.Popen(command, env=environment) as recorder:
        error = flip_while_it_runs(annot, recorder, folder)
    if error:
        print(f"FAILED: {error}")
    if not error and compare(check, folder):
        return True
    print(f"again: ANNOT_MODEL_STEPS={STEPS * 3} ANNOT_MODEL_SEED={SEED}")
    if os.environ.get("ANNOT_MODEL_KEEP"):
        shutil.copytree(folder, os.environ["ANNOT_MODEL_KEEP"], dirs_exist_ok=True)
    return False


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annot-model-", dir="/dev/shm"))
    os.environ["ANNOT_DIR"] = str(folder / "shared")
    try:
        passed = run(*(os.path.abspath(path) for path in sys.argv[1:4]), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{int(passed)} passed, {int(not passed)} failed, 0 skipped")
    return not passed


if __name__ == "__main__":
    sys.exit(main())
