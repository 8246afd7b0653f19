# SPDX-License-Identifier: MIT
"""Jobs started by `annot run` or `annot env` are dormant until `annot attach` records them. The
recording has the calls made meanwhile."""

import json
import os
import shutil
import subprocess
import sys
import time

from asked import Asked, Attached, attach_case
from harness import ANNOT, Skip, case, check, equal, main, program
from ledger import expected, ranges

NOT_SET = "{} has calls of {}, but {} was not set when the program began"
LOADERS = {"NVTX": "NVTX_INJECTION64_PATH"}
if os.environ["ANNOT_HAVE_ITT"] == "1":
    LOADERS["ITT"] = "INTEL_LIBITTNOTIFY64"

PYTHON = """
import gc, sys
gc.disable()
print("ok", flush=True)
for line in sys.stdin:
    for _ in range(int(line.split()[1])):
        gc.collect()
    print("ok", flush=True)
"""


def check_job(home, asked):
    """Recording twice: calls between the recordings are not recorded."""
    asked.ask("steps 3", "threads 2 3")
    for count in (5, 7):
        attached = Attached(home, [asked.pid], "--sampling=none")
        asked.ask(f"steps {count}", f"threads 3 {count}", f"fork {count}")
        attached.stop()
        equal(ranges(home, attached.path), expected(5 * count), "what was recorded")
        asked.ask("steps 11")
    asked.end()


@attach_case
def job_that_was_run(home):
    check_job(home, Asked(home, ANNOT, "run", "--", program("nvtx_asked")))


@attach_case
def job_of_a_shell_with_the_variables(home):
    for way in ('eval $("$ANNOT" env)', 'eval "$("$ANNOT" env)"'):
        home.environment["ANNOT"] = ANNOT
        check_job(home, Asked(home, "sh", "-c", f'{way}; exec "$0"', program("nvtx_asked")))


@attach_case
def job_that_was_not_run_so_stays_silent(home):
    asked = Asked(home, program("nvtx_asked"))
    asked.ask("steps 3")
    result = home.annot("attach", "-p", asked.pid, "--sampling=none")
    equal(result.status, 1, "the status of annot attach")
    check("libannot is not in it" in result.err_text, result.err_text)
    asked.end()


@attach_case
def environment_that_leads_nowhere_is_said(home):
    for value, words in (("/no/such/libannot-inject.so", "which is not there"),
                         ("/proc/self/exe", "names another tool")):
        home.environment["NVTX_INJECTION64_PATH"] = value
        asked = Asked(home, program("nvtx_asked"))
        result = home.annot("attach", "-p", asked.pid, "--duration", "200ms", "-o",
                            home.work / f"{asked.pid}.annot")
        check(value in result.err_text and words in result.err_text, result.err_text)
        info = home.info(home.work / f"{asked.pid}.annot")
        check(value in info and words in info, info)
        asked.end()
    del home.environment["NVTX_INJECTION64_PATH"]


@attach_case
def doctor_says_what_cannot_be_loaded(home):
    for variable in LOADERS.values():
        for value, words in (("/no/such/libannot-inject.so", "which cannot be read"),
                             ("/no/such/tool.so", "which cannot be read"),
                             ("/etc/passwd", "which cannot be loaded: /etc/passwd: "),
                             (program("nvtx-room.so"), "undefined symbol")):
            home.environment[variable] = str(value)
            doctor = home.annot("doctor").out.decode()
            check(f"{variable} names {value}" in " ".join(doctor.split()), doctor)
            check(words in " ".join(doctor.split()), doctor)
        del home.environment[variable]
    for room, is_said in ((512, True), (2048, False)):
        home.environment["GLIBC_TUNABLES"] = f"glibc.rtld.optional_static_tls={room}"
        doctor = " ".join(home.annot("doctor").out.decode().split())
        equal("GLIBC_TUNABLES leaves less room" in doctor, is_said, doctor)


@attach_case
def annot_without_its_library_says_so(home):
    annot = home.work / "annot"
    shutil.copy(ANNOT, annot)
    path = home.work / "without.annot"
    for option in ([], ["--no-nvtx"]):
        result = home.run(annot, "record", "--force", *option, "-o", path, "--",
                          program("nvtx_asked"), stdin=b"steps 3\nbusy 0 500\n").ok()
        for text in result.err_text, home.info(path):
            equal("has calls of NVTX, but annot was built without it" in " ".join(text.split()),
                  not option, text)


