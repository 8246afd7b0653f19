#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""More processes than annot has descriptors for, dead ones with an unknown status, ones out of
sight, and ones that take long to end."""

import json
import os
import resource
import subprocess
import time

from harness import ANNOT, Skip, case, check, equal, main, needs_root, program

FILES = 48


def limit_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


@case
def more_living_processes_than_descriptors(home):
    script = f"for i in $(seq {2 * FILES}); do {program('emit_ticks')} 700 >$i.log & done; wait"
    result = home.record("sh", "-c", script, preexec_fn=limit_files).ok()
    dump = home.dump(result.path).whole()
    equal(len(dump.processes), 2 * FILES, "processes")
    check("files may be open" in dump.sampling["reason"], f"why without samples: {dump.sampling}")
    accounts = [log.read_text().splitlines() for log in home.work.glob("*.log")]
    equal(len(dump.kind("push")), sum(len(lines) for lines in accounts), "ranges")
    equal(len(dump.threads), 2 * FILES, "threads")


@case
def the_file_does_not_grow_while_nothing_happens(home):
    sizes = home.work / "sizes"
    look = f"stat -c %s *.annot >>{sizes}; ls /proc/$PPID/fd | wc -l >>{sizes}"
    script = (f"for i in $(seq 40); do {program('emit_ticks')} 1 >/dev/null; done; "
              f"sleep 4; {look}; sleep 2.5; {look}")
    environment = dict(home.environment, LD_PRELOAD=program("libold_kernel.so"))
    result = home.record("sh", "-c", script, options=["--sampling=none"], env=environment).ok()
    equal(len(home.dump(result.path).whole().processes), 40, "processes")
    before, files, after, _ = (int(word) for word in sizes.read_text().split())
    equal(after, before, "bytes of the recording two seconds later")
    check(files < 20, f"{files} descriptors are open after 40 processes have ended")


@case
def segment_that_was_seen_half_made(home):
    environment = dict(home.environment, LD_PRELOAD=program("libslow_proc.so"))
    script = 3 * f"{program('emit_late')}; " + "sleep 0.3"
    result = home.record("sh", "-c", script, env=environment).ok()
    equal(len(home.dump(result.path).whole().kind("push")), 3, "ranges")


@case
def no_inotify_instance_is_left(home):
    limit = "/proc/sys/user/max_inotify_instances"
    unshare = ["unshare", "--user", "--map-root-user", "sh", "-c", f'echo 0 >{limit} && exec "$@"',
               "sh"]
    if home.run(*unshare, "true").status:
        raise Skip("cannot make a user namespace with a limit of its own")
    path = home.work / "x.annot"
    home.run(*unshare, ANNOT, "record", "-o", path, "--", "sh", "-c",
             3 * f"{program('emit_ticks')} 5; ").ok()
    equal(len(home.dump(path).whole().kind("push")), 6, "ranges")


@case
@needs_root
def a_process_that_annot_cannot_see(home):
    """annot is in a separate pid namespace; the program outside lives for two of its looks."""
    path, session = home.work / "x.annot", home.work / "session"
    command = f"echo $ANNOT_SESSION >{session}.part; mv {session}.part {session}; sleep 4"
    annot = home.start("unshare", "--pid", "--fork", "--mount-proc", ANNOT, "record", "-o", path,
                       "--", "sh", "-c", command, stderr=subprocess.DEVNULL)
    while not session.exists():
        check(annot.poll() is None, "annot has ended")
        time.sleep(0.01)
    environment = dict(home.environment, ANNOT_SESSION=session.read_text().strip())
    outside = home.run(program("emit_ticks"), "2500", env=environment).ok()
    equal(annot.wait(20), 0, "annot's status")
    dump = home.dump(path).whole()
    equal(len(dump.kind("push")), len(outside.out.splitlines()), "ranges")


@case
def thousands_of_short_processes(home):
    count, stat = 5000, home.work / "stat"
    home.environment.pop("MALLOC_PERTURB_", None)  # it would touch memory that annot does not
    result = home.record("sh", "-c", f"for i in $(seq {count}); do {program('emit_ticks')} 0; done "
                         f">/dev/null; cat /proc/$PPID/stat >{stat}",
                         options=["--sampling=none"]).ok()
    fields = stat.read_text().rsplit(")", 1)[1].split()
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    print(f"{count} processes: {seconds} s of CPU, {result.own_kib} KiB of memory")
    equal(len(home.dump(result.path).whole().processes), count, "processes")
    # 14 KiB for each that has ended but is not yet read to its end, 0.5 KiB for one that is.
    check(result.own_kib < 40_000, f"annot took {result.own_kib} KiB")


@case
def processes_that_leave_their_processor_late(home):
    """The last record of a thread comes when it leaves its CPU for good. With many runnable
    threads, that is long after the kernel's report of the process's end, and annot has dropped the
    process."""
    child = "for k in $(seq 12); do x=$(true; echo $k | cat); done"
    path = home.record("sh", "-c", f"for i in $(seq 12); do ({child}) & done; wait").ok().path
    sampling = json.loads(home.annot("info", "--json", path).ok().out)["sampling"]
    if sampling["way"] != "eBPF":
        raise Skip(f"no sampling by eBPF here: {sampling}")
    equal(sampling["lost"], {}, "what sampling has missed")


@case
def thousands_of_short_threads(home):
    count = 80_000
    result = home.record(program("emit_threads"), count, options=("--pool-size", "64M")).ok()
    dump = home.dump(result.path)
    # A block for each thread: on a busy machine even this pool may run out, which is counted.
    equal(sum(e["kind"] != "lost" for e in dump.events) + dump.lost(), count, "events and losses")
    check(dump.lost() < count / 2, f"{dump.lost()} of {count} events were lost")
    print(f"{count} threads: {result.own_kib} KiB of memory")


main()
