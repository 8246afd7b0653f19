# SPDX-License-Identifier: MIT
"""`pip install .` gives a package that works by itself, with `annot` as a real executable.
The environment is a fresh one; the build's tools come from this one, or from the network."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import venv

import harness
from harness import HERE, RecordingTest

ROOT = HERE.parent.parent
PROGRAM = "from pyannot import annotate\nwith annotate('from the wheel'):\n    pass\n"


class Wheel(RecordingTest):
    def setUp(self):
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
        offline = ["--no-build-isolation"] if importlib.util.find_spec("mesonpy") else []
        pip = [os.environ.get("ANNOT_TEST_PYTHON", sys.executable) if offline else sys.executable]
        wheels = self.folder / "wheels"
        result = self.call(*pip, "-m", "pip", "wheel", *offline, "--no-deps", "-w", wheels, source)
        if result.returncode != 0 and not offline:
            self.skipTest(f"no meson-python, and no network: {result.stderr[-300:]}")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        (wheel,) = wheels.glob("pyannot-*.whl")
        return wheel

    def test_the_wheel_records(self):
        wheel = self.build()
        venv.create(self.folder / "venv", with_pip=False, symlinks=True)
        scripts = self.folder / "venv" / "bin"
        pip = [sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--no-index"]
        result = self.call(*pip, "--no-deps", wheel)
        self.assertEqual(result.returncode, 0, result.stderr)

        with open(scripts / "annot", "rb") as file:
            self.assertEqual(file.read(4), b"\x7fELF")
        version = self.call(scripts / "annot", "--version")
        self.assertEqual(version.returncode, 0, version.stderr)
        self.assertIn("0.1.0", version.stdout)

        program = self.script(PROGRAM)
        output = self.folder / "wheel.annot"
        record = [scripts / "annot", "record", "-o", output, "--", scripts / "python", program]
        result = self.call(*record)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_directory_clean()
        report = self.call(scripts / "annot", "report", output)
        self.assertIn("from the wheel", report.stdout)

    def test_the_wheel_holds_types_and_no_libraries_of_others(self):
        names = self.call(sys.executable, "-m", "zipfile", "-l", self.build()).stdout
        for name in ["pyannot/__init__.py", "pyannot/_native.pyi", "pyannot/py.typed", "annot"]:
            self.assertIn(name, names)
        for name in ["libannot.so", "libannot.a", ".mesonpy.libs"]:
            self.assertNotIn(name, names)


if __name__ == "__main__":
    harness.main()
