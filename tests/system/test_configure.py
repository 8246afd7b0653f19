# SPDX-License-Identifier: MIT
"""The result of `meson setup` on machines with less: every missing requirement is named at once and
early, and optional ones do not stop the build.

    test_configure.py SOURCE
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# setup.sh's packages for the build, and the base system of Debian.
TOOLS = ["ar", "as", "c++filt", "cc", "clang", "gcc", "ld", "ninja", "objcopy", "pkg-config",
         "python3", "env", "sh", "cat", "cp", "mkdir", "mktemp", "mv", "rm", "sed", "basename",
         "dirname", "uname"]
REQUIRED = ["gcc", "libc6-dev", "pkg-config", "libzstd-dev", "zlib1g-dev"]
CASES = []


def case(function):
    CASES.append(function)
    return function


class Machine:
    def __init__(self, source, folder):
        self.source, self.folder = source, folder
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("CC", "CXX", "CFLAGS", "LDFLAGS")}

    def only(self, tools):
        """A PATH with these programs alone; the names of those that there are."""
        here = self.folder / "bin"
        here.mkdir()
        found = {tool: shutil.which(tool) for tool in tools} | {"python3": sys.executable}
        for tool, path in found.items():
            if path:
                (here / tool).symlink_to(path)
        self.environment["PATH"] = str(here)

    def configure(self, *options):
        meson = shutil.which("meson")
        done = subprocess.run([meson, "setup", self.folder / "build", self.source, *options],
                              capture_output=True, text=True, check=False, env=self.environment)
        return done.returncode, done.stdout + done.stderr


@case
def without_anything_all_is_named_at_once(machine):
    machine.only([tool for tool in TOOLS if tool not in ("cc", "gcc", "clang", "pkg-config")])
    status, out = machine.configure("-Dpython=enabled")
    assert status == 1, out
    line = out.partition("On Debian or Ubuntu:\n")[2].partition("\n")[0]
    assert line.split() == ["apt-get", "install", *REQUIRED], out
    assert "libbpf-dev clang libdw-dev" in out, out


@case
def one_missing_library_is_named_alone(machine):
    empty = machine.folder / "pc"
    empty.mkdir()
    for name in "zlib.pc", "libbpf.pc", "libelf.pc":
        text = subprocess.run(["pkg-config", "--variable=pcfiledir", name[:-3]],
                              capture_output=True, text=True, check=True).stdout.strip()
        shutil.copy(pathlib.Path(text) / name, empty)
    machine.environment["PKG_CONFIG_LIBDIR"] = str(empty)
    status, out = machine.configure()
    assert status == 1 and "apt-get install libzstd-dev\n" in out, out


@case
def tools_beyond_the_packages_to_build_with_are_not_needed(machine):
    machine.only(TOOLS)
    status, out = machine.configure()
    assert status == 0, out
    assert "off (no C++ compiler)" in out, out


@case
def without_clang_only_the_sampler_is_left_out(machine):
    machine.only([tool for tool in TOOLS if tool != "clang"])
    status, out = machine.configure("-Dtests=false")
    assert status == 0 and "off (no clang)" in out, out


def main():
    failed = 0
    for function in CASES:
        with tempfile.TemporaryDirectory(prefix="annot-test-") as folder:
            try:
                function(Machine(pathlib.Path(sys.argv[1]), pathlib.Path(folder)))
            except AssertionError as error:
                failed += 1
                print(f"FAIL: {function.__name__}: {error}")
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
