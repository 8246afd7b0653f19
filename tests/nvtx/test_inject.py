# SPDX-License-Identifier: MIT
"""annot attach --inject: records a program that was started without preparation, and the program
continues normally. If it is not safe, annot refuses with a reason and changes nothing."""

import ctypes
import os
import pathlib
import platform
import signal
import subprocess
import sys
import time

from asked import Asked, Attached, attach_case, wait_until
from harness import PROGRAMS, Skip, check, equal, main, needs_root, program
from ledger import expected, ranges

if platform.machine() != "x86_64":
    print("only on x86-64")
    sys.exit(77)

LIBRARY = os.path.realpath(os.environ["ANNOT_INJECT"])


def has_library(pid):
    return "libannot-inject.so" in pathlib.Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")


def inject(home, asked):
    return Attached(home, [asked.pid], "--sampling=none", "--inject")


def refused(home, pid, *reason):
    result = home.annot("attach", "-p", pid, "--sampling=none", "--inject", "--duration", "1s")
    equal(result.status, 1, f"status of annot: {result.err_text}")
    check(all(word in result.err_text for word in reason), result.err_text)
    check(not has_library(pid), "the library is in it all the same")


@attach_case
def recorded_is_what_was_called(home):
    asked = Asked(home, program("nvtx_asked"))
    attached = inject(home, asked)
    asked.ask("steps 5", "threads 3 5", "fork 5")
    message = attached.stop()
    check("is in it now" in message and "stay silent" in message, message)
    equal(ranges(home, attached.path), expected(25), "what was recorded")
    info = home.info(attached.path)
    check("had called NVTX or ITT before are not recorded" in info, info)
    asked.ask("steps 3")
    again = Attached(home, [asked.pid], "--sampling=none", "--inject")
    asked.ask("steps 4")
    check("in it already" in again.stop(), "the message of the second time")
    equal(ranges(home, again.path), expected(4), "what was recorded the second time")
    asked.end()


@attach_case
def images_that_called_before_stay_silent_and_that_is_said(home):
    asked = Asked(home, program("nvtx_asked"))
    asked.ask("steps 3")
    attached = inject(home, asked)
    asked.ask("steps 5")
    message = attached.stop()
    check("stay silent" in message, message)
    equal(ranges(home, attached.path), {}, "what was recorded")
    asked.end()


@attach_case
def thread_that_waits_in_read_goes_on_waiting(home):
    asked = Asked(home, program("nvtx_asked"))
    asked.ask("wait")
    attached = inject(home, asked)
    asked.ask("steps 5")
    equal(asked.ask("woken"), ["read awake"], "what the thread got")
    attached.stop()
    equal(ranges(home, attached.path), expected(5), "what was recorded")
    asked.end()


def send(asked, line):
    asked.process.stdin.write(line.encode() + b"\n")
    asked.process.stdin.flush()


@attach_case
def wait_that_a_stop_would_end_is_made_again(home):
    asked = Asked(home, program("nvtx_asked"))
    send(asked, "epoll")
    wait_until(lambda: "epoll" in pathlib.Path(f"/proc/{asked.pid}/wchan").read_text() or
               pathlib.Path(f"/proc/{asked.pid}/syscall").read_text().split()[0] in ("232", "281"),
               "the program waits")
    attached = inject(home, asked)
    send(asked, "steps 5")
    equal(asked.answer(), ["epoll 1 0"], "what epoll_wait returned")
    equal(asked.answer(), [], "the answer to the steps")
    attached.stop()
    equal(ranges(home, attached.path), expected(5), "what was recorded")
    asked.end()


@attach_case
def results_of_a_program_that_computes_are_the_same(home):
    results = set()
    for injects in (False, True, True, True):
        asked = Asked(home, program("nvtx_asked"))
        send(asked, "burn 600")
        time.sleep(0.1)
        attached = inject(home, asked) if injects else None
        results.update(asked.answer())
        if attached:
            asked.ask("steps 5")
            attached.stop()
            equal(ranges(home, attached.path), expected(5), "what was recorded")
        asked.end()
    equal(len(results), 1, f"how many different results: {results}")
    check(results.pop().startswith("same 1"), "a result changed")


