# SPDX-License-Identifier: MIT
"""Builds the package for another interpreter, or with other compiler flags.

Repeats the compile and link commands of the build in which the tests run, with the other
interpreter's headers, into a separate folder. Static libraries are reused; if flags are given,
libannot is compiled with them, too.
"""

import concurrent.futures
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig

import harness
import pyannot

PACKAGE = pathlib.Path(pyannot.__file__).parent
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
# They need internal headers, which some interpreters lack (pyannot/pyannot/meson.build).
OPTIONAL = {"python_layout.c"}


def build_folder():
    """The build folder that contains PACKAGE."""
    return next(folder for folder in PACKAGE.parents if (folder / "build.ninja").exists())


def build(interpreter, folder, flags=()):
    """Makes folder/pyannot; `folder` then belongs into PYTHONPATH."""
    folder = pathlib.Path(folder)
    (folder / "pyannot").mkdir(parents=True)
    copy_package(PACKAGE, folder / "pyannot")
    for path in PACKAGE.glob(f"*{SUFFIX}"):
        name = path.name[: -len(SUFFIX)]
        result = Module(path, interpreter, folder / "objects", flags).build()
        os.rename(result, folder / "pyannot" / (name + interpreter.suffix))


def copy_package(source, target, modules=False):
    """Copies all files except the modules: they are the same for all interpreters."""
    for path in source.iterdir():
        if path.is_dir() and path.name not in ("__pycache__",) and path.suffix != ".p":
            (target / path.name).mkdir()
            copy_package(path, target / path.name, modules)
        elif path.is_file() and (modules or not path.name.endswith(SUFFIX)):
            shutil.copy2(path, target / path.name)  # a build may run while tests do


class Module:
    """One extension module and the commands that make it."""

    def __init__(self, path, interpreter, folder, flags):
        self.root = build_folder()
        self.target = str(path.relative_to(self.root))
        self.folder = folder
        self.interpreter = interpreter
        self.flags = list(flags)
        text = harness.run(["ninja", "-C", str(self.root), "-t", "commands", self.target]).stdout
        commands = [shlex.split(line) for line in text.splitlines()]
        self.compilations = [c for c in commands if "-c" in c and self.is_ours(output_of(c))]
        self.others = [c for c in commands if "-c" not in c and self.is_ours(output_of(c))]
        self.dropped = set()

    def is_ours(self, output):
        """Returns true if this output is rebuilt."""
        if output is None or output.endswith(".h"):
            return False
        if self.flags and output.startswith("libannot/"):
            return True
        return output == self.target or output.startswith(self.target + ".p/")

    def build(self):
        outputs = [output_of(command) for command in self.compilations + self.others]
        for output in outputs:
            (self.folder / output).parent.mkdir(parents=True, exist_ok=True)
        self.outputs = set(outputs)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(self.compile, self.compilations))
        for command in self.others:
            self.run(command, self.flags if "-shared" in command else [])
        return self.folder / self.target

    def compile(self, command):
        try:
            self.run(command, self.flags)
        except AssertionError:
            if os.path.basename(command[-1]) not in OPTIONAL:
                raise
            self.dropped.add(output_of(command))

    def run(self, command, flags):
        left_out = {"-Werror", *self.dropped}  # headers of newer releases may warn
        words = [self.translate(word) for word in command if word not in left_out]
        line = " ".join(word if word == "&&" else shlex.quote(word) for word in words + flags)
        result = subprocess.run(
            line, shell=True, cwd=self.root, capture_output=True, text=True, check=False
        )
        if result.returncode != 0:
            raise AssertionError(f"{line}\n{result.stdout}{result.stderr}")

    def translate(self, word):
        for option in ("-isystem", "-I"):
            if word.startswith(option) and same_folder(word[len(option) :]):
                return option + self.interpreter.include
        if word in self.outputs or word.endswith(".d") and word[:-2] in self.outputs:
            return str(self.folder / word)
        return word


def output_of(command):
    """The output file of a command, or None if unknown."""
    if "-o" in command:
        return command[command.index("-o") + 1]
    return next((word for word in command if word.endswith(".a")), None)


def same_folder(path):
    return os.path.realpath(path) == os.path.realpath(sysconfig.get_path("include"))


if __name__ == "__main__":  # by hand: module_build.py INTERPRETER FOLDER [FLAG...]
    import interpreters

    build(interpreters.ask(sys.argv[1]), sys.argv[2], sys.argv[3:])
