# SPDX-License-Identifier: MIT
"""The public headers compile alone, without a warning, with each compiler of the machine.

    test_compilers.py SOURCE
"""

import itertools
import pathlib
import shutil
import subprocess
import sys
import tempfile

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-O1"]
USES = {
    "use.c": [("gcc", "clang"), ("c99", "c11", "gnu17")],
    "use.cpp": [("g++", "clang++"), ("c++11", "c++14", "c++17", "c++20")],
    "use_hpp.cpp": [("g++", "clang++"), ("c++17", "c++20")],
    "use_tracy.c": [("gcc", "clang"), ("c99", "gnu17")],
    "../system/emit_tracy.cpp": [("g++", "clang++"), ("c++17", "c++20")],
}


def compiles(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        print(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.returncode == 0 and not done.stderr


def commands(source, out):
    """Yield (compiler, its whole command) for everything to compile."""
    for name, (compilers, standards) in USES.items():
        options = [["-std=" + standard] for standard in standards]
        options += [[*options[-1], "-DANNOT_DISABLE"], [*options[-1], "-O0"]]
        for compiler, option in itertools.product(compilers, options):
            # Zones also shadow each other with Tracy.
            shadow = ["-Wno-shadow"] if "tracy" in name else []
            yield compiler, [compiler, *STRICT, *shadow, *option, "-I",
                             source / "libannot" / "include", "-c",
                             source / "tests" / "headers" / name, "-o", out]


def main():
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="annot-test-") as folder:
        for compiler, command in commands(pathlib.Path(sys.argv[1]), pathlib.Path(folder, "a.o")):
            if not shutil.which(compiler):
                skipped += 1
                continue
            good = compiles(command)
            passed, failed = passed + good, failed + (not good)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
