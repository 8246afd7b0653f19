# SPDX-License-Identifier: MIT
"""Programs that wait for a block: they get freed blocks in time. And annot, which sleeps until
there is data to carry."""

from harness import case, check, main, program

TRIES = 10
COUNT = 20000
LOOKS_MAX = 120  # a second; one each 16 ms are 63


def recorded(home):
    """Of the marks of a program that has one block of sixteen left to fill."""
    result = home.record(program("emit_held"), 15, COUNT,
                         options=["--sampling=none", "--force", "--policy", "wait",
                                  "--pool-size", "128K"])
    result.ok()
    return len(home.dump(result.path).kind("mark"))


@case
def last_free_block_comes_back_while_the_program_waits(home):
    counts = []
    while len(counts) < TRIES and max(counts, default=0) < COUNT / 2:
        counts.append(recorded(home))  # again, if this machine stopped annot for 100 ms
    check(max(counts) >= COUNT / 2, f"{counts} marks of {COUNT} arrived")


@case
def slow_programs_are_looked_at_seldom(home):
    """Half a block is filled each millisecond, of a pool of 2,048. A busy machine only reduces the
    number of looks: each is a wait that ends."""
    waits = "echo $(sed -n 's/^voluntary_ctxt_switches://p' /proc/$PPID/status) $(date +%s%N)"
    result = home.record("sh", "-c", f"{waits}; {program('emit_crowd')} 1 1 200000 500000; {waits}",
                         options=["--sampling=none"]).ok()
    home.dump(result.path).whole()
    lines = [line.split() for line in result.out.decode().splitlines()]
    (before, begin), (after, end) = ([int(word) for word in lines[i]] for i in (0, -1))
    rate = (after - before) / (end - begin) * 1e9
    check(rate < LOOKS_MAX, f"annot woke up {rate:.0f} times a second")


if __name__ == "__main__":
    main()
