#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run every test of a build folder and end with one line of counts.

    run.py BUILD            all suites, then those of the variants below
    run.py BUILD SUITE...   these suites, without variants
    --count "NAME: OUTCOME" also counts an earlier run: passed, failed, or skipped and why; or a
                            closing line of this script. Lines before it are repeated.
    --installed VENV        against the annot of a virtual environment (installed.py), without the
                            tests that run alone: they take most of the time, and measure
                            times, which do not depend on how annot was installed

Tests are meson's; each exits 0 (passed), 77 (skipped: the machine lacks something) or anything else
(failed: its output is printed here). A program of many cases ends with a line like "12 passed, 0
failed, 1 skipped" (pytest's closing line is accepted), and then its cases are counted. Reasons of
skips are printed. Exit status 1 if anything failed or no test ran.

Tests run in parallel; then, one at a time, tests that measure time, and concurrently with those, on
idle processors, tests of the variants that do not.

Tests of the suites in MACHINE observe real processes on a real clock, which a machine may stop for
a second. If few tests failed, those of them run once more, alone; one that passes then is
"unsteady": its first failure is printed and counted for investigation. A failure in any other suite
is final. Both are listed once more before the counts.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

# Other builds of the same source, inside BUILD: options of meson, and the suites worth the time:
# those that may run concurrently with tests of the main build, and those that may not. "large"
# tests take minutes there, and repeat the bytes of smaller tests.
VARIANTS = {
    "asan": (["-Db_sanitize=address,undefined", "-Db_lundef=false"],
             ["unit", "fuzz"], ["cli", "timed", "stress", "two-sided"]),
    "tsan": (["-Db_sanitize=thread", "-Db_lundef=false"], [], ["stress", "two-sided"]),
    "clang": (["-Dwerror=true"], ["headers"], []),
}
MACHINE = {"interpreters", "python", "sampling", "stress", "system", "timed", "two-sided"}
SECOND_TRIES = 8
# Many tests mostly wait. Those that measure time still run alone.
LANES = (os.cpu_count() or 1) + 2
# Timeouts are for hanging tests; a busy machine takes a multiple of the time of an idle one.
PATIENCE = 5
# Uses only idle processors, also with a scheduler that weighs sessions (autogroup).
STEP_BACK = ["sh", "-c",
             'echo 19 2>/dev/null >/proc/self/autogroup; exec chrt --idle 0 nice -n 19 "$@"', "sh"]
IN_BACKGROUND = ["setsid", "--wait", *STEP_BACK]
WRAPPER: list[str] = []  # of --installed
summary: list[str] = []  # "failed: TEST: first failed cases", "unsteady: ..."; before the counts
COMPILERS = {"clang": {"CC": "clang", "CXX": "clang++"}}
# Compiles in half the time of -O2 -g. Reports of sanitizers contain line numbers with -g1, too.
VARIANT_OPTIONS = ["-Dpython=disabled", "-Dman=disabled", "-Dtests=true", "--buildtype=plain",
                   "-Doptimization=1", "-Dc_args=-g1", "-Dcpp_args=-g1"]

REASON = re.compile(r"skipped:|^skipped ", re.IGNORECASE)
FAILURE = re.compile(r"^FAIL|^E  |^\s+\S+\.c:\d+: |Error: |^  killed by signal ")
COUNT = re.compile(r"(\d+) (passed|failed|skipped|unsteady|errors?)\b")
CLOSING = re.compile(r"\d+ (passed|failed|skipped|errors?)\b(, \d+ \w+)*( in [\d.]+s.*)?")


def build_variant(build: pathlib.Path, name: str) -> pathlib.Path:
    """Configure (once) and build the tests of a variant, concurrently with other tests."""
    folder = build / name
    environment = dict(os.environ, **COMPILERS.get(name, {}))
    options, beside, after = VARIANTS[name]
    if not (folder / "build.ninja").exists():
        subprocess.run([*IN_BACKGROUND, "meson", "setup", str(folder), *VARIANT_OPTIONS, *options],
                       env=environment, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        [*IN_BACKGROUND, "ninja", "-C", str(folder), "--quiet", f"-j{os.cpu_count() or 1}",
         *needed(folder, {*beside, *after})],
        check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"tests/run.py: the variant {name} does not build:\n{done.stdout}")
    print(done.stdout, end="", flush=True)
    return folder


