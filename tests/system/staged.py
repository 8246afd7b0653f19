# SPDX-License-Identifier: MIT
"""The files that `meson install` puts into a stage (DESTDIR), and how tests use them as if in
place."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


class Stage:
    """A staged installation; `path` is its prefix in the stage."""

    def __init__(self, build):
        self.build = build
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="annot-test-", dir="/dev/shm"))
        self.root = self.folder / "staged"
        self.environment = dict(os.environ)
        self.run("meson", "install", "-C", build, "--no-rebuild", "--destdir", self.root)
        page = self.one("annot.pc")
        self.prefix = page.read_text().splitlines()[0].removeprefix("prefix=")
        self.path = pathlib.Path(f"{self.root}{self.prefix}")
        self.environment.update(LD_LIBRARY_PATH=str(self.one("libannot.so").parent),
                                ANNOT_DIR=str(self.folder / "shared"))

    def one(self, name):
        """The one file of that name."""
        found = list(self.root.rglob(name))
        assert len(found) == 1, f"{name}: {found}"
        return found[0]

    def find_here(self):
        """pkg-config and CMake find it: pages of a stage name the prefix without the stage."""
        for page in self.root.rglob("*.pc"):
            page.write_text(page.read_text().replace(f"prefix={self.prefix}\n",
                                                     f"prefix={self.path}\n"))
        self.environment.update(PKG_CONFIG_PATH=str(self.one("annot.pc").parent),
                                CMAKE_PREFIX_PATH=str(self.path))

    def run(self, *command, **environment):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              check=False, env={**self.environment, **environment},
                              cwd=self.folder)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}"
                     f"{done.stderr}")
        return done.stdout

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)
