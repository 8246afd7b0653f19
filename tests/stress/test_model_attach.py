# SPDX-License-Identifier: MIT
"""A random program that runs on its own while annot attaches to it repeatedly: each recording has,
for each thread, a contiguous part of the events it emitted, and no event twice.

    test_model_attach.py ANNOT PROGRAM CHECK

ANNOT_MODEL_STEPS (default 100,000) makes it longer, ANNOT_MODEL_SEED repeats a run.
"""

import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

STEPS = int(os.environ.get("ANNOT_MODEL_STEPS", "100000")) // 3
SEED = int(os.environ.get("ANNOT_MODEL_SEED", random.SystemRandom().randrange(1 << 32)))
PACE = "3000"  # microseconds for each 16 events
FILTER = ("--enable", "*:5", "--disable", "noise")
LEAST_EVENTS = 100  # in all recordings together: ensures that something is compared
STUCK_S = 120


def attach(annot, program, path, chance):
    """Make one recording of 50 to 300 ms. Return annot's message if it failed, or ""."""
    seconds = chance.uniform(0.05, 0.3)
    command = [annot, "attach", "-p", str(program.pid), "--sampling=none", "--pool-size", "64M",
               "-o", str(path), *FILTER]
    by_signal = chance.random() < 0.5
    if not by_signal:
        command += ["--duration", f"{int(seconds * 1000)}ms"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as attached:
        if by_signal:
            while not path.exists() and attached.poll() is None:
                time.sleep(0.005)
            time.sleep(seconds)
            attached.send_signal(signal.SIGINT)
        said, _ = attached.communicate(timeout=STUCK_S)
        return f"attach ended with {attached.returncode}: {said}" if attached.returncode else ""


def has_events(log):
    if not log.exists():
        return False
    with open(log, "rb") as opened:
        return any(opened.read(4))


def wait_for_events(program, log):
    """Wait for the first event: before it, the program may not have loaded libannot yet."""
    while program.poll() is None and not has_events(log):
        time.sleep(0.005)


def attach_while_it_runs(annot, program, folder):
    """Return the recordings, and an error text."""
    chance = random.Random(SEED)
    recordings = []
    wait_for_events(program, folder / "log")
    while program.poll() is None:
        path = folder / f"{len(recordings)}.annot"
        error = attach(annot, program, path, chance)
        if error and program.poll() is None:
            return recordings, error
        if not error:
            recordings.append(path)
        time.sleep(chance.uniform(0, 0.05))
    return recordings, "" if program.returncode == 0 else f"the program: {program.returncode}"


def verdict(check, log, recordings):
    done = subprocess.run([check, str(log), *map(str, recordings)], capture_output=True, text=True,
                          check=False)
    return done.returncode, (done.stdout + done.stderr).strip()


def notices_changes(check, folder, recordings):
    """Recordings in another order, and one recording twice, must be rejected."""
    changed = [[path for path in recordings for _ in range(2)]]
    if len(recordings) > 3:  # a slow machine makes few, and some may be empty
        changed.append(recordings[::-1])
    wrong = [paths for paths in changed if verdict(check, folder / "log", paths)[0] != 1]
    for paths in wrong:
        print(f"FAILED: went unnoticed: {[path.name for path in paths]}")
    return not wrong


def notices_what_is_missing(check, folder, recordings):
    """Change one event in each chunk of the logs (for a part: inside it)."""
    size, head, entries = 16 + 255 * 24, 4096, 255
    with open(folder / "log", "r+b") as log:
        count = int.from_bytes(log.read(4), "little")
        for at in range(head, head + count * size, size):
            place = at + 16 + 24 * (entries // 2)
            log.seek(place)
            first = log.read(1)[0]
            log.seek(place)
            log.write(bytes([first ^ 1]))
    code, said = verdict(check, folder / "log", recordings)
    if code != 1:
        print(f"FAILED: planted differences went unnoticed: {said}")
    return code == 1


def compare(check, folder, recordings):
    code, said = verdict(check, folder / "log", recordings)
    print(f"{'FAILED' if code else 'passed'}: {said}")
    if code:
        return False
    if int(said.split()[0]) < LEAST_EVENTS:
        print("FAILED: the recordings have nothing to compare")
        return False
    return (notices_changes(check, folder, recordings) and
            notices_what_is_missing(check, folder, recordings))


def record(annot, program, folder):
    """Return the recordings of one run of the program, and an error text."""
    with subprocess.Popen([program, str(folder / "log"), str(SEED), str(STEPS)],
                          env=dict(os.environ, MODEL_PACE=PACE)) as running:
        try:
            return attach_while_it_runs(annot, running, folder)
        finally:
            if running.poll() is None:
                running.kill()


def run(annot, program, check, folder):
    recordings, error = record(annot, program, folder)
    if error:
        print(f"FAILED: {error}")
    if not error and compare(check, folder, recordings):
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