def introspected(folder: pathlib.Path) -> dict:
    return json.loads(subprocess.run(
        ["meson", "introspect", "--tests", "--targets", str(folder)], check=True,
        stdout=subprocess.PIPE).stdout)


def suites_of(test: dict) -> set[str]:
    return {suite.split(":")[-1] for suite in test["suite"]}


def needed(folder: pathlib.Path, suites: set[str]) -> list[str]:
    """The outputs that tests of these suites depend on, for ninja."""
    told = introspected(folder)
    ids = {target for test in told["tests"] for target in test["depends"]
           if suites & suites_of(test)}
    files = [file for target in told["targets"] if target["id"] in ids
             for file in target["filename"]]
    return sorted(os.path.relpath(file, folder.resolve()) for file in files)


def meson_test(build: pathlib.Path, selection: list[str], log_name: str,
               is_background: bool = False) -> list[dict]:
    """Run meson's tests; one dictionary per test, as meson logs it."""
    patience = str(4 * PATIENCE if is_background else PATIENCE)
    environment = dict(os.environ, ANNOT_TEST_PYTHON=sys.executable, TEST_PATIENCE=patience)
    command = ["meson", "test", "-C", str(build), "--no-rebuild", "--print-errorlogs",
               f"--logbase={log_name}", f"--timeout-multiplier={patience}"]
    if is_background:  # meson creates a session for each test
        command = [*IN_BACKGROUND, *command, "--num-processes=2"]
    else:
        command += [f"--num-processes={LANES}"]
    wrapper = STEP_BACK if is_background else WRAPPER
    if wrapper:
        command += [f"--wrapper={shlex.join(wrapper)}"]
        log_name += f"-{os.path.basename(wrapper[0])}"  # name chosen by meson
    log = build / "meson-logs" / f"{log_name}.json"
    log.unlink(missing_ok=True)
    done = subprocess.run([*command, *selection], env=environment, check=False, text=True,
                          stdout=subprocess.PIPE if is_background else None)
    print(done.stdout or "", end="", flush=True)
    if not log.exists():
        sys.exit(f"tests/run.py: meson wrote no {log}")
    return [json.loads(line) for line in log.read_text().splitlines()]


def output_lines(test: dict) -> list[str]:
    return (test.get("stdout", "") + "\n" + test.get("stderr", "")).splitlines()


def case_counts(test: dict) -> collections.Counter:
    """Cases of one test program; a program that counts none is one case itself."""
    counts: collections.Counter = collections.Counter()
    for line in reversed(output_lines(test)):
        if CLOSING.fullmatch(line.strip(" =")) and " passed" in line:
            for number, outcome in COUNT.findall(line):
                counts["failed" if outcome.startswith("error") else outcome] += int(number)
            break
    outcome = {"OK": "passed", "EXPECTEDFAIL": "passed", "SKIP": "skipped"}
    verdict = outcome.get(test["result"], "failed")
    if verdict == "failed" and not counts["failed"] or not sum(counts.values()):
        counts[verdict] += 1
    return counts


def failure_lines(test: dict) -> list[str]:
    """The few lines that name the failed case and its place."""
    return [line.strip()[:200] for line in output_lines(test) if FAILURE.search(line)][:10]


def summarize(outcome: str, label: str, test: dict) -> None:
    summary.append(": ".join([outcome, label + test["name"], *failure_lines(test)[:2]]))