@attach_case
def program_that_only_allocates_is_entered_between(home):
    """With several threads, and with a single thread."""
    for threads in (3, 0):
        asked = Asked(home, program("nvtx_asked"))
        send(asked, f"busy {threads} 1500")
        time.sleep(0.1)
        attached = inject(home, asked)
        equal(asked.answer(), ["wrong 0"], "what came out")
        asked.ask("steps 5")
        attached.stop()
        equal(ranges(home, attached.path), expected(5), "what was recorded")
        asked.end()


PYTHON = """
import sys, threading, time
def work(results, index):
    text = []
    for i in range(200000):
        text.append(str(i * 3))
        if len(text) > 100:
            text.clear()
    results[index] = len(text)
print("ok", flush=True)
for line in sys.stdin:
    results = [None] * 3
    threads = [threading.Thread(target=work, args=(results, i)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(results)
    print("ok", flush=True)
"""


@attach_case
def interpreter_goes_on(home):
    asked = Asked(home, sys.executable, "-c", PYTHON)
    before = asked.ask("work")
    send(asked, "work")
    result = home.annot("attach", "-p", asked.pid, "--inject", "--off-cpu=none", "--duration",
                        "300ms", "-o", home.work / "python.annot")
    check("is in it now" in result.err_text, result.err_text)
    equal(asked.answer(), before, "what the threads found")
    check(has_library(asked.pid), "the library")
    asked.end()


# ---- Refused ----


@attach_case
def static_program(home):
    if not (PROGRAMS / "nvtx_no_loader").exists():
        raise Skip("no static C library")
    asked = Asked(home, program("nvtx_no_loader"))
    refused(home, asked.pid, "linked statically")
    asked.end()


@attach_case
def stopped_program(home):
    asked = Asked(home, program("nvtx_asked"))
    asked.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: pathlib.Path(f"/proc/{asked.pid}/stat").read_text().split()[2] == "T",
               "it stops")
    refused(home, asked.pid, "it is stopped")
    asked.process.send_signal(signal.SIGCONT)
    asked.ask("steps 1")
    asked.end()


@attach_case
def program_with_a_filter_of_system_calls(home):
    def set_filter():
        class Program(ctypes.Structure):
            _fields_ = [("count", ctypes.c_ushort), ("rules", ctypes.c_void_p)]
        rule = ctypes.create_string_buffer(b"\x06\0\0\0\0\0\xff\x7f")  # return ALLOW
        prctl = ctypes.CDLL(None).prctl
        prctl(38, 1, 0, 0, 0)
        if prctl(22, 2, ctypes.byref(Program(1, ctypes.addressof(rule)))) != 0:
            os._exit(1)

    asked = Asked(home, program("nvtx_asked"), preexec_fn=set_filter)
    refused(home, asked.pid, "seccomp")
    asked.ask("steps 1")
    asked.end()


@attach_case
def program_that_is_debugged(home):
    """A child of the test traces the program, as a debugger would."""
    asked = Asked(home, program("nvtx_asked"))
    debugger = subprocess.Popen(
        [sys.executable, "-c", "import ctypes, sys, time\n"
         "assert ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0\n"
         "print('traces', flush=True)\ntime.sleep(60)", str(asked.pid)], stdout=subprocess.PIPE)
    equal(debugger.stdout.readline(), b"traces\n", "the debugger")
    refused(home, asked.pid, f"process {debugger.pid} debugs it")
    debugger.kill()
    debugger.wait()
    debugger.stdout.close()
    asked.ask("steps 1")
    asked.end()


@attach_case
@needs_root
def program_that_sees_other_files(home):
    script = f'mount -t tmpfs none {os.path.dirname(LIBRARY)} && exec "$0"'
    try:
        asked = Asked(home, "unshare", "-m", "sh", "-c", script, program("nvtx_asked"))
    except Exception as error:
        raise Skip(f"no mount namespaces here: {error}") from error
    refused(home, asked.pid, "it does not see", "libannot-inject.so")
    asked.end()


@attach_case
def no_such_process(home):
    result = home.annot("attach", "--inject", "--sampling=none", "4194303")
    result.complains(1, "there is no process")


if __name__ == "__main__":
    main()
