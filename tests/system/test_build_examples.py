# SPDX-License-Identifier: MIT
"""The examples as `meson install` puts them beside the pages, against the rest of the installation:
by CMake, meson, make and the compiler alone; the programs record, and only the static ones need no
library.

    test_build_examples.py BUILD
"""

import pathlib
import re
import shutil
import subprocess
import sys

from staged import Stage

PROGRAMS = ("greeting", "greeting_cxx", "greeting_static")


# The result of find_package(annot REQUEST) for each: version 0.1.0 is installed.
REQUESTS = {"": True, "0.1": True, "0.1.0 EXACT": True, "0.0.9": True, "0.2": False, "1.0": False,
            "0.0.9 EXACT": False, "0.1...0.9": True, "0.1...2": True, "0.0.1...0.1.0": True,
            "0.0.1...<0.1.0": False, "0.0.1...0.0.9": False, "1...2": False}
ASKING = """cmake_minimum_required(VERSION 3.19)
project(asking C)
foreach(request IN ITEMS {requests})
  string(REPLACE " " ";" words "${{request}}")
  unset(annot_DIR CACHE)
  find_package(annot ${{words}} QUIET CONFIG)
  message(STATUS "answer ${{request}}: ${{annot_FOUND}}")
endforeach()
"""


def check(stage, program, is_static):
    recording = program.with_suffix(".annot")
    out = stage.run(stage.path / "bin" / "annot", "record", "-o", recording, "--", program)
    assert out == "hello\n", f"{program} wrote {out!r}"
    report = stage.run(stage.path / "bin" / "annot", "report", recording)
    assert "greeting" in report and "hello" in report, report
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=False,
                            env=stage.environment).stdout
    assert ("libannot" in linked) != is_static, f"{program} is linked with {linked}"


def with_cmake(stage, source, out):
    stage.run("cmake", "-S", source / "cmake", "-B", out)
    stage.run("cmake", "--build", out)


def cmake_finds_the_versions_that_fit(stage):
    folder = stage.folder / "asking"
    folder.mkdir()
    requests = " ".join(f'"{request}"' for request in REQUESTS)
    (folder / "CMakeLists.txt").write_text(ASKING.format(requests=requests))
    out = stage.run("cmake", "-S", folder, "-B", folder / "out")
    answers = dict(re.findall(r"^-- answer (.*): (\d)$", out, re.MULTILINE))
    expected = {request: str(int(found)) for request, found in REQUESTS.items()}
    assert answers == expected, f"{answers}, not {expected}"


def with_meson(stage, source, out):
    stage.run("meson", "setup", out, source / "meson")
    stage.run("ninja", "-C", out)


def with_make(stage, source, out):
    out.mkdir()
    stage.run("make", "-C", source / "make", f"OUT={out}")


def fully_static(stage, source, out):
    """`pkg-config --static` lists the libraries of a program without any shared library."""
    out.mkdir()
    flags = stage.run("pkg-config", "--static", "--cflags", "--libs", "annot").split()
    stage.run("cc", "-static", source / "greeting.c", "-o", out / "greeting", *flags)
    check(stage, out / "greeting", True)


def main():
    stage = Stage(pathlib.Path(sys.argv[1]).resolve())
    passed = skipped = 0
    try:
        stage.find_here()
        examples = stage.one("greeting.c").parent
        for tool, how in ("cmake", with_cmake), ("meson", with_meson), ("make", with_make):
            if not shutil.which(tool):
                print(f"skipped: no {tool}")
                skipped += 1
                continue
            how(stage, examples, stage.folder / tool)
            for name in PROGRAMS:
                check(stage, stage.folder / tool / name, name == "greeting_static")
            passed += 1
        fully_static(stage, examples, stage.folder / "static")
        passed += 1
        if shutil.which("cmake"):
            cmake_finds_the_versions_that_fit(stage)
            passed += 1
    finally:
        stage.close()
    print(f"{passed} passed, 0 failed, {skipped} skipped")


if __name__ == "__main__":
    main()