def second_tries(build: pathlib.Path, tests: list[dict]) -> dict[str, dict]:
    """Rerun failed tests of suites in MACHINE one at a time, unless many failed."""
    failed = [test for test in tests if case_counts(test)["failed"]]
    if not 0 < len(failed) <= SECOND_TRIES:
        return {}
    again = []
    for test in failed:
        suites, _, name = test["name"].rpartition(" / ")
        if MACHINE >= set(suites.split(":")[-1].split("+")):
            again.append(name)
    results = meson_test(build, ["--num-processes=1", *again], "second") if again else []
    return {test["name"]: test for test in results}


def counted_before(texts: list[str]) -> collections.Counter:
    """Counts of --count."""
    total: collections.Counter = collections.Counter()
    for text in texts:
        print(text)
        text = text.splitlines()[-1]
        closing = COUNT.findall(text) if CLOSING.search(text) else []
        outcome = re.search(r": (passed|failed|skipped)\b", text)
        for number, name in closing or [(1, outcome.group(1) if outcome else "failed")]:
            total[name] += int(number)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--count", action="append", default=[])
    parser.add_argument("--installed", type=pathlib.Path)
    options = parser.parse_intermixed_args()
    if options.installed:
        WRAPPER.extend([str(pathlib.Path(__file__).resolve().with_name("installed.py")),
                        str(options.build.resolve()), str(options.installed.absolute())])
    beside, alone = names_of(options.build, set(options.suites))
    alone = [] if options.installed else alone
    variants = {} if options.suites else VARIANTS
    with concurrent.futures.ThreadPoolExecutor(1) as background:
        builds = [background.submit(build_variant, options.build, name) for name in variants]
        total = run(options.build, "", beside)
        jobs = [background.submit(run, options.build / name, f"{name}: ",
                                  in_suites(variants[name][1]), "beside", True)
                for name in variants]
        total += run(options.build, "", alone, "alone")
        for build in builds:
            build.result()
        for job in jobs:
            total += job.result()
    for name in variants:
        total += run(options.build / name, f"{name}: ", in_suites(variants[name][2]), "after")
    ran = total["passed"]
    for text in summary:
        print(text)
    total += counted_before(options.count)
    outcomes = ["passed", "failed", "skipped"] + ["unsteady"] * bool(total["unsteady"])
    print(", ".join(f"{total[outcome]} {outcome}" for outcome in outcomes), flush=True)
    return 1 if total["failed"] or not ran else 0


def names_of(build: pathlib.Path, suites: set[str]) -> tuple[list[str], list[str]]:
    """The tests of these suites, or all: those that run in parallel, and those that do not."""
    tests = [test for test in introspected(build)["tests"]
             if not suites or suites & suites_of(test)]
    return ([test["name"] for test in tests if test["is_parallel"]],
            [test["name"] for test in tests if not test["is_parallel"]])


def in_suites(names: list[str]) -> list[str]:
    """The suites as arguments of meson."""
    return [*(f"--suite={name}" for name in names), "--no-suite=large"] if names else []


def run(build: pathlib.Path, label: str, selection: list[str], log_name: str = "testlog",
        is_background: bool = False) -> collections.Counter:
    """Run tests of one build folder and print those that did not pass."""
    total: collections.Counter = collections.Counter()
    if not selection:
        return total
    tests = meson_test(build, selection, log_name, is_background)
    second = second_tries(build, tests)
    for test in tests:
        counts = case_counts(second.get(test["name"], test))
        total += counts
        if test["name"] in second and not counts["failed"]:
            total["unsteady"] += 1
            print(f"{label}{test['name']}: unsteady, passed when run again; at first:")
            for text in failure_lines(test):
                print(f"    {text}")
            summarize("unsteady", label, test)
        if counts["skipped"]:
            reasons = [line.strip() for line in output_lines(test) if REASON.search(line)]
            for text in reasons or ["skipped: no reason given"]:
                print(f"{label}{test['name']}: {text}")
        if counts["failed"]:
            print(f"{label}{test['name']}: {counts['failed']} failed ({test['result']})")
            for text in failure_lines(test):
                print(f"    {text}")
            summarize("failed", label, test)
    return total


if __name__ == "__main__":
    sys.exit(main())