@attach_case
def calls_that_nobody_listens_to_are_said(home):
    asked = Asked(home, program("nvtx_asked"))
    asked.ask("steps 3")
    path = home.work / "silent.annot"
    result = home.annot("attach", "-p", asked.pid, "--duration", "200ms", "-o", path).ok()
    info = home.info(path)
    for name, variable in LOADERS.items():
        words = NOT_SET.format("nvtx_asked", name, variable)
        check(words in result.err_text, result.err_text)
        check(words in info, info)
    asked.end()


@attach_case
def only_what_has_calls_is_said_to_have_some(home):
    asked = Asked(home, "sh", "-c", "echo ok; read line")
    result = home.annot("attach", "-p", asked.pid, "--duration", "200ms", "-o",
                        home.work / "sh.annot").ok()
    check("has calls of" not in result.err_text, result.err_text)
    asked.kill()


@attach_case
def images_that_called_before_the_library_came_are_said(home):
    asked = Asked(home, program("nvtx_asked"))
    Attached(home, [asked.pid], "--sampling=none", "--inject").stop()
    again = Attached(home, [asked.pid], "--sampling=none")
    message, words = again.stop(), "was loaded while the program ran: what had called NVTX before"
    check(words in message, message)
    check(words in home.info(again.path), "the recording does not say so")
    asked.end()


def exhausted(home, *command):
    """A program that has used up the static TLS reserved for libraries loaded later."""
    copies = home.work / "copies"
    copies.mkdir(exist_ok=True)
    for i in range(100):
        shutil.copy(program("nvtx-room.so"), copies / f"{i}.so")
    home.environment["TLS_COPIES"] = str(copies)
    asked = Asked(home, *command, program("nvtx_asked"))
    answer = asked.ask("exhaust")[0]
    count = int(answer.partition(":")[0])
    if "static TLS block" not in answer or count < 8:
        raise Skip(f"another C library: {answer}")
    return asked, count


@attach_case
def program_without_room_for_threads_is_told(home):
    asked, _ = exhausted(home)
    home.annot("attach", "-p", asked.pid, "--sampling=none", "--inject", "--duration",
               "1s").complains(
        1, "static TLS block")
    asked.end()
    # with the original room: silent, as loaders are
    home.environment["GLIBC_TUNABLES"] = "glibc.rtld.optional_static_tls=512"
    asked, count = exhausted(home, ANNOT, "run", "--")
    asked.ask("steps 3")
    result = home.annot("attach", "-p", asked.pid, "--duration", "200ms", "-v", "-o",
                        home.work / "none.annot")
    check("cannot load it" in result.err_text, result.err_text)
    asked.end()


@attach_case
def program_that_needs_all_room_for_threads_is_recorded(home):
    bare, count = exhausted(home)
    bare.end()
    path = home.work / "room.annot"
    for i in range(count, 100):
        os.unlink(home.work / "copies" / f"{i}.so")
    asked = Asked(home, ANNOT, "record", "-o", path, "--sampling=none", "--", program("nvtx_asked"))
    answer = asked.ask("exhaust")[0]
    equal(int(answer.partition(":")[0]), count, "how many libraries were loaded")
    asked.ask("steps 5")
    asked.end()
    equal(ranges(home, path), expected(5), "what was recorded")


def info_of_a_process_that_lives(home, *command):
    """The check is made after a tenth of a second."""
    path = home.work / "silent.annot"
    asked = Asked(home, ANNOT, "record", "--force", "-o", path, "--sampling=none", "--", *command)
    asked.ask("steps 3")
    time.sleep(1)
    asked.end()
    return path, home.info(path)


@case
def program_that_got_no_variable_is_said(home):
    _, info = info_of_a_process_that_lives(home, program("nvtx_asked"))
    check("has calls of" not in info, info)
    unset = [word for variable in LOADERS.values() for word in ("-u", variable)]
    path, info = info_of_a_process_that_lives(home, "env", *unset, program("nvtx_asked"))
    equal(ranges(home, path), {}, "what was recorded")
    for name, variable in LOADERS.items():
        words = f"nvtx_asked has calls of {name}, but {variable} was not set when it began"
        check(words in info, info)
    other = [f"{variable}=/no/such/tool.so" for variable in LOADERS.values()]
    _, info = info_of_a_process_that_lives(home, "env", *other, program("nvtx_asked"))
    for name, variable in LOADERS.items():
        check(f"calls of {name}, but {variable} named another tool when it began" in info, info)


