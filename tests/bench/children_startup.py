# SPDX-License-Identifier: MIT
"""CPU time of empty children, under the annot record that runs this, in turn with the same without
annot's additions to the environment. Prints microseconds: PYTHON's median with and without, and
those of /bin/true.

    annot record -o FILE -- PYTHON children_startup.py ROUNDS
"""

import os
import statistics
import sys

ADDED = ("LD_PRELOAD", "ANNOT_PYTHON", "ANNOT_PYTHON_PATH")


def cpu_us(words, environment):
    pid = os.posix_spawn(words[0], words, environment)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"{words} ended with {status}")
    return (usage.ru_utime + usage.ru_stime) * 1e6


def main():
    with_annot = dict(os.environ)
    without = {name: value for name, value in with_annot.items() if name not in ADDED}
    if "LD_PRELOAD" not in with_annot:
        sys.exit("nothing is preloaded: is pyannot built?")
    for words in ([sys.executable, "-c", "pass"], ["/bin/true"]):
        times = {True: [], False: []}
        for round_number in range(2 * int(sys.argv[1])):
            observed = round_number % 2 == 0
            times[observed].append(cpu_us(words, with_annot if observed else without))
        print(statistics.median(times[True]), statistics.median(times[False]),
              min(times[True]), min(times[False]))


if __name__ == "__main__":
    main()
