# SPDX-License-Identifier: MIT
"""Programs that wait for a block: what comes back to them in time."""

from harness import case, check, main, program

TRIES = 10
COUNT = 20000


def recorded(home):
    """Of the marks of a program that has one block of sixteen left to fill."""
    result = home.record(program("emit_held"), 15, COUNT,
                         options=["--no-sample", "--force", "--policy", "wait",
                                  "--pool-size", "128K"])
    result.ok()
    return len(home.dump(result.path).kind("mark"))


@case
def last_free_block_comes_back_while_the_program_waits(home):
    counts = []
    while len(counts) < TRIES and max(counts, default=0) < COUNT / 2:
        counts.append(recorded(home))  # again, if this machine stopped annot for 100 ms
    check(max(counts) >= COUNT / 2, f"{counts} marks of {COUNT} arrived")


if __name__ == "__main__":
    main()
