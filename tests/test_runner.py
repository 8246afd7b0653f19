# SPDX-License-Identifier: MIT
"""tests/run.py on a temporary project: its counts of passed, failed, skipped and unsteady tests.

    test_runner.py SOURCE
"""

import pathlib
import subprocess
import sys
import tempfile

MESON = """project('counted')
shell = find_program('sh')
foreach suite : ['unit', 'golden', 'cli', 'fuzz', 'docs', 'timed', 'python', 'system', 'sampling',
    'both']
  test('second ' + suite, shell, suite: suite == 'both' ? ['unit', 'two-sided'] : suite,
    args: ['-c', 'test -e $0 || { touch $0; exit 1; }', meson.current_build_dir() / 'was-' + suite])
endforeach
test('good', shell, args: ['-c', 'echo "3 passed, 0 failed, 1 skipped"; echo "skipped: no moon"'],
  suite: 'good')
annot = meson.current_build_dir() / 'tools' / 'annot'
foreach word : ['beside', 'alone']
  test('installed ' + word, shell, suite: 'installed', is_parallel: word == 'beside',
    args: ['-c', 'case $0+$ANNOT in */venv/bin/annot+*/venv/bin/annot) ;; *) exit 1; esac', annot],
    env: {'ANNOT': annot})
endforeach
test('skipped', shell, args: ['-c', 'echo "skipped: no sun"; exit 77'], suite: 'good')
test('bad', shell, args: ['-c', 'exit 1'], suite: 'bad')
"""
CASES = [
    # suites, exit status, last line
    (["two-sided"], 1, "0 passed, 1 failed, 0 skipped"),  # also in unit
    (["unit"], 1, "1 passed, 1 failed, 0 skipped"),
    (["golden"], 1, "0 passed, 1 failed, 0 skipped"),
    (["cli"], 1, "0 passed, 1 failed, 0 skipped"),
    (["fuzz"], 1, "0 passed, 1 failed, 0 skipped"),
    (["docs"], 1, "0 passed, 1 failed, 0 skipped"),
    (["timed"], 0, "1 passed, 0 failed, 0 skipped, 1 unsteady"),
    (["python"], 0, "1 passed, 0 failed, 0 skipped, 1 unsteady"),
    (["system", "sampling"], 0, "2 passed, 0 failed, 0 skipped, 2 unsteady"),
    (["good"], 0, "3 passed, 0 failed, 2 skipped"),
    (["bad"], 1, "0 passed, 1 failed, 0 skipped"),
    (["installed"], 1, "0 passed, 2 failed, 0 skipped"),
    (["--installed", "venv", "installed"], 0, "1 passed, 0 failed, 0 skipped"),
    (["good", "--count", "fresh: passed"], 0, "4 passed, 0 failed, 2 skipped"),
    (["good", "--count", "fresh: skipped: not root"], 0, "3 passed, 0 failed, 3 skipped"),
    (["good", "--count", "fresh: 7 passed, 0 failed, 2 skipped"], 0,
     "10 passed, 0 failed, 4 skipped"),
    (["good", "--count", "fresh: 7 passed, 1 failed, 2 skipped, 1 unsteady"], 1,
     "10 passed, 1 failed, 4 skipped, 1 unsteady"),
    (["good", "--count", "fresh: failed"], 1, "3 passed, 1 failed, 2 skipped"),
    (["good", "--count", "failed: a test: 2 failed\nfresh: 7 passed, 1 failed"], 1,
     "10 passed, 1 failed, 2 skipped"),
]


def main():
    runner = pathlib.Path(sys.argv[1]).resolve() / "tests" / "run.py"
    failures = 0
    with tempfile.TemporaryDirectory(prefix="annot-test-") as folder:
        build = pathlib.Path(folder) / "build"
        (pathlib.Path(folder) / "meson.build").write_text(MESON)
        subprocess.run(["meson", "setup", build, folder], check=True, stdout=subprocess.DEVNULL)
        (pathlib.Path(folder) / "venv/lib/python3.9/site-packages").mkdir(parents=True)
        for words, status, last in CASES:
            done = subprocess.run([sys.executable, runner, build, *words], capture_output=True,
                                  text=True, check=False, cwd=folder)
            lines = done.stdout.splitlines() or [""]
            if (done.returncode, lines[-1]) != (status, last):
                failures += 1
                print(f"FAIL: {words}: exit status {done.returncode}, {lines[-1]!r}; expected "
                      f"{status}, {last!r}\n{done.stdout}{done.stderr}")
    print(f"{len(CASES) - failures} passed, {failures} failed, 0 skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
