# SPDX-License-Identifier: MIT
"""What `meson install` puts into a prefix is enough to build, link and record a program.

    test_install.py BUILD

pkg-config names the flags; the program is linked with the shared and with the static library.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <annot/annot.h>
#include <stdio.h>

/* A name that the library uses inside, too. */
int directory_open(void)
{
    return 7;
}

int main(void)
{
    ANNOT_RANGE("installed");
    annot_mark("here");
    return printf("%d\n", directory_open()) > 0 ? 0 : 1;
}
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def flags(prefix, *options):
    folders = ":".join(str(path.parent) for path in prefix.rglob("annot.pc"))
    environment = dict(os.environ, PKG_CONFIG_PATH=folders)
    define = f"--define-variable=prefix={prefix}"
    return run("pkg-config", define, *options, "annot", env=environment).split()


def install(build, folder):
    staged = folder / "staged"
    run("meson", "install", "-C", build, "--no-rebuild", "--destdir", staged)
    pages = list(staged.rglob("annot.pc"))
    assert len(pages) == 1, f"annot.pc {len(pages)} times"
    prefix = next(line.split("=")[1] for line in pages[0].read_text().splitlines()
                  if line.startswith("prefix="))
    return pathlib.Path(str(staged) + prefix)


def record(prefix, program, folder):
    annot, recording = prefix / "bin" / "annot", folder / (program.name + ".annot")
    libraries = next(prefix.rglob("libannot.so")).parent
    environment = dict(os.environ, ANNOT_DIR=str(folder / "shared"),
                       LD_LIBRARY_PATH=str(libraries))
    out = run(annot, "record", "-o", recording, "--", program, env=environment)
    assert out == "7\n", f"{program.name} wrote {out!r}"
    report = run(annot, "report", recording)
    assert "installed" in report and "here" in report, report


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="annot-test-", dir="/dev/shm"))
    try:
        prefix = install(build, folder)
        source = folder / "program.c"
        source.write_text(PROGRAM)
        shared, static = folder / "shared-linked", folder / "static-linked"
        run("cc", source, "-o", shared, *flags(prefix, "--cflags", "--libs"))
        archive = next(prefix.rglob("libannot.a"))
        libraries = [flag for flag in flags(prefix, "--static", "--libs") if flag != "-lannot"]
        run("cc", source, "-o", static, *flags(prefix, "--cflags"), archive, *libraries)
        for program in (shared, static):
            record(prefix, program, folder)
        linked = run("ldd", static)
        assert "libannot" not in linked, linked
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("2 passed, 0 failed, 0 skipped")


if __name__ == "__main__":
    main()
