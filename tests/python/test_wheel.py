# SPDX-License-Identifier: MIT
"""`pip install .` gives a package that works by itself, with `annot` as a real executable.
The environment is a fresh one; the build's tools come from this one, or from the network."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile

import harness
import pyannot
from harness import HERE, RecordingTest

ROOT = HERE.parent.parent
PROGRAM = "from pyannot import annotate\nwith annotate('from the wheel'):\n    pass\n"


# The tests' own environment has the build's tools; a system's Python often not even pip.
PIP_PYTHON = os.environ.get("ANNOT_TEST_PYTHON", sys.executable)


def can_import(module):
    command = [PIP_PYTHON, "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


class Wheel(RecordingTest):
    def setUp(self):
        if not can_import("pip"):
            self.skipTest(f"{PIP_PYTHON} has no pip")
        super().setUp()
        for name in ("PYTHONPATH", "ANNOT"):
            self.environment.pop(name, None)

    def call(self, *command, **options):
        return subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            check=False,
            env=self.environment,
            cwd=self.folder,
            **options,
        )

    def build(self):
        """The wheel, built offline where the tools are here; skipped if they can't be had."""
        source = self.folder / "source"
        names = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split("\0")
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, source / name)
        offline = ["--no-build-isolation"] if can_import("mesonpy") else []
        wheels = self.folder / "wheels"
        pip = [PIP_PYTHON, "-m", "pip", "wheel", *offline, "--no-deps"]
        result = self.call(*pip, "-w", wheels, source)
        if result.returncode != 0 and not offline:
            self.skipTest(f"no meson-python, and no network: {result.stderr[-300:]}")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        (wheel,) = wheels.glob("pyannot-*.whl")
        return wheel

    def test_the_wheel_is_complete_and_records(self):
        wheel = self.build()
        self.check_contents(wheel)
        scripts = self.install(wheel)
        with open(scripts / "annot", "rb") as file:
            self.assertEqual(file.read(4), b"\x7fELF")
        version = self.call(scripts / "annot", "--version")
        self.assertEqual(version.returncode, 0, version.stderr)
        self.assertIn(pyannot.__version__, version.stdout)
        self.assertIn(f"-{pyannot.__version__}-", wheel.name)

        output = self.folder / "wheel.annot"
        record = [scripts / "annot", "record", "-o", output, "--", scripts / "python"]
        result = self.call(*record, self.script(PROGRAM))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_directory_clean()
        report = self.call(scripts / "annot", "report", output)
        self.assertIn("from the wheel", report.stdout)

    def install(self, wheel):
        """A fresh environment with nothing but the wheel; returns its folder of programs."""
        venv.create(self.folder / "venv", with_pip=False, symlinks=True)
        scripts = self.folder / "venv" / "bin"
        pip = [PIP_PYTHON, "-m", "pip", "--python", scripts / "python", "install", "--no-index"]
        result = self.call(*pip, "--no-deps", wheel)
        self.assertEqual(result.returncode, 0, result.stderr)
        return scripts

    def check_contents(self, wheel):
        names = zipfile.ZipFile(wheel).namelist()
        for name in ["pyannot/__init__.py", "pyannot/_native.pyi", "pyannot/py.typed"]:
            self.assertIn(name, names)
        program = [name for name in names if name.endswith(".data/scripts/annot")]
        self.assertEqual(len(program), 1, names)
        libraries = [n for n in names if "libannot" in n or ".mesonpy.libs" in n]
        self.assertEqual(libraries, [])


if __name__ == "__main__":
    harness.main()