@case
def program_that_took_the_room_for_threads_away_is_said(home):
    path = home.work / "no-room.annot"
    asked, _ = exhausted(home, ANNOT, "record", "-o", path, "--sampling=none", "--", "env",
                         "GLIBC_TUNABLES=glibc.malloc.tcache_count=7")
    asked.ask("steps 3")
    time.sleep(1)
    asked.end()
    equal(ranges(home, path), {}, "what was recorded")
    info = home.info(path)
    for name in LOADERS:
        check(f"nothing of {name} came" in info and "GLIBC_TUNABLES gives it no room" in info, info)


@attach_case
def python_of_a_job(home):
    if "ANNOT_PYANNOT" not in os.environ:
        raise Skip("there is no pyannot")
    home.environment["ANNOT_PYTHON"] = "gc"
    asked = Asked(home, ANNOT, "run", sys.executable, "-c", PYTHON)
    asked.ask("collect 2")
    attached = Attached(home, [asked.pid], "--sampling=none")
    asked.ask("collect 5")
    attached.stop()
    found = ranges(home, attached.path)
    equal(sum(found.values()), 5, f"collections of {found}")
    asked.end()


def variables(text, separator):
    return dict(line.split(separator, 1) for line in text.split("\0") if separator in line)


def environment(home, *command):
    return variables(home.run(*command).ok().out.decode(errors="surrogateescape"), "=")


DUMP = "import os; print(*(f'{k}={v}' for k, v in os.environ.items()), sep='\\0', end='')"


@attach_case
def variables_are_those_of_a_recording(home):
    recorded = json.loads(home.record(sys.executable, "-c",
                                      "import json, os; print(json.dumps(dict(os.environ)))",
                                      options=["--sampling=none"]).ok().out)
    job = environment(home, ANNOT, "run", "--gpu=off", "--", sys.executable, "-c", DUMP)
    recorded.pop("ANNOT_SESSION")
    recorded.pop("ANNOT_PLACE")
    for name in recorded.keys() | job.keys():
        equal(job.get(name), recorded.get(name), f"the variable {name}")
    check("NVTX_INJECTION64_PATH" in job, "no injection library")


@attach_case
def values_survive_the_shell(home):
    """The value is written without quotes: the shell splits it, and expands patterns to files."""
    for value in ("a  b", "a'b\"c", "*", "$HOME `id` \\ \\n", "two\nlines", "ö?[a-z]",
                  "tab\tbehind "):
        home.environment.update(NVTX_INJECTION64_PATH=f"/tools/{value}.so", ANNOT=ANNOT,
                                PYTHON=sys.executable, DUMP=DUMP)
        for way in ('eval $("$ANNOT" env)', 'eval "$("$ANNOT" env)"'):
            for shell in ("sh", "bash"):
                told = environment(home, shell, "-c", f'{way}; "$PYTHON" -c "$DUMP"')
                equal(told.get("ANNOT_NVTX_NEXT"), f"/tools/{value}.so", f"the value in {shell}")
        docker = home.annot("env", "--dockerfile")
        if "\n" in value:
            docker.complains(1, "ANNOT_NVTX_NEXT", "several lines")
        else:
            line = next(line for line in docker.ok().out.decode().splitlines()
                        if line.startswith("ENV ANNOT_NVTX_NEXT="))
            quoted = line.partition("=")[2]
            plain = quoted[1:-1].replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")
            equal(plain, f"/tools/{value}.so", "the value in a Dockerfile")


@attach_case
def nothing_of_annot_is_left_in_between(home):
    asked = Asked(home, ANNOT, "run", "--", program("nvtx_asked"))
    name = os.readlink(f"/proc/{asked.pid}/exe")
    equal(name, os.path.realpath(program("nvtx_asked")), "what runs under that number")
    asked.end()
    result = home.annot("run", "--", "sh", "-c", "exit 7")
    equal(result.status, 7, "the status of the command")
    home.annot("run", "--", "/no/such/program").complains(127, "not found")
    home.annot("run").complains(125, "missing")
    gone = subprocess.run([ANNOT, "run", "--gpu=off,nodes", "true"], capture_output=True)
    equal(gone.returncode, 125, "the status of a contradiction")


if __name__ == "__main__":
    main()
